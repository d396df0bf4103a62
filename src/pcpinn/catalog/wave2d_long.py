"""wave2d-long: two standing waves over 70 and 130 periods, from their initial data alone."""

from __future__ import annotations

import numpy as np
import torch

from ..problem.conditions import Cauchy, Dirichlet, Open
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from ..solve.reference import Reference
from .entry import PAPER_GAUSSIAN, Entry
from .evaluation import grid_points

_END = 100.0


def _exact(x: torch.Tensor) -> torch.Tensor:
    pi = torch.pi
    one = torch.sin(2 * pi * x[0]) * torch.sinh(pi * x[1]) * torch.cos(2**0.5 * pi * x[2])
    two = torch.sinh(pi * x[0]) * torch.sin(2 * pi * x[1]) * torch.cos(7**0.5 * pi * x[2])
    return (one + two) / float(np.sinh(np.pi))


def problem() -> Problem:
    """u_tt - u_xx - 2 u_yy = 0 in space-time."""
    return Problem(
        Rectangle((0.0, 0.0), (1.0, 1.0), name="sides").over(0.0, _END),
        flux=lambda x, u: torch.stack([u.grad[0], 2 * u.grad[1], -u.grad[2]]),
        boundary={"sides": Dirichlet(_exact), "initial": Cauchy(_exact, rate=0.0), "final": Open("initial")},
        name="wave2d-long",
    )


def reference() -> Reference:
    """The formula."""
    points = grid_points(np.linspace(0, 1, 21), np.linspace(0, 1, 21), np.linspace(0, _END, 401))
    u = _exact(torch.from_numpy(points.T)).numpy()
    note = "u = (sin(2 pi x) sinh(pi y) cos(sqrt(2) pi t) + sinh(pi x) sin(2 pi y) cos(sqrt(7) pi t)) / sinh(pi)"
    return Reference(points, u, kind="exact", note=note)


ENTRY = Entry(
    name="wave2d-long",
    title="Two standing waves over many periods",
    equation="u_tt - u_xx - 2 u_yy = 0",
    domain="[0, 1]^2, 0 < t < 100, time as an extra dimension",
    conditions="u = (sin(2 pi x) sinh(pi y) cos(sqrt(2) pi t) + sinh(pi x) sin(2 pi y) cos(sqrt(7) pi t)) / sinh(pi) on the "
    "sides and at t = 0, u_t = 0 at t = 0",
    problem=problem,
    reference=reference,
    presets={
        "quick": {
            "cells": (4, 4),
            "time_cells": 800,
            "drop_tolerance": 1e-4,
            "feature_count": 8,
            "feature_high": 6.0,
            "iterations": 40,
        },
        "default": {
            "cells": (6, 6),
            "time_cells": 1200,
            "drop_tolerance": 1e-5,
            "width": 48,
            "feature_count": 8,
            "feature_high": 6.0,
            "iterations": 150,
        },
        "paper": PAPER_GAUSSIAN | {"cells": (10, 10), "time_cells": 1000, "drop_tolerance": 1e-1},
    },
    remark="Not in the paper: a true wave of the kind that wave2d-ms was meant to be; its paper preset takes that problem's "
    "settings.",
)
