"""gs: the Gray-Scott reaction of two diffusing substances, from two blobs to a pattern."""

from __future__ import annotations

from functools import partial

import torch

from ..problem.conditions import Initial, Neumann
from ..problem.field import Field, Local
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from .entry import CATALOG, PAPER_READINGS, PAPER_STEPS, STEPS, STEPS_READINGS, Entry
from .reference_file import shipped_reference

_DIFFUSION = (1e-5, 5e-6)
_FEED, _KILL = 0.04, 0.1


def problem() -> Problem:
    """u is consumed and fed, v grows on it and decays."""

    def source(x: torch.Tensor, u: Local, v: Local) -> tuple[torch.Tensor, torch.Tensor]:
        reaction = u.value * v.value**2
        return reaction - _FEED * (1 - u.value), _KILL * v.value - reaction

    def blob(x: torch.Tensor, sign: float) -> torch.Tensor:
        return torch.exp(-80 * ((x[0] + sign * 0.05) ** 2 + (x[1] + sign * 0.02) ** 2))

    still = {"u": Neumann(0.0), "v": Neumann(0.0)}
    return Problem(
        Rectangle((-1.0, -1.0), (1.0, 1.0), name="sides").over(0.0, 200.0),
        density=lambda x, u, v: (u.value, v.value),
        flux=lambda x, u, v: (_DIFFUSION[0] * u.grad, _DIFFUSION[1] * v.grad),
        source=source,
        fields=[Field("u"), Field("v")],
        boundary={
            "sides": still,
            "initial": {"u": Initial(lambda x: 1 - blob(x, 1.0)), "v": Initial(lambda x: blob(x, -1.0))},
        },
        name="gs",
    )


_OURS = STEPS | {
    "degree": 3,
    "refinement": 1,
    "features": "cosines",  # no flux through the sides
    "depth": 0,
    "split_errors": False,
}

ENTRY = Entry(
    name="gs",
    title="The Gray-Scott reaction",
    equation="u_t = 1e-5 Laplace u + 0.04 (1 - u) - u v^2, v_t = 5e-6 Laplace v - 0.1 v + u v^2",
    domain="[-1, 1]^2, 0 < t < 200, step by step",
    conditions="no flux through the sides; two Gaussian blobs at t = 0",
    problem=problem,
    reference=partial(shipped_reference, "gs"),
    presets={
        "quick": _OURS
        | {
            "cells": (20, 20),
            "steps": 50,
            "halvings": 3,
            "feature_count": 36,
            "solves": "factors",
            "tolerance": 2e-3,
        },
        "default": _OURS
        | {
            "cells": (128, 128),
            "steps": 80,
            "halvings": 3,  # the reaction is quickest at the start
            "feature_count": 175,  # half waves: 24 227 cosines
            "tolerance": 2e-4,
            "newton_iterations": 6,
        },
        "paper": PAPER_STEPS
        | {
            "cells": (128, 128),
            "steps": 200,
            "drop_tolerance": 1e-1,
            "cold_iterations": 20_000,
            "split_errors": False,
        },
    },
    deviations=(
        *PAPER_READINGS,
        *STEPS_READINGS,
        "Steps of 1: the 1/200 that the paper states would end at t = 1, not at 200.",
    ),
    suites=("nonlinear",),
    order=190,
)
CATALOG.register(ENTRY)
