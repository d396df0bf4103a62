"""ks: the Kuramoto-Sivashinsky equation, chaotic."""

from __future__ import annotations

import math
from functools import partial

import torch

from ..problem.conditions import Initial, Periodic
from ..problem.field import Field, Local
from ..problem.problem import Problem
from ..problem.shapes import Interval
from .entry import (
    CATALOG,
    CAUSAL_READINGS,
    LAST_LAYER_STEPS,
    PAPER_CAUSALITY,
    PAPER_READINGS,
    PAPER_STEPS,
    STEPS,
    STEPS_READINGS,
    Entry,
)
from .reference_file import shipped_reference

_CONVECTION, _GROWTH, _DAMPING = 100 / 16, 100 / 16**2, 100 / 16**4


def problem() -> Problem:
    """Two fields of second order: w = u_xx and u_t + a u u_x + b w + c w_xx = 0."""

    def source(x: torch.Tensor, u: Local, w: Local) -> tuple[torch.Tensor, torch.Tensor]:
        return _CONVECTION * u.value * u.grad[0] + _GROWTH * w.value, w.value

    return Problem(
        Interval(0.0, 2 * math.pi).over(0.0, 1.0),
        density=lambda x, u, w: (u.value, None),
        flux=lambda x, u, w: (-_DAMPING * w.grad, u.grad),
        source=source,
        fields=[Field("u"), Field("w", auxiliary=True)],
        boundary={
            "left": {"u": Periodic("right"), "w": Periodic("right")},
            "initial": {"u": Initial(lambda x: torch.cos(x[0]) * (1 + torch.sin(x[0])))},
        },
        name="ks",
    )


_OURS = STEPS | {"degree": 4, "depth": 1, "feature_count": 22}  # waves per period

ENTRY = Entry(
    name="ks",
    title="The Kuramoto-Sivashinsky equation",
    equation="u_t + (100/16) u u_x + (100/16^2) u_xx + (100/16^4) u_xxxx = 0",
    domain="[0, 2 pi], periodic, 0 < t < 1, step by step",
    conditions="u = cos(x) (1 + sin(x)) at t = 0",
    problem=problem,
    reference=partial(shipped_reference, "ks"),
    presets={
        "quick": _OURS | {"feature_count": 16, "cells": (96,), "steps": 125, "width": 320, "tolerance": 1e-7},
        "default": _OURS | {"cells": (160,), "steps": 400, "width": 512, "tolerance": 1e-9},
        "paper": PAPER_STEPS
        | {
            "cells": (500,),
            "steps": 250,
            "window": 250,  # one sub-interval
            "causality": PAPER_CAUSALITY,
            "drop_tolerance": 1e-4,
            "repeat": False,
            "iterations": 15_000,
            "split_errors": False,
        },
        "precise": LAST_LAYER_STEPS
        | {"cells": (64,), "steps": 250, "features": "waves", "feature_count": 100, "tolerance": 1e-11},
    },
    deviations=(
        *PAPER_READINGS,
        *STEPS_READINGS,
        *CAUSAL_READINGS,
        "Two fields, u and w = u_xx, on 500 cells: third derivatives in the paper's weak form vanish on linear elements, and "
        "it does not say which it takes. The network has an output for each.",
    ),
    remark="Chaotic: a perturbation grows 80 000-fold by t = 1, so what a step adds to the error must be near 1e-8.",
    suites=("nonlinear",),
    order=200,
)
CATALOG.register(ENTRY)
