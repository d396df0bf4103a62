"""heat2d-ms: a fine ripple that decays, with conductivities of very different size."""

from __future__ import annotations

import numpy as np
import torch

from ..problem.conditions import Dirichlet, Initial
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from ..solution.reference import Reference
from .entry import CATALOG, PAPER3D, PAPER_READINGS, Entry
from .evaluation import grid_points

_RATE = (20 / 500) ** 2 + 1.0


def _initial(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(20 * torch.pi * x[0]) * torch.sin(torch.pi * x[1])


def problem() -> Problem:
    """u_t - u_xx / (500 pi)^2 - u_yy / pi^2 = 0."""
    ax, ay = 1 / (500 * np.pi) ** 2, 1 / np.pi**2
    return Problem(
        Rectangle((0.0, 0.0), (1.0, 1.0), name="sides").over(0.0, 5.0),
        density=lambda x, u: u.value,
        flux=lambda x, u: torch.stack([ax * u.grad[0], ay * u.grad[1]]),
        boundary={"sides": Dirichlet(0.0), "initial": Initial(_initial)},
        name="heat2d-ms",
    )


def reference() -> Reference:
    """The formula; the ripple has 20 half-waves, so its grid is finer along x and misses their zeros."""
    points = grid_points(np.linspace(0, 1, 118), np.linspace(0, 1, 20), np.linspace(0, 5, 26))
    x, y, t = points.T
    u = np.sin(20 * np.pi * x) * np.sin(np.pi * y) * np.exp(-_RATE * t)
    return Reference(points, u, kind="exact", note="u = sin(20 pi x) sin(pi y) exp(-(20^2/500^2 + 1) t)")


_OURS = {
    "degree": 4,
    "time": "slabs",
    "scheme": "radau",
    "order": 3,
    "features": "list",
    "frequencies": f"{20 * np.pi};{np.pi};",  # of the initial values
}

ENTRY = Entry(
    name="heat2d-ms",
    title="A fine ripple that decays, with conductivities of very different size",
    equation="u_t - u_xx / (500 pi)^2 - u_yy / pi^2 = 0",
    domain="[0, 1]^2, 0 < t < 5, time as an extra dimension",
    conditions="u = sin(20 pi x) sin(pi y) at t = 0, u = 0 on the sides",
    problem=problem,
    reference=reference,
    presets={
        "quick": _OURS | {"cells": (30, 2), "steps": 4, "iterations": 20},
        "default": _OURS | {"cells": (40, 4), "steps": 10, "iterations": 60, "tolerance": 1e-5},
        "paper": PAPER3D | {"cells": (500, 20), "steps": 20, "drop_tolerance": 1e-1, "iterations": 50_000},
    },
    remark="The paper's mesh of 500 x 20 x 20 is read as (x, y, t).",
    deviations=(
        *PAPER_READINGS,
        "The mesh is read as (x, y, t), the only order that resolves the solutions of heat2d-ms and wave2d-ms.",
    ),
    suites=("linear",),
    order=70,
)
CATALOG.register(ENTRY)
