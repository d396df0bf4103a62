"""Heat conduction with a source in space-time, 208,125 unknowns: u_t - 0.1 Laplace u = f on the unit square, 0 < t < 1.

    pcpinn solve benchmarks/heat_spacetime.py --device cuda
    PCPINN_HEAT_NODES=30000 pcpinn solve benchmarks/heat_spacetime.py --set iterations=30      # the same, smaller

The exact solution is sin(pi x) sin(pi y) (1 - exp(-t)) + 0.2 sin(pi x) sin(2 pi y) sin(2 pi t). The solver is told the PDE and
the values at the start and on the sides; the end of time has no condition (nothing flows through it).
"""

from __future__ import annotations

import os

import numpy as np
import torch

import pcpinn as pc

CONDUCTIVITY = 0.1


def exact(x: torch.Tensor) -> torch.Tensor:
    """u at points (..., 3)."""
    slow, fast, t = *shapes(x), x[..., 2]
    return slow * (1 - torch.exp(-t)) + fast * torch.sin(2 * torch.pi * t)


def shapes(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The two parts of u in space: eigenfunctions of the Laplacian, with -2 pi^2 and -5 pi^2."""
    px, py = torch.pi * x[..., 0], torch.pi * x[..., 1]
    return torch.sin(px) * torch.sin(py), 0.2 * torch.sin(px) * torch.sin(2 * py)


def load(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """f = u_t - 0.1 Laplace u."""
    slow, fast = shapes(x)
    phase, decay = 2 * torch.pi * t, CONDUCTIVITY * torch.pi**2
    return slow * (torch.exp(-t) + 2 * decay * (1 - torch.exp(-t))) + fast * (
        2 * torch.pi * torch.cos(phase) + 5 * decay * torch.sin(phase)
    )


def cells_for(nodes: int) -> tuple[int, int]:
    """Cells along a side of the square and slabs of time (37 and 12 by default) for about so many unknowns."""
    side = max(2, round((nodes / 40) ** 0.5 / 2))
    return side, max(2, round((nodes / (2 * side + 1) ** 2 - 1) / 3))


side, slabs = cells_for(int(os.environ.get("PCPINN_HEAT_NODES", "214221")))

domain = pc.Rectangle((0, 0), (1, 1)).over(0, 1)
problem = pc.Problem(
    domain,
    density=lambda x, u: u.value,
    flux=lambda x, u: CONDUCTIVITY * u.grad,
    source=lambda x, t, u: -load(x, t),
    boundary={
        **{name: pc.Dirichlet(0.0) for name in ("left", "right", "bottom", "top")},
        "initial": pc.Initial(0.0),
    },
    name="heat-spacetime",
)

settings = {
    "cells": (side, side),
    "steps": slabs,
    "time": "slabs",
    "scheme": "radau",
    "order": 3,
    "degree": 2,
    "width": 32,
    "depth": 3,
    "features": "log",
    "feature_count": 3,
    "feature_low": -2.0,
    "feature_high": 0.0,
    "iterations": 100,
    "tolerance": 8e-4,
}

_points = np.random.default_rng(0).uniform(size=(20_000, 3))
reference = pc.Reference(_points, exact(torch.from_numpy(_points)).numpy(), note="the exact solution at random points")
