"""wave1d-c-mode: a standing wave on an interval, for all lengths of its second mode."""

from __future__ import annotations

import torch
from torch import Tensor

from ..family.family import Family
from ..family.parameters import Range
from ..problem.conditions import Dirichlet, Initial
from ..problem.problem import Problem
from ..problem.shapes import Interval
from .entry import FAMILIES, FamilyEntry


def wave(a: Tensor) -> Problem:
    """u_tt = 4 u_xx; u = sin(pi x) cos(2 pi t) + 0.5 sin(a pi x) cos(2 a pi t), which is given at the right end, too."""

    def right(x: Tensor, t: Tensor) -> Tensor:
        return 0.5 * torch.sin(torch.pi * a) * torch.cos(2 * torch.pi * a * t)

    return Problem(
        Interval(0.0, 1.0).over(0.0, 1.0),
        density=lambda x, u: u.dt,
        flux=lambda x, u: 4 * u.grad,
        boundary={
            "left": Dirichlet(0.0),
            "right": Dirichlet(right),
            "initial": Initial(lambda x: torch.sin(torch.pi * x[0]) + 0.5 * torch.sin(torch.pi * a * x[0]), rate=0.0),
        },
        name="wave1d-c-mode",
    )


FAMILIES.register(
    FamilyEntry(
        name="wave1d-c-mode",
        title="A standing wave of two modes, whose second one is a parameter",
        equation="u_tt - 4 u_xx = 0",
        domain="[0, 1], 0 < t < 1; a from 2 to 10",
        conditions="u = sin(pi x) + 0.5 sin(a pi x), u_t = 0 at t = 0; u = 0 at x = 0, 0.5 sin(a pi) cos(2 a pi t) at x = 1",
        family=Family(wave, a=Range(2, 10)),
        fine={"cells": (16,), "degree": 6, "element": "lobatto", "steps": 40, "scheme": "gauss", "order": 3},
        queries={"quick": 10, "default": 50},
        presets={
            "quick": {
                "cells": (12,), "degree": 4, "steps": 30, "scheme": "gauss", "order": 3, "validation": 16, "time_limit": 30.0,
            },
            "default": {
                "cells": (14,), "degree": 5, "element": "lobatto", "steps": 36, "scheme": "gauss", "order": 3,
                "time_limit": 200.0,
            },
        },
        remark="PINNacle's parametric set has a = 2, 4, 6, 8, 10; a = 4 is wave1d-c. The rate u_t is a field of its own.",
        order=44,
    )
)  # fmt: skip
