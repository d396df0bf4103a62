"""wave2d-long: two standing waves over 70 and 130 periods, from their initial data alone."""

from __future__ import annotations

import numpy as np
import torch

from ..problem.conditions import Dirichlet, Initial
from ..problem.field import Field, Local
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from ..solution.reference import Reference
from .entry import CATALOG, PAPER_GAUSSIAN, Entry
from .evaluation import grid_points

_END = 100.0
_SLOW, _FAST = 2**0.5 * np.pi, 7**0.5 * np.pi  # frequencies of the data on the sides


def _parts(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The two standing waves at their largest."""
    pi, scale = torch.pi, float(np.sinh(np.pi))
    return (
        torch.sin(2 * pi * x[0]) * torch.sinh(pi * x[1]) / scale,
        torch.sinh(pi * x[0]) * torch.sin(2 * pi * x[1]) / scale,
    )


def _u(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    one, two = _parts(x)
    return one * torch.cos(_SLOW * t) + two * torch.cos(_FAST * t)


def _v(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """u_t / sqrt(7) pi."""
    one, two = _parts(x)
    return -(_SLOW / _FAST) * one * torch.sin(_SLOW * t) - two * torch.sin(_FAST * t)


def problem() -> Problem:
    """u_t = k v, k v_t = u_xx + 2 u_yy, with k = sqrt(7) pi to make both fields of the same size."""

    def flux(x: torch.Tensor, u: Local, v: Local) -> tuple[None, torch.Tensor]:
        return None, torch.stack([u.grad[0], 2 * u.grad[1]])

    return Problem(
        Rectangle((0.0, 0.0), (1.0, 1.0), name="sides").over(0.0, _END),
        fields=(Field("u"), Field("v", auxiliary=True)),
        density=lambda x, u, v: (u.value, _FAST * v.value),
        flux=flux,
        source=lambda x, u, v: (-_FAST * v.value, None),
        boundary={
            "sides": {"u": Dirichlet(_u), "v": Dirichlet(_v)},
            "initial": {"u": Initial(_u), "v": Initial(_v)},
        },
        name="wave2d-long",
    )


def reference() -> Reference:
    """The formula."""
    points = grid_points(np.linspace(0, 1, 21), np.linspace(0, 1, 21), np.linspace(0, _END, 401))
    place = torch.from_numpy(points.T)
    u = _u(place[:2], place[2]).numpy()
    note = "u = (sin(2 pi x) sinh(pi y) cos(sqrt(2) pi t) + sinh(pi x) sin(2 pi y) cos(sqrt(7) pi t)) / sinh(pi)"
    return Reference(points, u, kind="exact", note=note)


_OURS = {
    "degree": 4,
    "time": "slabs",
    "scheme": "gauss",
    "features": "list",
    "frequencies": f"{2 * np.pi};{2 * np.pi};{_SLOW},{_FAST}",
}

ENTRY = Entry(
    name="wave2d-long",
    title="Two standing waves over many periods",
    equation="u_tt - u_xx - 2 u_yy = 0",
    domain="[0, 1]^2, 0 < t < 100, time as an extra dimension",
    conditions="u = (sin(2 pi x) sinh(pi y) cos(sqrt(2) pi t) + sinh(pi x) sin(2 pi y) cos(sqrt(7) pi t)) / sinh(pi) on the "
    "sides and at t = 0, u_t = 0 at t = 0",
    problem=problem,
    reference=reference,
    presets={
        "quick": _OURS | {"cells": (2, 2), "steps": 250, "order": 4, "iterations": 40},
        "default": _OURS | {"cells": (4, 4), "steps": 300, "order": 5, "width": 32, "iterations": 150},
        "paper": PAPER_GAUSSIAN
        | {
            "cells": (10, 10),
            "time": "slabs",
            "scheme": "gauss",
            "steps": 1000,
            "order": 1,
            "preconditioner": "time-order",
            "fill_factor": 20.0,
        },
    },
    remark="Not in the paper: a true wave of the kind that wave2d-ms was meant to be; its paper preset takes that problem's "
    "network and optimiser. Solved as two fields, u and v = u_t / (sqrt(7) pi); errors are those of u. The frequencies of the "
    "data on the sides are given to the network as features.",
    suites=("linear",),
    order=110,
)
CATALOG.register(ENTRY)
