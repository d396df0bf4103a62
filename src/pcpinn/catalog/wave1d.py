"""wave1d: the paper's study of the condition number on a wave whose speed C is a parameter."""

from __future__ import annotations

import numpy as np
import torch

from ..problem.conditions import Dirichlet, Initial
from ..problem.field import Local
from ..problem.problem import Problem
from ..problem.shapes import Interval
from ..solution.reference import Reference
from .entry import CATALOG, PAPER, Entry
from .evaluation import grid_points

LENGTH = 8.0
_SLOW, _FAST = np.pi / 8, np.pi / 2


def initial(x: torch.Tensor) -> torch.Tensor:
    """u at t = 0."""
    return torch.sin(_SLOW * x[0]) + 0.5 * torch.sin(_FAST * x[0])


def problem(C: float | torch.Tensor) -> Problem:
    """u_tt - C^2 u_xx = f."""

    def source(x: torch.Tensor, t: torch.Tensor, u: Local) -> torch.Tensor:
        return -(_SLOW**2) * (C**2 - 1) * torch.sin(_SLOW * x[0]) * torch.cos(_SLOW * t)

    return Problem(
        Interval(0.0, LENGTH).over(0.0, LENGTH),
        density=lambda x, u: u.dt,
        flux=lambda x, u: C**2 * u.grad,
        source=source,
        boundary={
            "left": Dirichlet(0.0),
            "right": Dirichlet(0.0),
            "initial": Initial(initial, rate=0.0),
        },
        name="wave1d",
    )


def exact(x: np.ndarray, C: float) -> np.ndarray:
    """u (n,) at points (n, 2)."""
    slow = np.sin(_SLOW * x[:, 0]) * np.cos(_SLOW * x[:, 1])
    u: np.ndarray = slow + 0.5 * np.sin(_FAST * x[:, 0]) * np.cos(_FAST * C * x[:, 1])
    return u


def reference(C: float) -> Reference:
    """The formula."""
    points = grid_points(np.linspace(0, LENGTH, 101), np.linspace(0, LENGTH, 101))
    note = "u = sin(pi x / 8) cos(pi t / 8) + 0.5 sin(pi x / 2) cos(C pi t / 2)"
    return Reference(points, exact(points, C)[:, None], kind="exact", note=note)


ENTRY = Entry(
    name="wave1d",
    title="A forced wave of two modes, with speed C: a study of the condition number",
    equation="u_tt - C^2 u_xx = (pi/8)^2 (C^2 - 1) sin(pi x / 8) cos(pi t / 8)",
    domain="0 < x < 8, 0 < t < 8, time as an extra dimension",
    conditions="u(x, 0) = sin(pi x / 8) + 0.5 sin(pi x / 2), u_t(x, 0) = 0, u = 0 at x = 0 and 8",
    problem=problem,
    reference=reference,
    parameters={"C": 2.0},
    presets={
        "quick": {
            "cells": (10,),
            "steps": 80,
            "degree": 3,
            "preconditioner": "ilu",
            "drop_tolerance": 1e-6,
            "iterations": 40,
        },
        "default": {
            "cells": (16,),
            "steps": 160,
            "degree": 4,
            "preconditioner": "ilu",
            "drop_tolerance": 1e-5,
            "fill_factor": 30.0,
            "width": 32,
            "iterations": 400,
            "tolerance": 1e-5,
            "time_limit": 90.0,
        },
        "paper": PAPER | {"cells": (50,), "steps": 400},
    },
    remark="Belongs to the paper's study (C from 1.1 to 5; see pcpinn study wave), not to its tables; its paper preset takes "
    "the global settings. Stable while C times the time step is below the size of a cell in space: up to C = 5 in all presets.",
    order=210,
)
CATALOG.register(ENTRY)
