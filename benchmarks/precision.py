"""Precise presets beside least squares of the strong form: ours (random-features) and FastLSQ's, on the same points.

    OMP_NUM_THREADS=1 python benchmarks/precision.py --csv docs/benchmarks/precision.csv

FastLSQ (the package fastlsq) is needed for its rows only: pip install -e '.[bench]'. Numbers of points
and the weight of conditions are its own defaults; its scale is the best of several *by the true error*, so that it is not
chosen badly; seconds are those of that scale alone. Importing it changes torch's default dtype, so it comes last.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import machine, table, write_csv

from pcpinn.catalog.task import Task, catalog_task
from pcpinn.progress import Progress

PROBLEMS = ("poisson2d-smooth", "wave1d-c", "poisson2d-c", "burgers1d-c", "ks")
# Our own least squares of the strong form, with the features of the precise preset; one step, since the problem is linear. The
# others would take minutes: their Jacobian comes column by column, by automatic differentiation.
STRONG: dict[str, dict[str, Any]] = {
    "poisson2d-smooth": {"waves": 150, "spread": 3.0, "collocation": 2000, "iterations": 1}
}
SCALES = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 16.0, 24.0, 36.0, 54.0)
_HOLES = torch.tensor([[x, y] for x in (-0.3, 0.3) for y in (-0.3, 0.3)], dtype=torch.float64)


class Clocks:
    """Seconds that passed, and those of the processor: the same for one thread on a machine that does nothing else."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def seconds(self) -> dict[str, float]:
        return {"seconds": time.perf_counter() - self._wall, "cpu_seconds": time.process_time() - self._cpu}


def ours(name: str, preset: str, method: str = "pcpinn") -> dict[str, Any]:
    """One run of a preset, or of the strong form."""
    changes = {} if method == "pcpinn" else STRONG[name]
    task = catalog_task(name, preset, changes, method=method)
    started = Clocks()
    result = task.run(progress=Progress()).result
    errors = result["errors"]
    return {
        "problem": name,
        "method": preset if method == "pcpinn" else method,
        "l2re": errors["l2re"],
        "training": errors.get("training"),
        "discretisation": errors.get("discretisation"),
        "estimate": errors.get("estimate"),
        **started.seconds(),
        "weights": result["parameters"],
        "dofs": result.get("dofs"),
    }


def theirs(name: str, features: int) -> dict[str, Any]:
    """FastLSQ with the best of several scales."""
    from fastlsq import FastLSQSolver, solve_lstsq

    task = catalog_task(name, "quick", {})
    assert task.reference is not None
    best: dict[str, Any] = {}
    for scale in SCALES:
        torch.manual_seed(0)
        started = Clocks()
        solver = FastLSQSolver(2)
        solver.add_block(hidden_size=features, scale=scale)
        A, b = SYSTEMS[name](solver.basis, max(3000, 3 * features), max(800, 3 * features // 5), task)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a rank that is not full: its SVD deals with it
            solver.beta = solve_lstsq(A, b)
        seconds = started.seconds()
        u = solver.predict(torch.as_tensor(task.reference.points)).numpy()
        error = float(np.linalg.norm(u - task.reference.values) / np.linalg.norm(task.reference.values))
        if not best or error < best["l2re"]:
            best = {"problem": name, "method": f"fastlsq, scale {scale:g}", "l2re": error, **seconds}
    return {**best, "weights": features}


Rows = tuple[torch.Tensor, torch.Tensor]


def _assembled(inside: Rows, conditions: list[Rows], weight: float = 100.0) -> Rows:
    parts = [inside, *((weight * A, weight * b) for A, b in conditions)]
    return torch.cat([A for A, _ in parts]), torch.cat([b for _, b in parts])


def _square(basis: Any, inner: int, outer: int, task: Task) -> Rows:
    def exact(x: torch.Tensor) -> torch.Tensor:
        waves = torch.sin(torch.pi * x[:, :1]) * torch.sin(torch.pi * x[:, 1:])
        return waves + torch.exp(x[:, :1] - x[:, 1:] / 2) / 4

    x, y = torch.rand(inner, 2), _on_square(outer)
    waves = 2 * torch.pi**2 * torch.sin(torch.pi * x[:, :1]) * torch.sin(torch.pi * x[:, 1:])
    f = waves - 5 / 16 * torch.exp(x[:, :1] - x[:, 1:] / 2)
    return _assembled((-basis.laplacian(x), f), [(basis.evaluate(y), exact(y))])


def _holes(basis: Any, inner: int, outer: int, task: Task) -> Rows:
    x = torch.rand(2 * inner, 2) - 0.5
    x = x[(torch.cdist(x, _HOLES) > 0.1).all(dim=1)][:inner]
    square = _on_square(outer) - 0.5
    angle = 2 * torch.pi * torch.rand(outer, 1)
    circles = _HOLES[torch.randint(4, (outer,))] + 0.1 * torch.cat([torch.cos(angle), torch.sin(angle)], 1)
    zero, one = torch.zeros(len(x), 1), torch.ones(len(square), 1)
    walls = [(basis.evaluate(square), one), (basis.evaluate(circles), torch.zeros(outer, 1))]
    return _assembled((-basis.laplacian(x), zero), walls)


def _wave(basis: Any, inner: int, outer: int, task: Task) -> Rows:
    x, s = torch.rand(inner, 2), torch.rand(outer, 1)
    start, none = torch.cat([s, torch.zeros_like(s)], 1), torch.zeros_like(s)
    curved = basis.hessian_diag(x)
    walls = [torch.cat([torch.full_like(s, end), torch.rand(outer, 1)], 1) for end in (0.0, 1.0)]
    first = torch.sin(torch.pi * s) + 0.5 * torch.sin(4 * torch.pi * s)
    conditions = [(basis.evaluate(start), first), (basis.gradient(start)[:, 1, :], none)]
    conditions += [(basis.evaluate(y), none) for y in walls]
    return _assembled((curved[:, 1, :] - 4 * curved[:, 0, :], torch.zeros(inner, 1)), conditions)


def _on_square(count: int) -> torch.Tensor:
    y = torch.rand(count, 2)
    y[torch.arange(count), torch.randint(2, (count,))] = torch.randint(2, (count,)).to(y)
    return y


SYSTEMS: dict[str, Callable[..., Rows]] = {"poisson2d-smooth": _square, "poisson2d-c": _holes, "wave1d-c": _wave}
FEATURES = {"poisson2d-smooth": 300, "wave1d-c": 1200, "poisson2d-c": 1400}


def main() -> None:
    parser = argparse.ArgumentParser(description="Precise presets beside least squares of the strong form.")
    parser.add_argument("--problems", nargs="+", default=PROBLEMS, choices=PROBLEMS)
    parser.add_argument("--default", action="store_true", help="also run the default presets (minutes)")
    parser.add_argument("--csv", type=Path)
    given = parser.parse_args()
    runs = [(ours, name, "precise") for name in given.problems]
    runs += [(ours, name, "default") for name in given.problems if given.default]
    runs += [(ours, name, "default", "random-features") for name in given.problems if name in STRONG]
    if importlib.util.find_spec("fastlsq") is not None:
        runs += [(theirs, name, FEATURES[name]) for name in given.problems if name in SYSTEMS]
    else:
        print("fastlsq is not installed: pip install -e '.[bench]'")
    rows = []
    for run, *arguments in runs:
        rows.append({**run(*arguments), "machine": machine(torch.device("cpu"))})
        if given.csv is not None:
            write_csv(given.csv, rows)
        print(
            f"{rows[-1]['problem']}, {rows[-1]['method']}: {rows[-1]['l2re']:.1e}, {rows[-1]['seconds']:.1f} s",
            flush=True,
        )
    head = ("problem", "method", "l2re", "seconds", "cpu_seconds", "weights")
    print(table(head, [[_shown(row.get(k)) for k in head] for row in rows]))


def _shown(value: Any) -> str:
    return f"{value:.2g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
