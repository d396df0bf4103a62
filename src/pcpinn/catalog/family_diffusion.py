"""diffusion-4 and diffusion-16: diffusion on a square whose coefficient is the exponential of a few cosines."""

from __future__ import annotations

import torch
from torch import Tensor

from ..family.family import Family
from ..family.parameters import Range
from ..problem.conditions import Dirichlet
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from .entry import FAMILIES, FamilyEntry
from .series import cosine_waves, cosines

SIDES = ("left", "right", "bottom", "top")


def diffusion(count: int) -> Family:
    """-div(exp(sum of mu_k psi_k) grad u) = 1, u = 0 on the sides; mu in [-1, 1]^count."""
    size = [(i**2 + j**2) ** -0.5 for i, j in cosine_waves(count)]

    def problem(mu: Tensor) -> Problem:
        def coefficient(x: Tensor) -> Tensor:
            return torch.exp(mu @ (cosines(x, count) * torch.tensor(size, dtype=x.dtype, device=x.device)))

        return Problem(
            Rectangle((0, 0), (1, 1)),
            flux=lambda x, u: coefficient(x) * u.grad,
            source=lambda x, u: -1.0,
            boundary=dict.fromkeys(SIDES, Dirichlet(0.0)),
            name=f"diffusion-{count}",
        )

    return Family(problem, mu=Range(-1, 1, count=count))


def _entry(count: int, quick: dict[str, object], default: dict[str, object], order: int) -> FamilyEntry:
    return FamilyEntry(
        name=f"diffusion-{count}",
        title=f"Diffusion in a square, {count} numbers in the coefficient",
        equation="-div(exp(sum of mu_k psi_k) grad u) = 1, psi_k = cos(i pi x) cos(j pi y) / (i^2 + j^2)^0.5",
        domain=f"[0, 1]^2; mu in [-1, 1]^{count}, the {count} lowest waves",
        conditions="u = 0 on the sides",
        family=diffusion(count),
        fine={"cells": (14, 14), "degree": 4},
        queries={"quick": 40, "default": 200},
        presets={"quick": quick, "default": default},
        order=order,
    )


FAMILIES.register(
    _entry(
        4,
        {"cells": (10, 10), "degree": 2, "time_limit": 20.0},
        {
            "cells": (10, 10),
            "degree": 4,
            "width": 64,
            "depth": 4,
            "samples": 192,
            "sample": 40_000,
            "iterations": 400,
            "time_limit": 50.0,
        },
        10,
    )
)
FAMILIES.register(
    _entry(
        16,
        {
            "cells": (10, 10), "degree": 2, "loss": "spanned", "snapshots": 192, "modes": 48, "samples": 48, "batch": 48,
            "time_limit": 20.0,
        },
        {
            "cells": (12, 12), "degree": 3, "loss": "spanned", "snapshots": 1024, "modes": 96, "krylov_steps": 12,
            "samples": 256, "steps": 20, "batch": 256, "iterations": 1_000_000, "time_limit": 600.0,
        },
        20,
    )
)  # fmt: skip
