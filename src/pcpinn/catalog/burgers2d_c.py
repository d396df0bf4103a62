"""burgers2d-c: a random velocity that carries itself into fronts."""

from __future__ import annotations

import torch

from ..problem.conditions import Dirichlet, Periodic
from ..problem.field import Field, Local
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from ..solve.reference import Reference
from .burgers2d_start import burgers2d_start
from .entry import PAPER_STEPS, Entry
from .reference_file import shipped_reference

_VISCOSITY = 0.001


def problem() -> Problem:
    """u_t + (u . grad) u = nu Laplace u, on one of the sixteen equal cells of the domain."""

    def flux(x: torch.Tensor, u: Local) -> torch.Tensor:
        return torch.cat([_VISCOSITY * u.grad[:, :2], torch.zeros_like(u.grad[:, 2:])], 1)

    return Problem(
        Rectangle((0.0, 0.0), (1.0, 1.0)).over(0.0, 1.0),
        flux=flux,
        source=lambda x, u: u.grad[:, 2] + u.grad[:, :2] @ u.value,
        fields=Field("u", components=2),
        boundary={
            "left": Periodic("right"),
            "bottom": Periodic("top"),
            "initial": Dirichlet(burgers2d_start().at),
        },
        name="burgers2d-c",
    )


def reference() -> Reference:
    """A Fourier method, certified by refinement."""
    return shipped_reference("burgers2d-c")


_OURS = {
    "time_scheme": "radau",
    "time_order": 3,
    "march": 1,
    "feature_count": 4,  # waves per period
    "depth": 3,
    "refinement": 1,
}

ENTRY = Entry(
    name="burgers2d-c",
    title="Burgers' equation in two dimensions",
    equation="u_t + (u . grad) u = 0.001 Laplace u",
    domain="[0, 4]^2, periodic, 0 < t < 1, step by step; since the start has period 1, so has u: solved on [0, 1]^2",
    conditions="a random sum of waves at t = 0",
    problem=problem,
    reference=reference,
    presets={
        "quick": _OURS
        | {
            "degree": 3,
            "cells": (24, 24),
            "time_cells": 50,
            "time_order": 2,
            "width": 1024,
            "depth": 1,
            "feature_count": 8,
            "tolerance": 1e-2,
            "iterations": 0,
            "start_iterations": 0,
            "discrete": False,
        },
        "default": _OURS
        | {
            "degree": 3,
            "cells": (96, 96),
            "time_cells": 200,
            "width": 64,
            "depth": 4,
            "sample": 20_000,
            "iterations": 3,
            "start_iterations": 60,
            "newton_iterations": 3,
            "tolerance": 1e-3,
            "discrete": False,
        },
        "paper": PAPER_STEPS
        | {
            "cells": (28, 28),  # the paper's 12 657 nodes on [0, 4]^2 are 791 in a cell of period 1
            "time_cells": 500,
            "march": 10,
            "drop_tolerance": 1e-1,
            "width": 128,
            "depth": 5,
            "start_iterations": 40_000,
            "iterations": 2000,
        },
    },
)
