"""Errors, iteration counts and times of the catalog's quick presets, for comparison before and after a change of the code.

    python benchmarks/catalog_record.py before.csv                          # this version
    python benchmarks/catalog_record.py before.csv --package OLD/src        # another checkout of pcpinn
    python benchmarks/catalog_record.py --compare before.csv after.csv      # rows side by side

Every run is a process of its own with one thread, so that the arithmetic is repeatable and two versions may be timed
side by side, one on each core. Rows that are already in the table are not run again.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = (
    "poisson1d", "poisson2d-c", "poisson2d-cg", "poisson2d-ms", "poisson3d-cg", "heat2d-vc", "heat2d-ms", "heat2d-cg",
    "wave1d-c", "wave2d-ms", "wave2d-long", "burgers1d-c", "burgers2d-c", "heat2d-lt", "ns2d-c", "ns2d-cg", "ns2d-lt",
    "wave2d-cg", "gs", "ks", "wave1d", "helmholtz2d", "burgers1d", "poisson-inv", "heat-inv",
)  # fmt: skip
INVERSE = ("poisson-inv", "heat-inv")
DEFAULTS = ("poisson2d-c", "poisson2d-cg", "burgers1d-c", "ks", "ns2d-c")
COLUMNS = (
    "problem",
    "preset",
    "iterations",
    "newton",
    "l2re",
    "training",
    "discretisation",
    "estimate",
    "train_s",
    "total_s",
)


def cases() -> list[tuple[str, str]]:
    """(problem, preset): quick ones of the whole catalog, then five default ones."""
    return [(name, "quick") for name in NAMES] + [(name, "default") for name in DEFAULTS]


def run(package: str | None, *arguments: str) -> str:
    """Standard output of `pcpinn ...`."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"} | ({"PYTHONPATH": package} if package else {})
    done = subprocess.run(
        [sys.executable, "-m", "pcpinn", *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"pcpinn {' '.join(arguments)}: {done.stderr[-800:]}")
    return done.stdout


def measure(package: str | None, problem: str, preset: str) -> dict[str, object]:
    """One row."""
    with tempfile.TemporaryDirectory() as folder:
        verb = "infer" if problem in INVERSE else "solve"
        result = json.loads(run(package, verb, problem, "--preset", preset, "--json", "--out", f"{folder}/run"))
    errors = result["errors"]
    newton = result.get("newton") or result.get("march") or {}
    return {
        "problem": problem,
        "preset": preset,
        "iterations": result.get("iterations"),
        "newton": newton.get("newton_iterations", newton.get("iterations")),
        **{key: errors.get(key) for key in ("l2re", "training", "discretisation", "estimate")},
        "train_s": result["time"].get("train_s"),
        "total_s": result["time"]["total_s"],
    }


def read(path: Path) -> dict[tuple[str, str], dict[str, str]]:
    """Rows of a table by problem and preset."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {(row["problem"], row["preset"]): row for row in csv.DictReader(file)}


def record(path: Path, package: str | None, only: list[str]) -> None:
    """Append the missing rows."""
    have = read(path)
    for problem, preset in cases():
        if (problem, preset) in have or (only and problem not in only):
            continue
        try:
            row = measure(package, problem, preset)
        except RuntimeError as error:
            print(error, file=sys.stderr, flush=True)
            continue
        new = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            if new:
                writer.writeheader()
            writer.writerow(row)
        print(row, flush=True)


def compare(before: Path, after: Path) -> None:
    """Rows of both tables, with what differs by more than a tenth marked."""
    old, new = read(before), read(after)
    for key in old:
        if key not in new:
            print(f"{key[0]:14} {key[1]:8} missing")
            continue
        parts = []
        for column in ("iterations", "newton", "l2re", "training", "discretisation", "estimate", "total_s"):
            a, b = old[key][column], new[key][column]
            if a == b:
                parts.append(f"{column} =")
                continue
            try:
                ratio = float(b) / float(a)
            except (ValueError, ZeroDivisionError):
                parts.append(f"{column} {a}->{b} !")
                continue
            parts.append(f"{column} x{ratio:.4g}{' !' if not 0.9 <= ratio <= 1.1 else ''}")
        print(f"{key[0]:14} {key[1]:8} " + "  ".join(parts))


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", type=Path)
    parser.add_argument("--package", help="src folder of another checkout")
    parser.add_argument("--only", action="append", default=[], help="a problem; may be repeated")
    parser.add_argument("--compare", action="store_true")
    options = parser.parse_args()
    if options.compare:
        compare(*options.tables)
    else:
        record(options.tables[0], options.package, options.only)


if __name__ == "__main__":
    main()
