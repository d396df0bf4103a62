"""What the default presets of the catalog are going to take of a GPU's memory, with and without a limit: predicted, not measured.

python benchmarks/memory_model.py --memory 16 --out docs/benchmarks/memory_model.csv
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import torch
from common import write_csv

from pcpinn.catalog import CATALOG
from pcpinn.catalog.entry import Entry
from pcpinn.solve.afford import march_sizes, needs
from pcpinn.solve.cost import PROGRAM
from pcpinn.solve.march.room import divided, parts

GIB = 2**30


def rows(memory: float) -> list[dict[str, object]]:
    """One for each problem: marches by their tables on a GPU, others by what all of their parts take."""
    found: list[dict[str, object]] = []
    for entry in CATALOG:
        if not isinstance(entry, Entry):
            continue
        parameters, settings = entry.resolve("default", {})
        problem = entry.make(**parameters)
        limited = settings.updated({"memory": memory, "device": "cpu"})
        total = sum(n.gib for n in needs(problem, limited))
        row: dict[str, object] = {"problem": entry.name, "marches": settings.marches, "memory": memory}
        if settings.marches:
            sizes = march_sizes(problem, settings, torch.device("cuda"))
            kept = 8 * settings.time.steps / settings.time.window * sizes.width * sizes.levels * problem.components
            for limit, name in ((math.inf, "free"), (memory * GIB, "limited")):
                taken = {"program": PROGRAM * GIB, "networks of all steps": kept}
                taken |= parts(sizes, divided(limit - PROGRAM * GIB, sizes))
                row |= {f"{name}: {what}": round(size / GIB, 2) for what, size in taken.items()}
                row[f"{name}: total"] = round(sum(taken.values()) / GIB, 2)
        else:
            row["limited: total"] = round(total, 2)
        found.append(row)
    return found


def main() -> None:
    """Print the table, and write it."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--memory", type=float, default=16.0)
    asked.add_argument("--out", type=Path)
    given = asked.parse_args()
    table = rows(given.memory)
    for row in table:
        print(row["problem"], {k: v for k, v in row.items() if k not in ("problem", "marches", "memory")})
    if given.out is not None:
        write_csv(given.out, table)


if __name__ == "__main__":
    main()
