"""burgers2d-c: a random velocity that carries itself into fronts."""

from __future__ import annotations

from functools import partial

from ..problem.conditions import Initial, Periodic
from ..problem.field import Field
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from .burgers2d_start import burgers2d_start
from .entry import CATALOG, PAPER_CAUSALITY, PAPER_STEPS, STEPS, Entry
from .reference_file import shipped_reference

_VISCOSITY = 0.001


def problem() -> Problem:
    """u_t + (u . grad) u = nu Laplace u, on one of the sixteen equal cells of the domain."""
    return Problem(
        Rectangle((0.0, 0.0), (1.0, 1.0)).over(0.0, 1.0),
        density=lambda x, u: u.value,
        flux=lambda x, u: _VISCOSITY * u.grad,
        source=lambda x, u: u.grad @ u.value,
        fields=Field("u", components=2),
        boundary={
            "left": Periodic("right"),
            "bottom": Periodic("top"),
            "initial": Initial(burgers2d_start().at),
        },
        name="burgers2d-c",
    )


_OURS = STEPS | {
    "degree": 3,
    "features": "waves",
    "depth": 0,  # fronts move several widths per step: the last layer, solved for, follows; trained hidden ones do not
    "refinement": 1,
    "split_errors": False,
}

ENTRY = Entry(
    name="burgers2d-c",
    title="Burgers' equation in two dimensions",
    equation="u_t + (u . grad) u = 0.001 Laplace u",
    domain="[0, 4]^2, periodic, 0 < t < 1, step by step; since the start has period 1, so has u: solved on [0, 1]^2",
    conditions="a random sum of waves at t = 0",
    problem=problem,
    reference=partial(shipped_reference, "burgers2d-c"),
    presets={
        "quick": _OURS
        | {
            "cells": (20, 20),
            "steps": 50,
            "order": 2,
            "feature_count": 16,
            "solves": "factors",
            "tolerance": 1e-2,
        },
        "default": _OURS
        | {
            "cells": (112, 112),
            "steps": 200,
            "feature_count": 104,  # waves per period: 33 948 sines and cosines
            "newton_iterations": 4,
            "tolerance": 1e-3,
        },
        "paper": PAPER_STEPS
        | {
            "cells": (28, 28),  # the paper's 12 657 nodes on [0, 4]^2 are 791 in a cell of period 1
            "steps": 500,
            "window": 10,
            "causality": PAPER_CAUSALITY,
            "drop_tolerance": 1e-1,
            "width": 128,
            "depth": 5,
            "start_iterations": 40_000,
            "iterations": 2000,
        },
    },
    suites=("nonlinear",),
    order=130,
)
CATALOG.register(ENTRY)
