"""allen-cahn-step: one step of time of the Allen-Cahn equation for all initial states of 16 sines, as TensorPILS has it."""

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

_K, _STEP, _EPSILON = 4, 0.01, 32.0


def step(start: object) -> Problem:
    """(u - u0) / tau = Laplace u + eps^2 (u0 - u^3), u = 0 on the sides; u0 in units of pi / K^2."""
    assert callable(start)
    unit = math.pi / _K**2
    return Problem(
        Rectangle((0, 0), (1, 1)),
        flux=lambda x, u: u.grad,
        source=lambda x, u: u.value / _STEP + _EPSILON**2 * u.value**3 - (1 / _STEP + _EPSILON**2) * unit * start(x),
        boundary=dict.fromkeys(("left", "right", "bottom", "top"), Dirichlet(0.0)),
        name="allen-cahn-step",
    )


FAMILIES.register(
    FamilyEntry(
        name="allen-cahn-step",
        title="One step of the Allen-Cahn equation from an initial state of 4 x 4 sines",
        equation="(u - u0) / 0.01 = Laplace u + 32^2 (u0 - u^3)",
        domain="[0, 1]^2; u0 = pi / K^2 sum of a_ij (i^2 + j^2)^-0.5 sin(i pi x) sin(j pi y), K = 4, a in [-1, 1]^16",
        conditions="u = 0 on the sides",
        family=Family(step, start=Basis(partial(sines, per_axis=_K, power=-0.5), Range(-1, 1, count=_K**2))),
        fine={"cells": (16, 16), "degree": 4},
        queries={"quick": 16, "default": 100},
        presets={
            "quick": {
                "cells": (14, 14),
                "degree": 2,
                "loss": "spanned",
                "snapshots": 96,
                "modes": 48,
                "samples": 32,
                "time_limit": 20.0,
            },
            "default": {
                "cells": (20, 20),
                "degree": 3,
                "loss": "spanned",
                "snapshots": 768,
                "modes": 128,
                "samples": 128,
                "network": "trunk-branch",
                "width": 320,
                "depth": 1,
                "features": "none",
                "initialisation": "spread",
                "branch_width": 640,
                "branch_depth": 1,
                "iterations": 5000,
                "time_limit": 600.0,
            },
        },
        remark="The convex-concave step of TensorPILS (camlab-ethz/TensorPILS), the first from its initial states; there it is "
        "repeated ten times.",
        order=90,
    )
)
