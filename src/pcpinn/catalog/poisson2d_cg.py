"""poisson2d-cg: a screened Poisson equation on a square with four different holes."""

from __future__ import annotations

import numpy as np
import torch

from ..problem.conditions import Dirichlet
from ..problem.problem import Problem
from ..problem.shapes import Disk, Rectangle
from ..solution.reference import Reference
from .entry import CATALOG, PAPER, PAPER_READINGS, Entry
from .evaluation import series_reference
from .screened_poisson import RectangleWithHoles, polynomial_trigonometric_particular, solve_screened_poisson

_DISKS = ((0.5, 0.5, 0.2), (0.4, -0.4, 0.4), (-0.2, -0.7, 0.1), (-0.6, 0.5, 0.3))
_LOWER, _UPPER = (-1.0, -1.0), (1.0, 1.0)
_K = 8.0


def _f(x: torch.Tensor) -> torch.Tensor:
    return 10 * (17 + x[0] ** 2 + x[1] ** 2) * torch.sin(torch.pi * x[0]) * torch.sin(4 * torch.pi * x[1])


def problem() -> Problem:
    """-Laplace u + 64 u = f; u = 0.2 on the square, 1 on the holes."""
    return Problem(
        Rectangle(_LOWER, _UPPER, name="outer") - [Disk((x, y), r, name="holes") for x, y, r in _DISKS],
        flux=lambda x, u: u.grad,
        source=lambda x, u: _K**2 * u.value - _f(x),
        boundary={"outer": Dirichlet(0.2), "holes": Dirichlet(1.0)},
        name="poisson2d-cg",
    )


def reference() -> Reference:
    """A series plus an exact particular solution; the maximum principle bounds its error by its boundary mismatch."""
    coefficients = 10 * np.array([[17.0, 0, 1], [0, 0, 0], [1.0, 0, 0]])  # of x^i y^j in f
    particular = polynomial_trigonometric_particular(_K, coefficients, np.pi, 4 * np.pi)
    series = solve_screened_poisson(RectangleWithHoles(_LOWER, _UPPER, _DISKS), _K, 0.2, 1.0, particular, level=6)
    return series_reference(series, "multipole series plus particular solution")


ENTRY = Entry(
    name="poisson2d-cg",
    title="A screened Poisson equation on a square with four different holes",
    equation="-Laplace u + 64 u = 10 (17 + x^2 + y^2) sin(pi x) sin(4 pi y)",
    domain="[-1, 1]^2 minus disks (0.5, 0.5; 0.2), (0.4, -0.4; 0.4), (-0.2, -0.7; 0.1), (-0.6, 0.5; 0.3)",
    conditions="u = 0.2 on the square, u = 1 on the disks",
    problem=problem,
    reference=reference,
    presets={
        "quick": {"size": 0.1, "curvature": 3.0, "degree": 3, "feature_high": 2.0, "iterations": 30},
        "default": {
            "size": 0.1,
            "curvature": 5.0,
            "degree": 4,
            "preconditioner": "ilu",
            "drop_tolerance": 1e-5,
            "width": 32,
            "feature_count": 6,
            "feature_high": 2.0,
            "iterations": 200,
            "tolerance": 3e-5,
        },
        "paper": PAPER | {"size": 0.0184},
    },
    remark="The paper's mesh has 9382 nodes.",
    deviations=(
        *PAPER_READINGS,
        "A mesh of about the paper's 9382 nodes, whose file is not published.",
    ),
    suites=("linear",),
    order=30,
)
CATALOG.register(ENTRY)
