"""heat2d-lt: diffusion with a strong reaction that pulsates, over a long time."""

from __future__ import annotations

from functools import partial

import torch

from ..problem.conditions import Dirichlet, Initial
from ..problem.field import Local
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from .entry import CATALOG, PAPER_READINGS, PAPER_STEPS, STEPS, STEPS_READINGS, Entry
from .reference_file import shipped_reference

_DIFFUSION = 0.001


def problem() -> Problem:
    """u_t = 0.001 Laplace u + 5 sin(u^2) (1 + 2 sin(pi t / 4)) sin(4 pi x) sin(2 pi y)."""
    pi = torch.pi

    def source(x: torch.Tensor, t: torch.Tensor, u: Local) -> torch.Tensor:
        pulse = 1 + 2 * torch.sin(pi * t / 4)
        return -5 * torch.sin(u.value**2) * pulse * torch.sin(4 * pi * x[0]) * torch.sin(2 * pi * x[1])

    return Problem(
        Rectangle((0.0, 0.0), (1.0, 1.0), name="sides").over(0.0, 100.0),
        density=lambda x, u: u.value,
        flux=lambda x, u: _DIFFUSION * u.grad,
        source=source,
        boundary={
            "sides": Dirichlet(0.0),
            "initial": Initial(lambda x: torch.sin(4 * pi * x[0]) * torch.sin(3 * pi * x[1])),
        },
        name="heat2d-lt",
    )


_OURS = STEPS | {
    "degree": 3,
    "feature_count": 3,
    "feature_low": -1.0,
    "feature_high": 1.0,
    "depth": 1,
    "refinement": 1,
    "refresh": 10,
}

ENTRY = Entry(
    name="heat2d-lt",
    title="Diffusion with a pulsating reaction, over a long time",
    equation="u_t = 0.001 Laplace u + 5 sin(u^2) (1 + 2 sin(pi t / 4)) sin(4 pi x) sin(2 pi y)",
    domain="[0, 1]^2, 0 < t < 100, step by step",
    conditions="u = 0 on the sides; u = sin(4 pi x) sin(3 pi y) at t = 0",
    problem=problem,
    reference=partial(shipped_reference, "heat2d-lt"),
    presets={
        "quick": _OURS
        | {
            "cells": (12, 12),
            "steps": 2000,
            "order": 2,
            "width": 320,
            "tolerance": 1e-2,
            "refinement": 0,
            "split_errors": False,
        },
        "default": _OURS | {"cells": (40, 40), "steps": 2000, "width": 4096, "tolerance": 1e-3, "split_errors": False},
        "paper": PAPER_STEPS
        | {
            "cells": (20, 20),
            "steps": 2000,
            "drop_tolerance": 1e-4,
            "cold_iterations": 100_000,
        },
    },
    deviations=(
        *PAPER_READINGS,
        *STEPS_READINGS,
        "Steps of 0.05: the 1/2000 that the paper states would end at t = 1, not at 100.",
    ),
    suites=("nonlinear",),
    order=140,
)
CATALOG.register(ENTRY)
