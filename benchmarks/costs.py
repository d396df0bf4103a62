"""Seconds and memory of runs beside what `solve/afford.py` predicts of them, each run in a process of its own.

    python benchmarks/costs.py --out docs/benchmarks/costs.csv

Poisson's equation on boxes with structured meshes of degree 2, five iterations of Gauss-Newton on one core of a CPU. Seconds are
those in which the core was at work for the run: on a machine that others use, too, its clock would tell of them. Those of an
iteration are means, the first one's warm-up included; "judging" is all that follows the training, an error estimate above all.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import torch

import pcpinn as pc
from pcpinn.progress import Progress
from pcpinn.solve.afford import predicted
from pcpinn.solve.linear import settings_of

CASES: tuple[tuple[int, int, int, str], ...] = (  # dimension, cells along a side, width, preconditioner
    (1, 2000, 20, "auto-ilu"),
    (2, 20, 20, "auto-ilu"),
    (2, 20, 40, "auto-ilu"),
    (2, 60, 20, "auto-ilu"),
    (2, 60, 20, "lu"),
    (3, 6, 20, "auto-ilu"),
    (3, 9, 20, "auto-ilu"),
    (3, 9, 20, "lu"),
)
STAGES = ("setup_s", "iteration_s", "judging_s", "gib")


def main() -> None:
    """Run all cases, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--again", action="store_true", help="predict again for the rows that --out has, without runs")
    parser.add_argument("--case", type=int, default=None, help="one of them, in this process: its row as JSON")
    given = parser.parse_args()
    if given.case is not None:
        print(json.dumps(measured(*CASES[given.case])))
        return
    rows: list[dict[str, Any]] = []
    if given.again:
        with given.out.open(encoding="utf-8") as file:
            rows = [{**row, **_predictions(row)} for row in csv.DictReader(file)]
        _write(given.out, rows)
    for number in range(0 if given.again else len(CASES)):
        done = subprocess.run(
            [sys.executable, __file__, "--case", str(number)], check=True, capture_output=True, text=True
        )
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        print(rows[-1], flush=True)
        if given.out is not None:
            _write(given.out, rows)
    worst = {s: max(_factor(float(r[s]), float(r[f"{s}_predicted"])) for r in rows) for s in STAGES}
    print("largest factor between measured and predicted:", {k: round(v, 2) for k, v in worst.items()})


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _factor(a: float, b: float) -> float:
    return max(a / b, b / a)


def _predictions(row: dict[str, Any]) -> dict[str, Any]:
    """The columns of a row that are predicted."""
    case = int(row["dimension"]), int(row["cells"]), int(row["width"]), row["preconditioner"]
    problem, choices = made(*case)
    guess = predicted(problem, settings_of("pcpinn", problem, None, choices))
    return {f"{stage}_predicted": round(getattr(guess, stage), 3) for stage in STAGES}


def made(dimension: int, cells: int, width: int, preconditioner: str) -> tuple[pc.Problem, dict[str, Any]]:
    """A problem and its settings."""
    corner, other = (0.0,) * dimension, (1.0,) * dimension
    domain: Any = pc.Interval(0, 1)
    if dimension > 1:
        domain = (pc.Rectangle if dimension == 2 else pc.Box)(corner, other, name="walls")
    walls = ("left", "right") if dimension == 1 else ("walls",)
    problem = pc.Problem(
        domain,
        flux=lambda x, u: u.grad,
        source=lambda x, u: -1.0 - x[0],
        boundary=dict.fromkeys(walls, pc.Dirichlet(0.0)),
    )
    choices: dict[str, Any] = {
        "accuracy": None,
        "cells": (cells,) * dimension,
        "width": width,
        "preconditioner": preconditioner,
        "iterations": 5,
        "tolerance": 1e-14,
        "device": "cpu",
    }
    return problem, choices


def measured(dimension: int, cells: int, width: int, preconditioner: str) -> dict[str, Any]:
    """One run: its sizes, and each cost as it was and as it was predicted."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    before = _gib()
    problem, choices = made(dimension, cells, width, preconditioner)
    worked = _Worked()
    result = pc.solve(problem, choices, progress=worked).result
    setup, training, judging = worked.seconds()
    found = {
        "setup_s": setup,
        "iteration_s": training / result["iterations"],
        "judging_s": judging,
        "gib": _gib() - before,
    }
    row: dict[str, Any] = {
        "dimension": dimension,
        "cells": cells,
        "width": width,
        "preconditioner": preconditioner,
        "dofs": result["dofs"],
        "weights": result["parameters"],
    }
    guesses = _predictions(row)
    for stage in STAGES:
        row |= {stage: round(found[stage], 3), f"{stage}_predicted": guesses[f"{stage}_predicted"]}
    return row


class _Worked(Progress):
    """Seconds of work until the first iteration is told of, until errors are measured, and until the end."""

    def __init__(self) -> None:
        self._marks = [time.process_time()]

    def stage(self, name: str, total: int | None = None) -> None:
        if name.startswith(("training", "errors")) and len(self._marks) < 3:
            self._marks.append(time.process_time())

    def seconds(self) -> list[float]:
        marks = [*self._marks, time.process_time()]
        return [b - a for a, b in itertools.pairwise(marks)]


def _gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
