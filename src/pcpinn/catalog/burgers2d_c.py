"""burgers2d-c: a random velocity that carries itself into fronts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import PcpinnError
from ..problem.conditions import Initial, Periodic
from ..problem.field import Field
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from ..solution.reference import Reference
from .burgers2d_start import burgers2d_start
from .entry import CATALOG, CAUSAL_READINGS, PAPER_CAUSALITY, PAPER_READINGS, PAPER_STEPS, STEPS, STEPS_READINGS, Entry
from .reference_file import shipped_reference

_VISCOSITY = 0.001


def problem(side: float = 1.0) -> Problem:
    """u_t + (u . grad) u = nu Laplace u, on one of the sixteen equal cells of the domain, or on more of them (side)."""
    if side not in range(1, 5):
        raise PcpinnError(f"side={side:g} is no number of periods in [0, 4]", "use 1, 2, 3 or 4")
    return Problem(
        Rectangle((0.0, 0.0), (side, side)).over(0.0, 1.0),
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


def reference(side: float = 1.0) -> Reference:
    """That of one cell; its places are dealt out to all cells at random, where u is the same."""
    one = shipped_reference("burgers2d-c")
    places, number = np.unique(one.points[:, :-1], axis=0, return_inverse=True)
    cell = np.random.default_rng(0).integers(int(side) ** 2, size=len(places))[number.ravel()]
    shift = np.column_stack([cell % int(side), cell // int(side), np.zeros(len(cell))])
    return replace(one, points=one.points + shift)


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
    domain="[0, 4]^2, periodic, 0 < t < 1, step by step; as the start, u has period 1: solved on [0, 1]^2, or [0, side]^2",
    conditions="a random sum of waves at t = 0",
    problem=problem,
    reference=reference,
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
            "side": 4,
            "cells": (112, 112),
            "steps": 500,
            "window": 10,
            "causality": PAPER_CAUSALITY,
            "drop_tolerance": 1e-1,
            "repeat": False,
            "cold_iterations": 40_000,
            "split_errors": False,
            "iterations": 2000,
        },
    },
    parameters={"side": 1},
    remark="side=1: one cell of period 1, which is the whole problem; side=4: all sixteen of them, as the paper has it.",
    deviations=(
        *PAPER_READINGS,
        *STEPS_READINGS,
        *CAUSAL_READINGS,
        "A mesh of 113 x 113 nodes in place of the paper's 12657, whose file is not published.",
    ),
    suites=("nonlinear",),
    order=130,
)
CATALOG.register(ENTRY)
