"""wave2d-ms: called a wave, but an elliptic problem in space-time.

The formula of the benchmark, cos(pi t) [sin(pi x) sinh(pi y) + sinh(3 pi x) sin(2 pi y)], solves u_tt + u_xx + 2 u_yy = 0,
the equation as the paper prints it, and not the wave equation u_tt = u_xx + 2 u_yy of PINNacle's code. As an elliptic
equation it needs a condition on all of the boundary of space-time: the formula's values at the start and on the sides,
and u_t = 0 at the end. `wave2d-long` is a true wave.
"""

from __future__ import annotations

import numpy as np
import torch

from ..problem.conditions import Dirichlet, Neumann
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from ..solution.reference import Reference
from .entry import CATALOG, PAPER_GAUSSIAN, PAPER_READINGS, Entry
from .evaluation import grid_points

_END = 100.0


def _exact(x: torch.Tensor) -> torch.Tensor:
    pi = torch.pi
    in_space = torch.sin(pi * x[0]) * torch.sinh(pi * x[1]) + torch.sinh(3 * pi * x[0]) * torch.sin(2 * pi * x[1])
    return torch.cos(pi * x[2]) * in_space


def problem() -> Problem:
    """u_tt + u_xx + 2 u_yy = 0, a boundary value problem in space-time."""
    return Problem(
        Rectangle((0.0, 0.0), (1.0, 1.0), name="sides").over(0.0, _END, coordinate=True),
        flux=lambda x, u: torch.stack([u.grad[0], 2 * u.grad[1], u.grad[2]]),
        boundary={"sides": Dirichlet(_exact), "initial": Dirichlet(_exact), "final": Neumann(0.0)},
        name="wave2d-ms",
    )


def reference() -> Reference:
    """The formula, at times that fall on all phases of its oscillation."""
    points = grid_points(np.linspace(0, 1, 21), np.linspace(0, 1, 21), np.linspace(0, _END, 224))
    u = _exact(torch.from_numpy(points.T)).numpy()
    note = "u = cos(pi t) (sin(pi x) sinh(pi y) + sinh(3 pi x) sin(2 pi y))"
    return Reference(points, u, kind="exact", note=note)


_OURS = {
    "degree": 4,
    "time": "slabs",
    "scheme": "galerkin",
    "features": "list",
    "frequencies": f"{np.pi};{2 * np.pi};{np.pi}",  # of the data on the sides
}

ENTRY = Entry(
    name="wave2d-ms",
    title="Fifty periods of a formula that is not a wave",
    equation="u_tt + u_xx + 2 u_yy = 0",
    domain="[0, 1]^2, 0 < t < 100, time as an extra dimension",
    conditions="u = cos(pi t) (sin(pi x) sinh(pi y) + sinh(3 pi x) sin(2 pi y)) on the sides and at t = 0; u_t = 0 at t = 100",
    problem=problem,
    reference=reference,
    presets={
        "quick": _OURS | {"cells": (6, 6), "steps": 40, "order": 6, "iterations": 25},
        "default": _OURS | {"cells": (6, 6), "steps": 80, "order": 8, "iterations": 100, "tolerance": 1e-4},
        "paper": PAPER_GAUSSIAN | {"cells": (10, 10), "steps": 1000, "drop_tolerance": 1e-1},
    },
    remark="The benchmark's formula solves this elliptic equation (the paper's sign), not the wave equation of PINNacle's code; "
    "that is why all published baselines have an error of about one. wave2d-long is a true wave.",
    deviations=(
        *PAPER_READINGS,
        "Gaussian frequencies have the standard deviation pi: the paper's N(0, pi) could be the variance.",
        "The mesh is read as (x, y, t), the only order that resolves the solutions of heat2d-ms and wave2d-ms.",
    ),
    suites=("linear",),
    order=100,
)
CATALOG.register(ENTRY)
