"""ns2d-lt: flow through a channel, driven to and fro."""

from __future__ import annotations

from functools import partial

import torch

from ..problem.conditions import Dirichlet, Initial, Natural
from ..problem.field import Field, Local
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from .entry import CATALOG, PAPER_READINGS, PAPER_STEPS, STEPS, STEPS_READINGS, Entry
from .reference_file import shipped_reference

_VISCOSITY = 0.01


def problem() -> Problem:
    """Incompressible flow; where it comes back through the outlet, the outlet takes half its momentum."""
    pi = torch.pi

    def flux(x: torch.Tensor, u: Local, p: Local) -> tuple[torch.Tensor, None]:
        return _VISCOSITY * u.grad - p.value * torch.eye(2, dtype=x.dtype, device=x.device), None

    def source(x: torch.Tensor, t: torch.Tensor, u: Local, p: Local) -> tuple[torch.Tensor, torch.Tensor]:
        push = torch.sin(pi * x[0]) * torch.sin(pi * x[1]) * torch.sin(pi * t)
        force = torch.stack([torch.zeros_like(push), -push])
        return u.grad @ u.value - force, u.grad[0, 0] + u.grad[1, 1]

    def inflow(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        pulse = torch.sin(pi * t) + torch.sin(3 * pi * t) + torch.sin(5 * pi * t)
        return torch.stack([torch.sin(pi * x[1]) * pulse, torch.zeros_like(pulse)])

    def outlet(x: torch.Tensor, n: torch.Tensor, u: Local, p: Local) -> torch.Tensor:
        return 0.5 * torch.clamp(n @ u.value, max=0.0) * u.value

    wall = {"u": Dirichlet((0.0, 0.0))}
    return Problem(
        Rectangle((0.0, 0.0), (2.0, 1.0)).over(0.0, 5.0),
        density=lambda x, u, p: (u.value, None),
        flux=flux,
        source=source,
        fields=[Field("u", components=2), Field("p", lower=1)],
        boundary={
            "right": {"u": Natural(outlet)},
            "left": {"u": Dirichlet(inflow)},
            "bottom": wall,
            "top": wall,
            "initial": {"u": Initial((0.0, 0.0))},
        },
        name="ns2d-lt",
    )


_OURS = STEPS | {
    "degree": 3,
    "feature_count": 3,
    "feature_low": -2.0,
    "feature_high": 1.0,
    "depth": 1,
    "refinement": 1,
}

ENTRY = Entry(
    name="ns2d-lt",
    title="Flow through a channel, driven to and fro",
    equation="u_t + (u . grad) u + grad p - 0.01 Laplace u = f, div u = 0",
    domain="[0, 2] x [0, 1], 0 < t < 5, step by step",
    conditions="pulsating inflow at x = 0, no slip at y = 0, 1, directional do-nothing at x = 2, at rest at t = 0",
    problem=problem,
    reference=partial(shipped_reference, "ns2d-lt", after=0.0),
    presets={
        "quick": _OURS | {"cells": (10, 5), "steps": 60, "width": 160, "tolerance": 1e-3},
        "default": _OURS | {"cells": (24, 12), "steps": 150, "width": 400, "tolerance": 1e-5},
        "paper": PAPER_STEPS
        | {
            "degree": 2,
            "cells": (60, 30),
            "steps": 50,
            "drop_tolerance": 1e-4,
            "cold_iterations": 100_000,
        },
    },
    deviations=(
        *PAPER_READINGS,
        *STEPS_READINGS,
        "Steps of 0.1: the 1/50 that the paper states would end at t = 1, not at 5.",
        "Taylor-Hood elements: the paper does not name its own, and equal degrees are not stable.",
        "An outlet that takes in no energy (see the remark), where the paper leaves the conditions to PINNacle.",
    ),
    remark="The inflow reverses, so the outlet sees flow come in: there the directional do-nothing condition "
    "nu du/dn - p n = 0.5 min(u . n, 0) u keeps the energy bounded. PINNacle's data suppress "
    "back-flow instead: they cannot be matched. The pressure at t = 0 is not compared: nothing gives it.",
    suites=("nonlinear",),
    order=170,
)
CATALOG.register(ENTRY)
