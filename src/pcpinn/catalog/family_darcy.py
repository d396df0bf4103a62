"""darcy: flow through a medium of two conductivities, which a random field tells apart."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..family.family import Family
from ..family.functions import Basis
from ..family.parameters import Normal
from ..problem.conditions import Dirichlet
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from .entry import FAMILIES, FamilyEntry
from .series import cosine_waves, cosines

_MODES = 64
_HIGH, _LOW = 12.0, 3.0


def waves(x: Tensor) -> Tensor:
    """Eigenfunctions of the covariance (-Laplace + 9)^-2 with no flux through the sides, times their standard deviations."""
    sizes = [(2.0 if i and j else math.sqrt(2.0)) / (math.pi**2 * (i**2 + j**2) + 9) for i, j in cosine_waves(_MODES)]
    return cosines(x, _MODES) * torch.tensor(sizes, dtype=x.dtype, device=x.device)


def darcy(g: object) -> Problem:
    """-div(a grad u) = 1, u = 0 on the sides; a = 12 where g >= 0, else 3."""
    assert callable(g)
    return Problem(
        Rectangle((0, 0), (1, 1)),
        flux=lambda x, u: torch.where(g(x) >= 0, _HIGH, _LOW) * u.grad,
        source=lambda x, u: -1.0,
        boundary=dict.fromkeys(("left", "right", "bottom", "top"), Dirichlet(0.0)),
        name="darcy",
    )


FAMILIES.register(
    FamilyEntry(
        name="darcy",
        title="Darcy flow in a square, two conductivities by the sign of a random field",
        equation="-div(a grad u) = 1; a = 12 where g >= 0, else 3; g Gaussian of covariance (-Laplace + 9)^-2",
        domain=f"[0, 1]^2; the {_MODES} lowest waves of g, each cut at 3 standard deviations",
        conditions="u = 0 on the sides",
        family=Family(darcy, g=Basis(waves, Normal(0, 1, count=_MODES))),
        fine={"cells": (100, 100), "degree": 1},
        queries={"quick": 8, "default": 100},
        presets={
            "quick": {
                "cells": (20, 20), "degree": 1, "loss": "spanned", "snapshots": 192, "modes": 64, "samples": 48,
                "batch": 48, "time_limit": 20.0,
            },
            "default": {
                "cells": (84, 84), "degree": 1, "loss": "spanned", "snapshots": 2048, "modes": 160, "samples": 256,
                "steps": 20, "batch": 256, "iterations": 1_000_000, "time_limit": 600.0,
            },
        },
        remark="The published recipe has all waves of a grid of 421 x 421 nodes; the constant one is zero there, too.",
        order=70,
    )
)  # fmt: skip
