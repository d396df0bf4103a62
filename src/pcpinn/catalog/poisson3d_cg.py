"""poisson3d-cg: a screened Poisson equation on a cube with four spherical holes and a jump of its coefficient."""

from __future__ import annotations

from functools import partial

import torch

from ..problem.conditions import Neumann
from ..problem.problem import Problem
from ..problem.shapes import Ball, Box
from .entry import CATALOG, PAPER3D, PAPER_READINGS, Entry
from .reference_file import shipped_reference

BALLS = (((0.4, 0.3, 0.6), 0.2), ((0.6, 0.7, 0.6), 0.2), ((0.2, 0.8, 0.7), 0.1), ((0.6, 0.2, 0.3), 0.1))
JUMP, K_BELOW, K_ABOVE = 0.5, 8.0, 10.0  # k on either side of the plane z = JUMP


def _f(x: torch.Tensor) -> torch.Tensor:
    s1, s2, s3 = torch.sin(torch.pi * x[0]), torch.sin(10 * torch.pi * x[1]), torch.sin(5 * torch.pi * x[2])
    r2 = x @ x
    return 20 * torch.exp(s1 + s2 + s3) * (r2 - 1) / (r2 + 1) + 100 * s1 * s2 * s3


def problem() -> Problem:
    """-Laplace u + k^2 u = f with k = 8 below z = 0.5 and 10 above; no flux through any side."""
    return Problem(
        Box((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), name="outer") - [Ball(c, r, name="holes") for c, r in BALLS],
        flux=lambda x, u: u.grad,
        source=lambda x, u: torch.where(x[2] < JUMP, K_BELOW**2, K_ABOVE**2) * u.value - _f(x),
        boundary={"outer": Neumann(0.0), "holes": Neumann(0.0)},
        name="poisson3d-cg",
    )


# sin 10 pi y is a sine of 5 pi Y with Y in [-1, 1], so 2 pi 2^1.322; the others are a half and a quarter of it.
_WAVES = {"feature_count": 3, "feature_low": -0.678, "feature_high": 1.322}

ENTRY = Entry(
    name="poisson3d-cg",
    title="A screened Poisson equation on a cube with four spherical holes",
    equation="-Laplace u + k^2 u = f, k = 8 for z < 0.5, else 10",
    domain="[0, 1]^3 minus balls (0.4, 0.3, 0.6; 0.2), (0.6, 0.7, 0.6; 0.2), (0.2, 0.8, 0.7; 0.1), (0.6, 0.2, 0.3; 0.1)",
    conditions="zero flux everywhere",
    problem=problem,
    reference=partial(shipped_reference, "poisson3d-cg"),
    presets={
        "quick": {"size": 0.1, **_WAVES, "iterations": 30},
        "default": {
            "size": 0.035,
            "curvature": 3.0,
            "preconditioner": "amg",
            "width": 48,
            **_WAVES,
            "sample": 150_000,  # all nodes
            "memory": 16.0,
            "iterations": 120,
            "time_limit": 75.0,
        },
        "paper": PAPER3D | {"size": 0.0415, "curvature": 7.3},
    },
    remark="The paper's mesh has 13680 nodes; this one about as many, more of them at the balls. "
    "f = 20 exp(s1 + s2 + s3) (r^2 - 1)/(r^2 + 1) + 100 s1 s2 s3 with s = (sin pi x, sin 10 pi y, sin 5 pi z).",
    deviations=(
        *PAPER_READINGS,
        "A mesh of about the paper's 13680 nodes, whose file is not published.",
    ),
    suites=("linear",),
    order=50,
)
CATALOG.register(ENTRY)
