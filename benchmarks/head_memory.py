"""Memory and time of the last layer's least squares at the sizes of the presets of gs and burgers2d-c, without their tables.

    python benchmarks/head_memory.py --out docs/benchmarks/head-memory.csv

Fits smooth functions, one for each time level and field, by `HeadSolver` at the nodes of the preset's mesh with uneven weights,
and prints what the table of features, its normal equations and their factor would take.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import numpy as np
import torch
from common import table, write_csv

from pcpinn.catalog import find_entry
from pcpinn.discretize.equation import Nodes
from pcpinn.network import Architecture, DenseNetwork, Features
from pcpinn.precondition import misfit
from pcpinn.train import LeastSquares
from pcpinn.train.heads import HeadSolver

FIELDS = 2
GIB = 2**30


def measured(name: str) -> dict[str, str]:
    """One row."""
    _, settings = find_entry(name).resolve("default", {})
    mesh, recipe = settings.mesh, settings.network
    periodic = recipe.features == "waves"
    points = mesh.cells[0] * mesh.degree + (not periodic)
    line = np.linspace(-1, 1, points, endpoint=not periodic)
    x = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    heads, n = FIELDS * settings.time.order, len(x)
    features = Features(recipe.features, recipe.feature_count, periodic=(0, 1) if periodic else ())
    architecture = Architecture(1, 0, features=features)
    network = DenseNetwork(architecture, [-1.0] * 2, [1.0] * 2, heads, torch.Generator().manual_seed(0))
    with torch.no_grad():
        network.theta.zero_()
    nodes = Nodes(x, np.tile(np.arange(n), heads), np.repeat(np.arange(heads), n))
    angle = np.pi * x
    wanted = [np.exp(np.cos((k + 1) * angle[:, 0]) * np.cos(angle[:, 1])) for k in range(heads)]
    weights = np.tile(np.random.default_rng(0).uniform(0.5, 2.0, n), heads) / n
    loss = LeastSquares(network, nodes, misfit(np.concatenate(wanted), weights, torch.float64, torch.device("cpu")))
    started = time.perf_counter()
    left = HeadSolver().step(loss)
    seconds = time.perf_counter() - started
    width = network.layer_shapes[0][1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "problem": name, "points": str(n), "features": str(width), "heads": str(heads), "table_gib": f"{8 * n * width / GIB:.1f}",
        "matrix_and_factor_gib": f"{16 * (width + 1) ** 2 / GIB:.1f}", "seconds": f"{seconds:.1f}", "peak_gib": f"{peak:.2f}",
        "relative_residual": f"{left:.1e}",
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", default="gs,burgers2d-c")
    parser.add_argument("--out", type=Path, help="CSV")
    given = parser.parse_args()
    rows = [measured(name) for name in given.problems.split(",")]
    print(table(list(rows[0]), [list(row.values()) for row in rows]))
    if given.out is not None:
        write_csv(given.out, rows)


if __name__ == "__main__":
    main()
