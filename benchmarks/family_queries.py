"""What a query and an estimate of each family of the catalog cost, with the network that its preset `quick` gives.

    python benchmarks/family_queries.py [NAME ...] > docs/benchmarks/family-queries.csv

Medians over 20 calls, in milliseconds of this process's CPU (others at work do not count) and of the clock: an estimate, a query
with other parameters at the same 1000 points, and one at 1000 points that are new each time. Figures are in docs/families.md.
"""

from __future__ import annotations

import csv
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from pcpinn.catalog import FAMILIES
from pcpinn.catalog.family_task import family_task
from pcpinn.family.discretise import make_finer

CALLS, POINTS = 20, 1000
KINDS = ("estimate", "query", "new")
FIELDS = ("family", "dofs", "finer_dofs", "weights", *(f"{kind}{which}_ms" for kind in KINDS for which in ("_cpu", "")))


def medians(call: Callable[[int], Any]) -> tuple[float, float]:
    """Milliseconds of CPU and of the clock."""
    call(0)
    cpu, wall = [], []
    for k in range(CALLS):
        before, began = time.process_time(), time.perf_counter()
        call(k)
        cpu.append(time.process_time() - before)
        wall.append(time.perf_counter() - began)
    return 1e3 * float(np.median(cpu)), 1e3 * float(np.median(wall))


def measured(name: str) -> dict[str, Any]:
    """A row."""
    task = family_task(name, "quick", {"validation": 2, "device": "cpu"})
    surrogate = task.run()
    mu = task.family.sample(CALLS, seed=5).numpy()
    finer, _ = make_finer(task.family, surrogate.mesh, task.settings, torch.device("cpu"))
    nodes = surrogate.mesh.nodes if hasattr(surrogate.mesh, "nodes") else None
    low, high = (0.0, 1.0) if nodes is None else (nodes.min(0), nodes.max(0))
    draws = np.random.default_rng(0).random((CALLS + 1, POINTS, surrogate.mesh.dimension))
    x, fresh = low + (np.asarray(high) - low) * draws, iter(range(CALLS + 1))
    estimate, query = medians(lambda k: surrogate.estimate(mu[k])), medians(lambda k: surrogate(x[0], mu[k]))
    new = medians(lambda k: surrogate(x[next(fresh)], mu[k]))
    values = (name, surrogate.result["dofs"], finer.size, surrogate.result["parameters"], *estimate, *query, *new)
    return dict(zip(FIELDS, (v if isinstance(v, int | str) else f"{v:.3g}" for v in values), strict=True))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    writer = csv.DictWriter(sys.stdout, FIELDS)
    writer.writeheader()
    for name in sys.argv[1:] or FAMILIES.names():
        writer.writerow(measured(name))
        sys.stdout.flush()
