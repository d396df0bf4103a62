"""Rows of runs to an accuracy, from what `pcpinn solve ... --json` prints: into a table, and into the page that shows it.

    python benchmarks/accuracy_rows.py benchmarks/strangers.csv RESULT.json ... --page docs/strangers.md
    python benchmarks/accuracy_rows.py benchmarks/catalog_accuracy.csv RESULT.json ...

Rows of problems that are there already are replaced. `l2re` is over all fields and points together; `largest` is the largest
over the fields, each by its own norm, which is what the estimate is of. On the page, the table between the marks is written anew.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

COLUMNS = ("problem", "accuracy", "l2re", "largest", "estimate", "reached", "limited_by", "seconds", "trust", "dofs")
MARKS = "<!-- rows -->", "<!-- end of rows -->"


def row_of(result: dict[str, Any]) -> dict[str, str]:
    """One row, numbers as text."""
    verdict, errors = result["verdict"], result["errors"]
    largest = largest_of(errors["field"], list(verdict.get("fields") or {}))
    return {
        "problem": result["problem"],
        "accuracy": f"{verdict['asked']:g}",
        "l2re": _short(errors["l2re"]),
        "largest": _short(largest),
        "estimate": _short(verdict["estimate"]),
        "reached": "yes" if verdict["reached"] else "no",
        "limited_by": verdict["limited_by"] or "",
        "seconds": f"{result['time']['total_s']:.0f}",
        "trust": f"{result['adaptation']['trust']:.3f}",
        "dofs": str(result["dofs"]),
    }


def largest_of(components: dict[str, dict[str, float]], fields: Sequence[str]) -> float | None:
    """The largest relative error of a field, from those of its components (u1, u2 of u); None where there is no reference."""
    found = []
    for name in fields:
        own = [e for key, e in components.items() if re.fullmatch(re.escape(name) + r"\d*", key)]
        size = sum(e["mse"] / e["l2re"] ** 2 for e in own if e["l2re"])
        found += [(sum(e["mse"] for e in own) / size) ** 0.5] if size else []
    return max(found, default=None)


def table(rows: Sequence[dict[str, str]]) -> list[str]:
    """For the page."""
    lines = ["| problem | true | worst field | estimate | reached | s |", "|---|---|---|---|---|---|"]
    for row in rows:
        reached = "yes" if row["reached"] == "yes" else f"**no**, {row['limited_by']}"
        cells = (
            f"`{row['problem']}`",
            *(_page(row[k]) for k in ("l2re", "largest", "estimate")),
            reached,
            row["seconds"],
        )
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.2e}"


def _page(value: str) -> str:
    return f"{float(value):.1e}" if value else "-"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("results", type=Path, nargs="*")
    parser.add_argument("--page", type=Path, help="Markdown with the two marks")
    given = parser.parse_args(arguments)
    with given.table.open(newline="") as file:
        rows = {row["problem"]: row for row in csv.DictReader(file)}
    for path in given.results:
        row = row_of(json.loads(path.read_text()))
        rows[row["problem"]] = row
    ordered = [rows[name] for name in sorted(rows)]
    with given.table.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(ordered)
    if given.page:
        before, _, rest = given.page.read_text().partition(MARKS[0])
        _, _, after = rest.partition(MARKS[1])
        given.page.write_text("\n".join([before + MARKS[0], "", *table(ordered), "", MARKS[1] + after]))
    counted = [r for r in ordered if r["estimate"] and (r["largest"] or r["l2re"])]
    ratios = [float(r["estimate"]) / float(r["largest"] or r["l2re"]) for r in counted]
    print(f"{sum(r['reached'] == 'yes' for r in ordered)} of {len(ordered)} reached; estimate / true", end=" ")
    print(
        f"{min(ratios):.2f} to {max(ratios):.2f}, {sum(0.5 <= q <= 2 for q in ratios)} of {len(ratios)} within 0.5 to 2"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
