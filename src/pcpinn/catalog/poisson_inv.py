"""poisson-inv: the conductivity of a square from noisy values of the solution."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ..invert.observations import Observations
from ..invert.truth import Truth
from ..problem.conditions import Condition, Dirichlet, Free
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from ..problem.unknowns import Coefficient, Unknown
from .entry import INVERSE, INVERSE_READINGS, PAPER_INVERSE, InverseEntry
from .evaluation import grid_points

SIDES = ("left", "right", "bottom", "top")


def exact_a(x: Tensor) -> Tensor:
    """The coefficient at one point."""
    return 1 / (1 + x[0] ** 2 + x[1] ** 2 + (x[0] - 1) ** 2 + (x[1] - 1) ** 2)


def _right_hand_side(x: Tensor) -> Tensor:
    """-div(a grad u) of the truth."""
    a = exact_a(x)
    slope = -(a**2) * (4 * x - 2)
    s, c = torch.sin(math.pi * x), torch.cos(math.pi * x)
    gradient = math.pi * torch.stack([c[0] * s[1], s[0] * c[1]])
    return -(slope @ gradient) + 2 * math.pi**2 * a * s[0] * s[1]


def problem(known_u: float = 0.0, **_: float) -> tuple[Callable[..., Problem], dict[str, Unknown]]:
    """-div(a grad u) = f; a is known on the sides, u nowhere (or, with known_u, on the sides too)."""
    side: Condition = Dirichlet(0.0) if known_u else Free(group="sides")

    def build(a: Callable[[Tensor], Tensor]) -> Problem:
        return Problem(
            Rectangle((0, 0), (1, 1)),
            flux=lambda x, u: a(x) * u.grad,
            source=lambda x, u: -_right_hand_side(x),
            boundary=dict.fromkeys(SIDES, side),
            name="poisson-inv",
        )

    return build, {"a": Coefficient(initial=0.4, low=0.02, known=dict.fromkeys(SIDES, exact_a))}


def data(seed: int, noise: float = 0.1, points: float = 2500, **_: float) -> Observations:
    """u on a grid, boundary included, with normal noise."""
    per_axis = max(2, round(points**0.5))
    line = np.linspace(0, 1, per_axis)
    x = grid_points(line, line)
    error = np.random.default_rng(seed).normal(size=len(x))
    return Observations(x, _u(x) + noise * error, max(noise, 1e-4), name="poisson-inv")


def _u(x: np.ndarray) -> np.ndarray:
    return np.sin(np.pi * x[:, 0]) * np.sin(np.pi * x[:, 1])


def truth(**_: float) -> Truth:
    """On a grid of 101 x 101."""
    x = grid_points(np.linspace(0, 1, 101), np.linspace(0, 1, 101))
    return Truth(x, _u(x)[:, None], {"a": exact_a(torch.from_numpy(x).T).numpy()}, note="formula")


ENTRY = InverseEntry(
    name="poisson-inv",
    title="The conductivity of a square from noisy values of the solution",
    equation="-div(a grad u) = f; a = 1 / (1 + x^2 + y^2 + (x-1)^2 + (y-1)^2), u = sin(pi x) sin(pi y)",
    domain="[0, 1]^2",
    conditions="u at 50 x 50 points with noise of 0.1; a is known on the sides; u is not",
    problem=problem,
    data=data,
    truth=truth,
    presets={
        "quick": {"cells": (6, 6), "degree": 3, "iterations": 20},
        "default": {"cells": (8, 8), "degree": 3},
        "paper": PAPER_INVERSE
        | {
            "cells": (100, 100),
            "warmup": 10_000,
            "iterations": 1000,
            "coefficient_width": 128,
            "coefficient_depth": 5,
        },
    },
    parameters={"noise": 0.1, "points": 2500, "known_u": 0},
    deviations=INVERSE_READINGS,
    paper=(1.80e-2, 9.30e-3, 187.0),
    remark="known_u=1 tells the solver that u = 0 on the sides, too.",
    order=240,
)
INVERSE.register(ENTRY)
