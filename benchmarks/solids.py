"""Plans of solids with curved walls: estimated and true errors of their discrete solutions.

python benchmarks/solids.py [ball void cylinder]   writes a row per problem to benchmarks/solids.csv
"""

from __future__ import annotations

import csv
import sys
from datetime import date
from pathlib import Path

import numpy as np
import torch
from torch.func import jacrev, vmap

import pcpinn as pc
from pcpinn.mesh.generate import generate_mesh
from pcpinn.solve.adapt import degrees
from pcpinn.solve.adapt.level import Elements
from pcpinn.solve.adapt.limits import Limits
from pcpinn.solve.adapt.space import adapt
from pcpinn.solve.adapt.wish import DEGREE, FIRST_CELLS, QUADRATURE

TARGET, SECONDS = 3.5e-4, 240.0


def wavy(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(4 * x[0] + x[1]) * torch.cos(3 * x[2]) + x[0] * x[1]


def zero_on_sphere(x: torch.Tensor) -> torch.Tensor:
    return (1 - x @ x) * torch.exp(x[0]) * torch.cos(3 * x[1])


def zero_flux_on_mantle(x: torch.Tensor) -> torch.Tensor:
    r2 = 4 * (x[0] ** 2 + x[1] ** 2)
    return (1 - r2) ** 2 * (1 + x[0]) * torch.cos(torch.pi * x[2]) + torch.cos(2 * torch.pi * x[2])


def source(exact, reaction):
    """What -Laplace u + reaction u is for the exact solution."""
    return lambda x: reaction * exact(x) - jacrev(jacrev(exact))(x).trace()


def problems():
    """Name -> problem, exact solution."""
    ball = pc.Ball((0, 0, 0), 1.0, name="sphere")
    void = pc.Box((-1, -1, -1), (1, 1, 1), name="cube") - pc.Ball((0.1, 0, 0), 0.5, name="void")
    tank = pc.Cylinder((0, 0, 0), (0, 0, 1), 0.5)

    def out(x):  # of the cube, into the void, on the true sphere
        n = -(x - torch.tensor([0.1, 0, 0], dtype=x.dtype))
        n = n / n.norm()
        return jacrev(wavy)(torch.tensor([0.1, 0, 0], dtype=x.dtype) - 0.5 * n) @ n

    given = {
        "ball": (ball, zero_on_sphere, 0.0, {"sphere": pc.Dirichlet(0.0)}),
        "void": (void, wavy, 0.0, {"cube": pc.Dirichlet(wavy), "void": pc.Neumann(out)}),
        "cylinder": (tank, zero_flux_on_mantle, 1.0, dict.fromkeys(tank.boundary_names, pc.Neumann(0.0))),
    }
    for name, (domain, exact, reaction, sides) in given.items():
        f = source(exact, reaction)
        yield (
            name,
            pc.Problem(
                domain,
                lambda x, u: u.grad,
                lambda x, u, f=f, r=reaction: r * u.value - f(x),
                sides,
                name=f"solid-{name}",
            ),
            exact,
        )


def true_error(level, exact) -> float:
    """Relative L2 error of a level's discrete solution, by the quadrature of its finer space."""
    x = level.fine.space.quadrature.x.reshape(-1, 3)
    known = vmap(exact)(torch.from_numpy(x)).numpy()[:, None]
    found = level.coarse.interpolate(level.u, x)
    dx = level.fine.space.quadrature.dx.ravel()
    return float(np.sqrt((dx @ (found - known) ** 2) / (dx @ known**2))[0])


def plan(problem, curved):
    """As to an accuracy of 1e-3."""
    size = problem.domain.extent / FIRST_CELLS[3]
    elements = Elements(DEGREE[3], quadrature=QUADRATURE[3])
    limits = Limits(2 * SECONDS, free=16.0)
    higher = Elements(*(degrees.RAISED[3][0], "lagrange", degrees.RAISED[3][1]))
    mesh = generate_mesh(problem.domain, size=size, curved=curved)
    adapted = adapt(problem, mesh, elements, TARGET, limits, pc.Progress(), raised=higher)
    return adapted, limits.clock.seconds


def main(wanted: list[str]) -> None:
    path = Path(__file__).with_name("solids.csv")
    rows = list(csv.DictReader(path.open())) if path.exists() else []
    for name, problem, exact in problems():
        for curved in (True, False) if not wanted or name in wanted else ():
            adapted, seconds = plan(problem, curved)
            space = adapted.level.coarse.space
            row = {
                "problem": name, "curved": curved, "cells": adapted.level.mesh.cell_count, "degree": space.degree,
                "dofs": space.size, "estimate": f"{adapted.estimate:.2e}", "true": f"{true_error(adapted.level, exact):.2e}",
                "limited_by": adapted.limited_by or "", "seconds": f"{seconds:.0f}", "date": date.today().isoformat(),
            }  # fmt: skip
            print(row, flush=True)
            rows = [r for r in rows if (r["problem"], str(r["curved"])) != (name, str(curved))] + [row]
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, list(row), lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
