"""burgers1d-c-viscosity: a sine wave that steepens, for all viscosities."""

from __future__ import annotations

import math

from torch import Tensor

from ..family.family import Family
from ..family.parameters import Range
from ..problem.conditions import Dirichlet, Initial
from ..problem.problem import Problem
from ..problem.shapes import Interval
from .burgers1d import initial
from .entry import FAMILIES, FamilyEntry


def burgers(nu: Tensor) -> Problem:
    """u_t + u u_x = nu u_xx."""
    return Problem(
        Interval(-1.0, 1.0).over(0.0, 1.0),
        density=lambda x, u: u.value,
        flux=lambda x, u: nu * u.grad,
        source=lambda x, u: u.value * u.grad[0],
        boundary={"left": Dirichlet(0.0), "right": Dirichlet(0.0), "initial": Initial(initial)},
        name="burgers1d-c-viscosity",
    )


FAMILIES.register(
    FamilyEntry(
        name="burgers1d-c-viscosity",
        title="Burgers' equation: a wave that steepens, for a range of viscosities",
        equation="u_t + u u_x = nu u_xx",
        domain="[-1, 1], 0 < t < 1; nu from 0.01 / pi to 1 / pi, all magnitudes equally likely",
        conditions="u = 0 at the ends, u = -sin(pi x) at t = 0",
        family=Family(burgers, nu=Range(0.01 / math.pi, 1 / math.pi, log=True)),
        fine={"cells": (160,), "degree": 3, "steps": 30, "scheme": "radau", "order": 3},
        queries={"quick": 8, "default": 40},
        presets={
            "quick": {"cells": (60,), "degree": 3, "steps": 12, "order": 2, "validation": 16, "time_limit": 30.0},
            "default": {"cells": (100,), "degree": 3, "steps": 25, "order": 2, "time_limit": 200.0},
        },
        remark="nu = 0.01 / pi is burgers1d-c. The range is ours.",
        order=46,
    )
)  # fmt: skip
