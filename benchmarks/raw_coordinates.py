"""What a PINN makes of coordinates as they are, as in DeepXDE, instead of scaled to [-1, 1], as all networks here see them.

    OMP_NUM_THREADS=1 python benchmarks/raw_coordinates.py --problem poisson3d-cg --csv docs/benchmarks/raw-coordinates.csv

Preset `pinnacle` but for fewer points and steps; the same points and first weights either way.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from common import machine, write_csv

from pcpinn.baselines.collocation import collocation_loss
from pcpinn.catalog.task import catalog_task
from pcpinn.problem.field import component_names
from pcpinn.solution.reference import compare
from pcpinn.solve.build import make_network, make_optimiser
from pcpinn.solve.watching import evaluate
from pcpinn.solve.without_system import mesh_for_points
from pcpinn.train import Stopping, train

COLUMNS = ("problem", "method", "coordinates", "points", "steps", "l2re", "seconds", "machine")


def measure(problem: str, method: str, scaled: bool, points: int, steps: int) -> dict[str, Any]:
    """One row."""
    changes = {"collocation": points, "boundary_points": points // 4, "iterations": steps, "device": "cpu"}
    task = catalog_task(problem, "pinnacle", changes, method=method)
    mesh = mesh_for_points(task.problem, task.settings)
    network = make_network(task.problem, mesh, task.settings)
    if not scaled:
        network.centre.zero_()
        network.half_width.fill_(1.0)
    loss = collocation_loss(task.problem, mesh, network, task.settings)
    optimiser, _ = make_optimiser(task.settings, network, None)
    training = train(loss, optimiser, Stopping(steps))
    assert task.reference is not None
    names = component_names(task.problem.unknowns)
    error = compare(evaluate(network, task.reference.points), task.reference, names)["l2re"]
    row = (
        problem,
        method,
        "scaled" if scaled else "as they are",
        points,
        steps,
        f"{error:.4g}",
        round(training.seconds),
        machine(torch.device("cpu")),
    )
    return dict(zip(COLUMNS, row, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", default="poisson3d-cg")
    parser.add_argument("--method", default="pinn")
    parser.add_argument("--points", type=int, default=512)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--csv", type=Path)
    given = parser.parse_args()
    rows = [measure(given.problem, given.method, scaled, given.points, given.steps) for scaled in (False, True)]
    for row in rows:
        print(", ".join(f"{k} {v}" for k, v in row.items()))
    if given.csv is not None:
        write_csv(given.csv, rows)


if __name__ == "__main__":
    main()
