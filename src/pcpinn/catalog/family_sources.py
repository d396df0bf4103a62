"""poisson-sources: Poisson's equation for a source of 100 coefficients, as TensorPILS has it."""

from __future__ import annotations

import math
from functools import partial

from ..family.family import Family
from ..family.functions import Basis
from ..family.parameters import Range
from ..problem.conditions import Dirichlet
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from .entry import FAMILIES, FamilyEntry
from .series import sines

_K = 10


def poisson(f: object) -> Problem:
    """-Laplace u = f on the unit square, u = 0 on its sides; f in units of pi / K^2."""
    assert callable(f)
    return Problem(
        Rectangle((0, 0), (1, 1)),
        flux=lambda x, u: u.grad,
        source=lambda x, u: -math.pi / _K**2 * f(x),
        boundary=dict.fromkeys(("left", "right", "bottom", "top"), Dirichlet(0.0)),
        name="poisson-sources",
    )


FAMILIES.register(
    FamilyEntry(
        name="poisson-sources",
        title="Poisson's equation in a square for a source of 10 x 10 sines",
        equation="-Laplace u = pi / K^2 sum of a_ij (i^2 + j^2)^0.5 sin(i pi x) sin(j pi y), K = 10",
        domain="[0, 1]^2; a in [-1, 1]^100",
        conditions="u = 0 on the sides",
        family=Family(poisson, f=Basis(partial(sines, per_axis=_K, power=0.5), Range(-1, 1, count=_K**2))),
        fine={"cells": (24, 24), "degree": 4},
        queries={"quick": 24, "default": 100},
        presets={
            "quick": {"cells": (12, 12), "degree": 4, "validation": 16, "iterations": 40, "time_limit": 20.0},
            "default": {"cells": (24, 24), "degree": 3, "iterations": 200, "time_limit": 300.0},
        },
        remark="73 x 73 nodes (default); TensorPILS (camlab-ethz/TensorPILS) has bilinear elements on 65 x 65. "
        "u is linear in a, which is found before training: its branch is linear, and the loss that of all a at once.",
        order=60,
    )
)  # fmt: skip
