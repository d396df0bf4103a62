"""How good P in parts is against the number of parts, with and without its coarse space; one process plays them all.

    python benchmarks/schwarz_parts.py --out docs/benchmarks/schwarz_parts.csv

For each problem the quality ||I - P^-1 A|| on smooth functions and overall, and the steps of GMRES with P to a residual of 1e-8.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse.linalg as spla
from common import poisson, write_csv

import pcpinn as pc
from pcpinn.catalog.task import catalog_task
from pcpinn.discretize.system import LinearSystem, linear_system
from pcpinn.precondition import Schwarz, estimate_quality
from pcpinn.solve.build import make_discretisation, make_mesh
from pcpinn.solve.linear import settings_of

COLUMNS = ("problem", "dofs", "parts", "overlap", "coarse_size", "smooth", "largest", "gmres_steps", "setup_s")
_MOST_STEPS = 400


def convection() -> pc.Problem:
    """-0.02 Laplace u + (1, 0.5) . grad u = 1 on the unit square."""
    domain = pc.Rectangle((0, 0), (1, 1))
    return pc.Problem(
        domain,
        flux=lambda x, u: 0.02 * u.grad,
        source=lambda x, u: u.grad[0] + 0.5 * u.grad[1] - 1.0,
        boundary=dict.fromkeys(domain.boundary_names, pc.Dirichlet(0.0)),
        name="convection",
    )


def systems() -> dict[str, LinearSystem]:
    """By name."""
    found = {}
    for name, problem, keys in (
        ("poisson square", poisson(), {"cells": (160, 160), "degree": 1}),
        ("convection square", convection(), {"cells": (80, 80), "degree": 2}),
    ):
        settings = settings_of("pcpinn", problem, keys, {})
        found[name] = linear_system(make_discretisation(problem, make_mesh(problem, settings), settings))
    for name in ("poisson2d-c", "poisson3d-cg", "poisson2d-cg"):
        task = catalog_task(name, "quick", {}, reference=False)
        mesh = make_mesh(task.problem, task.settings)
        found[name] = linear_system(make_discretisation(task.problem, mesh, task.settings))
    return found


def row(name: str, system: LinearSystem, recipe: Schwarz) -> dict[str, Any]:
    """One P."""
    d = system.discretisation
    P = recipe.fitted(d, 4.0)
    started = time.perf_counter()
    state = P.build(system.A)
    seconds = time.perf_counter() - started
    found = estimate_quality(
        system.A, lambda r: P.apply(state, r), d.unknown_nodes, system.weights, np.asarray(d.unknown_components)
    )
    facts = found.describe()
    steps = _gmres_steps(system, lambda r: P.apply(state, r))
    size = P.describe(state)["coarse_size"]
    values = (name, system.size, recipe.parts, recipe.overlap, size, facts["smooth"], facts["largest"], steps)
    return dict(zip(COLUMNS, (*values, round(seconds, 2)), strict=True))


def _gmres_steps(system: LinearSystem, apply: Any) -> int:
    steps = 0

    def count(_: Any) -> None:
        nonlocal steps
        steps += 1

    M = spla.LinearOperator(system.A.shape, lambda r: apply(r.ravel()))
    spla.gmres(
        system.A, system.b, M=M, rtol=1e-8, restart=_MOST_STEPS, maxiter=1, callback=count, callback_type="pr_norm"
    )
    return steps


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="CSV file to write")
    parser.add_argument("--parts", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32, 64])
    options = parser.parse_args()
    rows = []
    for name, system in systems().items():
        for coarse in (256, 0):
            for parts in options.parts:
                rows.append(row(name, system, Schwarz(parts=parts, coarse=coarse)))
                print(rows[-1], flush=True)
    write_csv(options.out, rows)


if __name__ == "__main__":
    main()
