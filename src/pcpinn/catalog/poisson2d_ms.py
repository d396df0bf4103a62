"""poisson2d-ms: diffusion through 5 x 5 cells whose coefficients differ up to 600-fold."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from ..problem.conditions import Robin
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from .entry import CATALOG, PAPER, PAPER_READINGS, Entry
from .reference_file import shipped_reference

LOWER, UPPER, CELLS = -10.0, 10.0, 5
KINKS = ((-6.0, -2.0, 2.0, 6.0),) * 2  # where the coefficient jumps, along each axis

# -div(a grad u) = c0 + c1 sin(pi X) sin(pi Y) with X, Y in [0, 1] the position in the cell
A = np.array([
    [46.117282, 0.59732824, 0.2922707, 1.2627643, 0.14456196],
    [12.718149, 1.4697529, 82.580229, 0.23611764, 0.32125753],
    [0.98706832, 9.0569332, 87.936036, 0.1319132, 66.248478],
    [6.9401304, 1.7143662, 1.8829439, 0.47775481, 12.267758],
    [65.953158, 22.765143, 5.1495063, 10.517297, 6.4850083],
])  # fmt: skip
C0 = np.array([
    [-0.53914513, -0.37767988, 0.95938867, 0.23957923, 0.52985027],
    [-0.87542248, 0.92005859, 0.23021762, 0.1264191, -0.80555258],
    [0.31182539, -0.12397613, 0.75588619, -0.056908056, -0.96849774],
    [-0.40548049, 0.89286094, 0.43945795, -0.80379956, 0.50877999],
    [0.63564598, -0.43481957, -0.83234209, -0.77883861, 0.17857871],
])  # fmt: skip
C1 = np.array([
    [-0.8293751, 0.1142822, 0.58644374, -0.93709503, 0.42473107],
    [0.47791742, -0.36907941, 0.33962814, 0.3241248, 0.26526502],
    [0.66301599, -0.079720287, -0.76039446, 0.1051315, -0.058647017],
    [0.076138016, -0.18601997, 0.049058027, -0.41341084, 0.22480584],
    [-0.78251242, -0.63584561, 0.88460901, 0.67747406, -0.98483084],
])  # fmt: skip
_A, _C0, _C1 = (torch.from_numpy(table) for table in (A, C0, C1))


def _in_cell(table: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The entry of a (5, 5) table for the cell that a point is in."""
    cell = torch.clamp(torch.floor(_scaled(x)), 0, CELLS - 1).long()
    return table.to(x).flatten().gather(0, (CELLS * cell[0] + cell[1])[None])[0]


def _scaled(x: torch.Tensor) -> torch.Tensor:
    return (x - LOWER) * (CELLS / (UPPER - LOWER))


def _a(x: torch.Tensor) -> torch.Tensor:
    return _in_cell(_A, x)


def _f(x: torch.Tensor) -> torch.Tensor:
    wave = torch.abs(torch.sin(torch.pi * _scaled(x))).prod()  # sin(pi X) sin(pi Y) with X, Y in [0, 1]
    return _in_cell(_C0, x) + _in_cell(_C1, x) * wave


def problem() -> Problem:
    """-div(a grad u) = f with a constant on each cell; du/dn + u = 0, so the flux through the sides is -a u."""
    return Problem(
        Rectangle((LOWER, LOWER), (UPPER, UPPER), name="outer"),
        flux=lambda x, u: _a(x) * u.grad,
        source=lambda x, u: -_f(x),
        boundary={"outer": Robin(_a)},
        name="poisson2d-ms",
    )


ENTRY = Entry(
    name="poisson2d-ms",
    title="Diffusion through 5 x 5 cells with jumping coefficients",
    equation="-div(a grad u) = f; a from 0.13 to 88, constant on each cell",
    domain="[-10, 10]^2",
    conditions="du/dn + u = 0",
    problem=problem,
    reference=partial(shipped_reference, "poisson2d-ms"),
    presets={
        "quick": {"cells": (10, 10), "lines": 1, "degree": 3, "kinks": KINKS, "width": 16, "iterations": 40},
        "default": {
            "cells": (20, 20),
            "lines": 2,
            "degree": 3,
            "kinks": KINKS,
            "width": 32,
            "sample": 20_000,  # all: the weights of a graded mesh differ so much that a sample of its nodes misleads
            "iterations": 100,
        },
        "paper": PAPER
        | {
            "cells": (100, 100),
            "width": 128,
            "depth": 5,
            "features": "gaussian",
            "feature_count": 128,
            "feature_std": float(np.pi),
        },
    },
    remark="In each cell f = c0 + c1 sin(pi X) sin(pi Y), X and Y from 0 to 1.",
    deviations=(
        *PAPER_READINGS,
        "Gaussian frequencies have the standard deviation pi: the paper's N(0, pi) could be the variance.",
        "a is constant on each cell, as in the benchmark's data: the paper calls it linear there.",
    ),
    suites=("linear",),
    order=40,
)
CATALOG.register(ENTRY)
