"""heat-inv: the conductivity of a square from noisy values of its temperature, scattered over space and time."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ..invert.observations import Observations
from ..invert.truth import Truth
from ..problem.conditions import Condition, Dirichlet, Free, Initial
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from ..problem.unknowns import Coefficient, Unknown
from .entry import INVERSE, INVERSE_READINGS, PAPER_INVERSE, InverseEntry
from .evaluation import grid_points
from .poisson_inv import SIDES


def exact_a(x: Tensor) -> Tensor:
    """The coefficient at one point of space."""
    return 2 + torch.sin(math.pi * x[0]) * torch.sin(math.pi * x[1])


def _right_hand_side(x: Tensor, t: Tensor) -> Tensor:
    """u_t - div(a grad u) of the truth."""
    s, c = torch.sin(math.pi * x), torch.cos(math.pi * x)
    shape = s[0] * s[1]
    slopes = (math.pi * c[0] * s[1]) ** 2 + (math.pi * s[0] * c[1]) ** 2
    return torch.exp(-t) * (-shape + 2 * math.pi**2 * exact_a(x) * shape - slopes)


def problem(known_u: float = 0.0, **_: float) -> tuple[Callable[..., Problem], dict[str, Unknown]]:
    """u_t - div(a grad u) = f; a is known on the sides, u nowhere (or, with known_u, on the sides and at the start)."""
    side: Condition = Dirichlet(0.0) if known_u else Free(group="sides")
    start: Condition = Free(group="start")
    if known_u:
        start = Initial(lambda x: torch.sin(math.pi * x[0]) * torch.sin(math.pi * x[1]))

    def build(a: Callable[[Tensor], Tensor]) -> Problem:
        return Problem(
            Rectangle((-1, -1), (1, 1)).over(0, 1),
            density=lambda x, u: u.value,
            flux=lambda x, u: a(x) * u.grad,
            source=lambda x, t, u: -_right_hand_side(x, t),
            boundary={**dict.fromkeys(SIDES, side), "initial": start},
            name="heat-inv",
        )

    return build, {"a": Coefficient(initial=2.0, low=0.1, known=dict.fromkeys(SIDES, exact_a))}


def data(seed: int, noise: float = 0.1, points: float = 2500, **_: float) -> Observations:
    """u at random points of space and time, with normal noise."""
    generator = np.random.default_rng(seed)
    x = generator.uniform(size=(max(1, round(points)), 3)) * [2.0, 2.0, 1.0] - [1.0, 1.0, 0.0]
    return Observations(x, _u(x) + noise * generator.normal(size=len(x)), max(noise, 1e-4), name="heat-inv")


def _u(x: np.ndarray) -> np.ndarray:
    return np.exp(-x[:, 2]) * np.sin(np.pi * x[:, 0]) * np.sin(np.pi * x[:, 1])


def truth(**_: float) -> Truth:
    """On a grid of 31 x 31 x 21."""
    line = np.linspace(-1, 1, 31)
    x = grid_points(line, line, np.linspace(0, 1, 21))
    a = 2 + np.sin(np.pi * x[:, 0]) * np.sin(np.pi * x[:, 1])
    return Truth(x, _u(x)[:, None], {"a": a}, note="formula")


# Layers of time as close as the data need: between them nothing keeps the network from fitting noise.
_OURS = {
    "time": "slabs",
    "scheme": "radau",
    "order": 3,
    "degree": 4,
    "cells": (4, 4),
    "steps": 4,
    "feature_count": 2,
    "feature_high": -1.0,
    "iterations": 45,
    "refresh": 3,  # derivatives of u by 1 400 nodal values cost more than an iteration
}

ENTRY = InverseEntry(
    name="heat-inv",
    title="The conductivity of a square from noisy temperatures in space and time",
    equation="u_t - div(a grad u) = f; a = 2 + sin(pi x) sin(pi y), u = exp(-t) sin(pi x) sin(pi y)",
    domain="[-1, 1]^2, 0 < t < 1",
    conditions="u at 2500 random points with noise of 0.1; a is known on the sides; u is not",
    problem=problem,
    data=data,
    truth=truth,
    presets={
        "quick": _OURS | {"steps": 2, "iterations": 30},
        "default": _OURS,
        "paper": PAPER_INVERSE
        | {
            "cells": (40, 40),
            "steps": 10,
            "warmup": 4000,
            "iterations": 1000,
            "coefficient_width": 64,
            "coefficient_depth": 3,
        },
    },
    parameters={"noise": 0.1, "points": 2500, "known_u": 0},
    deviations=INVERSE_READINGS,
    paper=(9.04e-3, 2.34e-3, 321.0),
    remark="known_u=1 tells the solver u on the sides (0) and at the start, too.",
    order=250,
)
INVERSE.register(ENTRY)
