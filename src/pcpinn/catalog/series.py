"""Sine and cosine series on the unit square, as coefficients and sources of families."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def cosine_waves(count: int) -> list[tuple[int, int]]:
    """The `count` lowest pairs of wave numbers but (0, 0), by i^2 + j^2, larger i first."""
    pairs = [(i, j) for i in range(count + 1) for j in range(count + 1) if (i, j) != (0, 0)]
    return sorted(pairs, key=lambda p: (p[0] ** 2 + p[1] ** 2, -p[0]))[:count]


def cosines(x: Tensor, count: int) -> Tensor:
    """cos(i pi x) cos(j pi y) of the lowest waves: (count,)."""
    i, j = (torch.tensor(k, dtype=x.dtype, device=x.device) for k in zip(*cosine_waves(count), strict=True))
    return torch.cos(math.pi * i * x[0]) * torch.cos(math.pi * j * x[1])


def sines(x: Tensor, per_axis: int, power: float) -> Tensor:
    """(i^2 + j^2)^power sin(i pi x) sin(j pi y) for i, j = 1 ... per_axis, j running fastest: (per_axis^2,)."""
    k = torch.arange(1, per_axis + 1, dtype=x.dtype, device=x.device)
    size = (k[:, None] ** 2 + k[None, :] ** 2) ** power
    return (size * torch.sin(math.pi * k * x[0])[:, None] * torch.sin(math.pi * k * x[1])[None, :]).reshape(-1)
