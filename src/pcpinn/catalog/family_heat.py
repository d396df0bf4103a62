"""heat2d-ms-frequency: a fine ripple that decays, for all numbers of its half waves."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..family.family import Family
from ..family.parameters import Range
from ..problem.conditions import Dirichlet, Initial
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from .entry import FAMILIES, FamilyEntry


def ripple(k: Tensor) -> Problem:
    """u_t = u_xx / (500 pi)^2 + u_yy / pi^2, u = sin(k pi x) sin(pi y) exp(-(k^2/500^2 + 1) t): at the right side, too."""
    ax, ay = 1 / (500 * math.pi) ** 2, 1 / math.pi**2

    def start(x: Tensor) -> Tensor:
        return torch.sin(torch.pi * k * x[0]) * torch.sin(torch.pi * x[1])

    return Problem(
        Rectangle((0.0, 0.0), (1.0, 1.0)).over(0.0, 5.0),
        density=lambda x, u: u.value,
        flux=lambda x, u: torch.stack([ax * u.grad[0], ay * u.grad[1]]),
        boundary={
            **dict.fromkeys(("left", "bottom", "top"), Dirichlet(0.0)),
            "right": Dirichlet(lambda x, t: start(x) * torch.exp(-((k / 500) ** 2 + 1) * t)),
            "initial": Initial(start),
        },
        name="heat2d-ms-frequency",
    )


FAMILIES.register(
    FamilyEntry(
        name="heat2d-ms-frequency",
        title="A fine ripple that decays, the number of whose half waves is a parameter",
        equation="u_t - u_xx / (500 pi)^2 - u_yy / pi^2 = 0",
        domain="[0, 1]^2, 0 < t < 5; k from 5 to 40, all magnitudes equally likely",
        conditions="u = sin(k pi x) sin(pi y) at t = 0; u = 0 on three sides, as the formula says at x = 1",
        family=Family(ripple, k=Range(5, 40, log=True)),
        fine={"cells": (40, 2), "degree": 6, "element": "lobatto", "steps": 6, "scheme": "radau", "order": 3},
        queries={"quick": 6, "default": 50},
        presets={
            "quick": {
                "cells": (24, 1), "degree": 6, "element": "lobatto", "steps": 3, "order": 3, "validation": 16, "time_limit": 60.0,
            },
            "default": {
                "cells": (40, 2), "degree": 5, "element": "lobatto", "steps": 4, "order": 3, "time_limit": 300.0,
            },
        },
        remark="PINNacle's parametric set has k = 5, 10, 20, 40; k = 20 is heat2d-ms. Where k is no whole number, the value at "
        "x = 1 is that of the formula, which is the solution for all k.",
        order=42,
    )
)  # fmt: skip
