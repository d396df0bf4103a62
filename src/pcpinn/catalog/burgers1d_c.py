"""burgers1d-c: a sine wave that steepens into a front."""

from __future__ import annotations

from typing import Any

import torch

from ..problem.conditions import Dirichlet, Initial
from ..problem.problem import Problem
from ..problem.shapes import Interval
from .cole_hopf import VISCOSITY, burgers1d_reference
from .entry import CATALOG, LAST_LAYER_STEPS, NEWTON_READINGS, PAPER, PAPER_READINGS, STEPS, Entry


def problem() -> Problem:
    """u_t + u u_x = nu u_xx."""
    return Problem(
        Interval(-1.0, 1.0).over(0.0, 1.0),
        density=lambda x, u: u.value,
        flux=lambda x, u: VISCOSITY * u.grad,
        source=lambda x, u: u.value * u.grad[0],
        boundary={
            "left": Dirichlet(0.0),
            "right": Dirichlet(0.0),
            "initial": Initial(lambda x: -torch.sin(torch.pi * x[0])),
        },
        name="burgers1d-c",
    )


FRONT: dict[str, Any] = STEPS | {
    "degree": 4,
    "features": "log",
    "feature_count": 6,
    "feature_low": -2.0,
    "feature_high": 4.2,
    "depth": 2,
}

ENTRY = Entry(
    name="burgers1d-c",
    title="Burgers' equation: a wave that steepens",
    equation="u_t + u u_x = (0.01 / pi) u_xx",
    domain="[-1, 1], 0 < t < 1, step by step",
    conditions="u = 0 at the ends, u = -sin(pi x) at t = 0",
    problem=problem,
    reference=burgers1d_reference,
    presets={
        "quick": FRONT | {"cells": (128,), "steps": 40, "width": 320, "tolerance": 1e-5},
        "default": FRONT | {"cells": (256,), "steps": 80, "width": 640, "tolerance": 1e-6},
        "paper": PAPER
        | {
            "cells": (500,),
            "steps": 20,
            "drop_tolerance": 1e-4,
            "newton_iterations": 10,
            "iterations": 20_000,  # 2 000 in each of Newton's steps
            "forcing": 0.0,
        },
        "precise": LAST_LAYER_STEPS
        | {"cells": (256,), "steps": 80, "features": "series", "feature_count": 800, "tolerance": 1e-10},
    },
    remark="PINNacle's file is 1.3e-2 from the exact solution, and so are the paper's 1.42e-2 and every good baseline.",
    deviations=(
        *PAPER_READINGS,
        *NEWTON_READINGS,
    ),
    suites=("nonlinear",),
    order=120,
)
CATALOG.register(ENTRY)
