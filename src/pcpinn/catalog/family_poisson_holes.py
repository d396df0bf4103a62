"""poisson2d-c-holes: Laplace's equation on a square with four holes, whose size is a parameter."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from ..family.family import Family
from ..family.parameters import Range
from ..problem.mapped import mapped
from ..problem.problem import Problem
from .entry import FAMILIES, FamilyEntry
from .poisson2d_c import problem as of_one_size

_CENTRES = tuple((x, y) for x in (-0.3, 0.3) for y in (-0.3, 0.3))
_RADIUS, _REACH = 0.1, 0.19  # of the reference's holes, and how far from their centres places move


def _moved(X: Tensor, scale: Tensor) -> Tensor:
    """Places around each hole move away from its centre: by `scale` at its rim, not at all beyond the reach."""
    d = X - torch.tensor(_CENTRES, dtype=X.dtype, device=X.device)  # from each of them
    s = torch.relu((_REACH**2 - (d * d).sum(1)) / (_REACH**2 - _RADIUS**2))
    fade = s * s * (3 - 2 * s)
    return X + (scale - 1) * (fade[:, None] * d).sum(0)


def family() -> Family:
    """u = 1 on the square, 0 on the holes of radius 0.1 times scale."""

    def problem(scale: Tensor) -> Problem:
        return mapped(replace(of_one_size(), name="poisson2d-c-holes"), lambda X: _moved(X, scale))

    return Family(problem, scale=Range(0.7, 1.3))


FAMILIES.register(
    FamilyEntry(
        name="poisson2d-c-holes",
        title="Laplace's equation on a square with four round holes, whose radius is a parameter",
        equation="-Laplace u = 0",
        domain="[-0.5, 0.5]^2 minus four disks of radius 0.1 * scale at (+-0.3, +-0.3); scale from 0.7 to 1.3",
        conditions="u = 1 on the square, u = 0 on the disks",
        family=family(),
        fine={"size": 0.035, "degree": 4, "curvature": 5.0},
        queries={"quick": 24, "default": 100},
        presets={
            "quick": {"size": 0.08, "degree": 3, "time_limit": 20.0},
            "default": {
                "size": 0.05, "degree": 3, "curvature": 5.0, "samples": 24, "sample": 24_000, "width": 48, "depth": 4,
                "iterations": 800, "time_limit": 300.0,
            },
        },
        remark="PINNacle scales the whole domain (by 1, 2, 4, 8, 16), which changes nothing but units; here the holes change.",
        order=30,
    )
)  # fmt: skip
