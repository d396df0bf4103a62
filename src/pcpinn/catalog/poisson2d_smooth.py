"""poisson2d-smooth: Poisson's equation on a square, with a solution that is smooth up to its corners."""

from __future__ import annotations

import numpy as np
import torch

from ..problem.conditions import Dirichlet
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from ..solution.reference import Reference
from .entry import CATALOG, LAST_LAYER, PAPER, Entry
from .evaluation import grid_points


def solution(x: torch.Tensor) -> torch.Tensor:
    """u at one point (2,)."""
    return torch.sin(torch.pi * x[0]) * torch.sin(torch.pi * x[1]) + torch.exp(x[0] - x[1] / 2) / 4


def problem() -> Problem:
    """-Laplace u = f; u from the formula on the sides."""

    def source(x: torch.Tensor, u: object) -> torch.Tensor:
        waves = 2 * torch.pi**2 * torch.sin(torch.pi * x[0]) * torch.sin(torch.pi * x[1])
        return 5 * torch.exp(x[0] - x[1] / 2) / 16 - waves

    return Problem(
        Rectangle((0.0, 0.0), (1.0, 1.0), name="sides"),
        flux=lambda x, u: u.grad,
        source=source,
        boundary={"sides": Dirichlet(solution)},
        name="poisson2d-smooth",
    )


def reference() -> Reference:
    """The formula."""
    points = grid_points(np.linspace(0, 1, 101), np.linspace(0, 1, 101))
    x, y = points.T
    u = np.sin(np.pi * x) * np.sin(np.pi * y) + np.exp(x - y / 2) / 4
    return Reference(points, u[:, None], kind="exact", note="u = sin(pi x) sin(pi y) + exp(x - y/2) / 4")


ENTRY = Entry(
    name="poisson2d-smooth",
    title="Poisson's equation on a square, with a smooth solution",
    equation="-Laplace u = 2 pi^2 sin(pi x) sin(pi y) - (5/16) exp(x - y/2)",
    domain="[0, 1]^2",
    conditions="u from the formula on the boundary",
    problem=problem,
    reference=reference,
    presets={
        "quick": {"cells": (8, 8), "degree": 3, "iterations": 40},
        "default": {"cells": (16, 16), "degree": 4, "width": 32, "iterations": 150, "time_limit": 60.0},
        "paper": PAPER | {"cells": (100, 100)},
        "precise": LAST_LAYER | {"cells": (4, 4), "degree": 10, "waves": 150, "spread": 3.0},
    },
    remark="Not in the paper: its paper preset takes the global settings. Other methods solve problems as smooth as this to ten "
    "digits and more, and so does its precise preset.",
    order=230,
)
CATALOG.register(ENTRY)
