"""helmholtz2d: the paper's study of the condition number on a source whose frequency A is a parameter."""

from __future__ import annotations

import numpy as np
import torch

from ..problem.conditions import Dirichlet
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from ..solution.reference import Reference
from .entry import CATALOG, PAPER, Entry
from .evaluation import grid_points


def solution(x: torch.Tensor, A: float | torch.Tensor) -> torch.Tensor:
    """u at one point (2,)."""
    return torch.sin(A * torch.pi * x[0]) * torch.sin(A * torch.pi * x[1])


def problem(A: float | torch.Tensor) -> Problem:
    """Laplace u + u = (1 - 2 pi^2 A^2) sin(A pi x) sin(A pi y); u from the formula on the sides, zero for whole numbers A."""
    whole = not isinstance(A, torch.Tensor) and float(A).is_integer()
    return Problem(
        Rectangle((0.0, 0.0), (1.0, 1.0), name="sides"),
        flux=lambda x, u: -u.grad,
        source=lambda x, u: u.value - (1 - 2 * torch.pi**2 * A**2) * solution(x, A),
        boundary={"sides": Dirichlet(0.0 if whole else lambda x: solution(x, A))},
        name="helmholtz2d",
    )


def exact(x: np.ndarray, A: float) -> np.ndarray:
    """u (n,) at points (n, 2)."""
    u: np.ndarray = np.sin(A * np.pi * x[:, 0]) * np.sin(A * np.pi * x[:, 1])
    return u


def reference(A: float) -> Reference:
    """The formula."""
    points = grid_points(np.linspace(0, 1, 128), np.linspace(0, 1, 128))  # odd steps: off the zeros of whole A
    return Reference(points, exact(points, A)[:, None], kind="exact", note="u = sin(A pi x) sin(A pi y)")


ENTRY = Entry(
    name="helmholtz2d",
    title="Helmholtz' equation with a source of frequency A: a study of the condition number",
    equation="Laplace u + u = (1 - 2 pi^2 A^2) sin(A pi x) sin(A pi y)",
    domain="[0, 1]^2",
    conditions="u = 0 on the boundary (for whole A; else from the formula)",
    problem=problem,
    reference=reference,
    parameters={"A": 2.0},
    presets={
        "quick": {"cells": (16, 16), "degree": 3, "iterations": 40},
        "default": {"cells": (32, 32), "degree": 4, "width": 32, "iterations": 150, "time_limit": 60.0},
        "paper": PAPER | {"cells": (100, 100)},
    },
    remark="Belongs to the paper's study (A from 1 to 20; see pcpinn study helmholtz), not to its tables; its paper preset takes "
    "the global settings. Theory: ||F^-1|| = 1 / (2 pi^2 - 1), whatever A is.",
    order=220,
)
CATALOG.register(ENTRY)
