"""What is written about an item: a page, its lines as a table, its figure; and the verdicts of all."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..bench.table import markdown_table
from ..errors import PcpinnError
from ..files import write_atomically
from .compare import Comparison
from .found import Found
from .item import ITEMS, Item

VERDICTS = "verdicts.csv"
VERDICT_COLUMNS = ("id", "preset", "verdict", "status", "done", "planned", "date")
_DPI = 110


def page(item: Item, comparison: Comparison, figure: bool) -> str:
    """A short page in Markdown."""
    lines = [[*line.cells, line.verdict, line.why] for line in comparison.lines]
    parts = [
        f"# {item.name}: {item.title}", f"    pcpinn reproduce {item.name}", f"**The paper:** {item.statement}",
        f"**Verdict:** {comparison.status}", markdown_table((*comparison.header, "verdict", "why"), lines),
        "\n".join(f"- {note}" for note in comparison.notes),
    ]  # fmt: skip
    return "\n\n".join([*parts, *(["![figure](figure.png)"] if figure else [])]) + "\n"


def as_csv(comparison: Comparison) -> str:
    """Its lines."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow((*comparison.header, "verdict", "why"))
    writer.writerows((*line.cells, line.verdict, line.why) for line in comparison.lines)
    return out.getvalue()


def as_data(item: Item, comparison: Comparison) -> dict[str, Any]:
    """Plain data for JSON."""
    return {
        "id": item.name, "title": item.title, "statement": item.statement, "verdict": comparison.verdict,
        "status": comparison.status, "done": comparison.done, "planned": comparison.planned,
        "columns": [*comparison.header, "verdict", "why"],
        "lines": [[*line.cells, line.verdict, line.why] for line in comparison.lines], "notes": list(comparison.notes),
    }  # fmt: skip


def write_item(item: Item, found: Found, comparison: Comparison, out: Path) -> list[Path]:
    """OUT/ID/ with page.md, lines.csv and, where there is something to draw and matplotlib to draw it with, figure.png."""
    folder = out / item.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PcpinnError(f"cannot write into {out}: {error.strerror}", "choose another --out") from error
    written = [folder / "page.md", folder / "lines.csv"]
    picture = _picture(item, found)
    if picture is not None:
        written.append(folder / "figure.png")
        write_atomically(written[-1], picture)
    write_atomically(written[0], page(item, comparison, picture is not None))
    write_atomically(written[1], as_csv(comparison))
    _record(item, found, comparison, out / VERDICTS)
    return written


def _picture(item: Item, found: Found) -> bytes | None:
    if item.draw is None:
        return None
    try:
        from ..bench.graphics import style
    except ImportError:
        return None
    with style():
        figure = item.draw(found)
        if figure is None:
            return None
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=_DPI, metadata={"Software": None})
        return out.getvalue()


def _record(item: Item, found: Found, comparison: Comparison, path: Path) -> None:
    """The verdict, in place of an earlier one of the same item and preset."""
    rows = {(r["id"], r["preset"]): r for r in read_verdicts(path)}
    rows[item.name, found.choice.preset] = {
        "id": item.name, "preset": found.choice.preset, "verdict": comparison.verdict, "status": comparison.status,
        "done": str(comparison.done), "planned": str(comparison.planned), "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }  # fmt: skip
    order = {name: k for k, name in enumerate(ITEMS.names())}
    out = io.StringIO()
    writer = csv.DictWriter(out, VERDICT_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(rows.values(), key=lambda r: (order.get(r["id"], len(order)), r["preset"])))
    write_atomically(path, out.getvalue())


def read_verdicts(path: Path) -> list[dict[str, str]]:
    """What was recorded; nothing where there is no file.

    Raises:
        PcpinnError: for a file that is not such a table.
    """
    if not path.exists():
        return []
    try:
        reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")), strict=True)
        if tuple(reader.fieldnames or ()) != VERDICT_COLUMNS:
            raise ValueError(f"the columns are not {', '.join(VERDICT_COLUMNS)}")
        rows = list(reader)
        if any(None in r or None in r.values() for r in rows):
            raise ValueError("a line has too many or too few values")
        return rows
    except (OSError, ValueError, csv.Error) as error:
        raise PcpinnError(f"{path} cannot be read: {error}", "remove it: every call writes it again") from error
