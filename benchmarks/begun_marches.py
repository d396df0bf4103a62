"""Errors of marches that were stopped, over the intervals that they came through: rows of docs/paper/begun.csv.

    python benchmarks/begun_marches.py RUN ... > docs/paper/begun.csv

RUN is the folder of an unfinished run of a problem of the catalog (`pcpinn bench` has them under runs/). The error is relative to
the reference at its times up to the last interval that is done; seconds are those of training so far, on the machine named with
--machine (this one, if it is not).
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import machine

from pcpinn.catalog.task import catalog_task
from pcpinn.checkpoint import FILE, Checkpoint
from pcpinn.files import read_json
from pcpinn.network.marched import MarchedNetwork, Plan, unpack_windows
from pcpinn.problem.field import component_names
from pcpinn.solution.reference import compare
from pcpinn.solve.build import make_mesh, make_network

FIELDS = ("problem", "preset", "seed", "intervals", "of", "until", "l2re", "iterations", "seconds", "machine", "date")
_LATE = 1e-9  # of the whole time: moments that differ by less are the same


def measured(run: Path) -> dict[str, Any]:
    """A row, without the machine."""
    record = read_json(run / "run.json")
    task = catalog_task(record["problem"], record["preset"], record["set"], reference=True)
    if task.reference is None:
        raise SystemExit(f"{record['problem']} has no reference")
    found = Checkpoint(run / FILE, "march", 0.0).read({"reports": (None, 5)})
    problem, recipe, mesh = task.problem, task.settings.time, make_mesh(task.problem, task.settings)
    plan = Plan(recipe.scheme, recipe.order, recipe.window, problem.components)
    network = make_network(problem, mesh.space, task.settings, problem.components * plan.layers)
    network.output_scale.fill_(found.facts["scale"])
    thetas = torch.from_numpy(unpack_windows(found.tensors)).to(network.theta)
    steps = (len(thetas) - 1) * recipe.window
    times = mesh.times[: steps + 1]
    so_far = task.reference.where(task.reference.points[:, -1] <= times[-1] + _LATE * np.ptp(mesh.times))
    with torch.no_grad():
        u = MarchedNetwork(network, plan, times, thetas)(torch.from_numpy(so_far.points)).numpy()
    return {
        "problem": record["problem"],
        "preset": record["preset"],
        "seed": task.settings.run.seed,
        "intervals": len(thetas) - 1,
        "of": (len(mesh.times) - 1) // recipe.window,
        "until": f"{times[-1]:g}",
        "l2re": f"{compare(u, so_far, component_names(problem.unknowns))['l2re']:.4g}",
        "iterations": int(found.tensors["reports"][:, 2].sum()),
        "seconds": f"{found.facts['seconds']:.0f}",
        "date": date.today().isoformat(),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    parser.add_argument("--machine", default=None)
    given = parser.parse_args(arguments)
    writer = csv.DictWriter(sys.stdout, FIELDS, lineterminator="\n")
    writer.writeheader()
    for run in given.runs:
        writer.writerow({**measured(run), "machine": given.machine or machine(torch.device("cpu"))})


if __name__ == "__main__":
    main()
