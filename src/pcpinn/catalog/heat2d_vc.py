"""heat2d-vc: heat in a square of two materials, mixed at random."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from ..problem.conditions import Dirichlet, Initial
from ..problem.field import Local
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from .entry import CATALOG, PAPER_GAUSSIAN, PAPER_READINGS, Entry
from .random_field import nearest, two_phases
from .reference_file import shipped_reference


def problem() -> Problem:
    """u_t - div(a grad u) = f, where a is 2 or 1 on the pixels of a random field."""
    table = torch.from_numpy(two_phases(1.0, 2.0))

    def flux(x: torch.Tensor, u: Local) -> torch.Tensor:
        return nearest(table, x) * u.grad

    def source(x: torch.Tensor, t: torch.Tensor, u: Local) -> torch.Tensor:
        pi = torch.pi
        return -200 * torch.sin(pi * x[0]) * torch.sin(5 * pi * x[1]) * torch.sin(pi * t)

    return Problem(
        Rectangle((0.0, 0.0), (1.0, 1.0), name="sides").over(0.0, 5.0),
        density=lambda x, u: u.value,
        flux=flux,
        source=source,
        boundary={"sides": Dirichlet(0.0), "initial": Initial(0.0)},
        name="heat2d-vc",
    )


_OURS = {
    "degree": 2,
    "time": "slabs",
    "scheme": "radau",
    "order": 3,
    "features": "list",  # frequencies of the source, and some between and above
    "frequencies": f"{np.pi},{2 * np.pi},{4 * np.pi};{np.pi},{2 * np.pi},{5 * np.pi},{10 * np.pi};{np.pi}",
}

ENTRY = Entry(
    name="heat2d-vc",
    title="Heat in a square of two materials, mixed at random",
    equation="u_t - div(a grad u) = 200 sin(pi x) sin(5 pi y) sin(pi t); a = 2 where a random field is positive, else 1",
    domain="[0, 1]^2, 0 < t < 5, time as an extra dimension",
    conditions="u = 0 on the sides and at t = 0",
    problem=problem,
    reference=partial(shipped_reference, "heat2d-vc"),
    presets={
        "quick": _OURS | {"cells": (32, 32), "steps": 8, "iterations": 25},
        "default": _OURS
        | {
            "cells": (85, 85),
            "steps": 16,
            "width": 72,
            "sample": 30_000,
            "memory": 16.0,
            "iterations": 300,
            "tolerance": 1e-3,
            "time_limit": 80.0,
        },
        "paper": PAPER_GAUSSIAN | {"cells": (20, 100), "steps": 100, "drop_tolerance": 1e-1},
    },
    remark="a takes the value of the nearest of the field's 256 x 256 entries (x = j/255, y = i/255), in divergence form: with "
    "this coefficient, unlike that of PINNacle's code, PINNacle's data solve the equation. The paper's mesh of 20 x 100 x 100 "
    "is read as (x, y, t), the only order in which its meshes for heat2d-ms and wave2d-ms resolve their solutions.",
    deviations=(
        *PAPER_READINGS,
        "Gaussian frequencies have the standard deviation pi: the paper's N(0, pi) could be the variance.",
        "The mesh is read as (x, y, t), the only order that resolves the solutions of heat2d-ms and wave2d-ms.",
        "a is that with which the published data solve the equation (see the remark).",
    ),
    suites=("linear",),
    order=60,
)
CATALOG.register(ENTRY)
