"""Normal equations of several kinds of residuals, whose Jacobians are given in blocks of columns."""

from __future__ import annotations

import torch
from torch import Tensor

_FLOOR = 1e-8  # of a block's unit, relative to that of all

Rows = list[list[tuple[Tensor, slice]]]
"""For each kind of residual its Jacobian: blocks (m, k), each with the columns where it stands."""


def gram_of(rows: Rows, p: int, device: torch.device) -> Tensor:
    """J^T J (p, p), where J is given by rows of blocks of columns."""
    H = torch.zeros(p, p, dtype=torch.float64, device=device)
    for blocks in rows:
        for a, (first, at) in enumerate(blocks):
            for second, other in blocks[a:]:
                block = first.T @ second
                H[at, other] += block
                if at != other:
                    H[other, at] += block.T
    return H


def diagonal_of(rows: Rows, p: int, device: torch.device) -> Tensor:
    """The diagonal (p,) of J^T J."""
    result = torch.zeros(p, dtype=torch.float64, device=device)
    for blocks in rows:
        for J, at in blocks:
            result[at] += (J**2).sum(0)
    return result


def pulled(rows: Rows, residual: list[Tensor], p: int) -> Tensor:
    """J^T r (p,) of such rows."""
    g = torch.zeros(p, dtype=torch.float64, device=residual[0].device)
    for blocks, r in zip(rows, residual, strict=True):
        for J, at in blocks:
            g[at] += J.T @ r
    return g


def pushed(rows: Rows, d: Tensor) -> list[Tensor]:
    """J d of such rows, for d (p,)."""
    return [sum((J @ d[at] for J, at in blocks), d.new_zeros(len(blocks[0][0]))) for blocks in rows]


def units_of(blocks: list[slice], curvature: Tensor, H: Tensor) -> Tensor:
    """(p,) units of damping: for each block of weights its mean curvature (p,), or that of H where it has none of its own."""
    unit = torch.empty_like(curvature)
    for part in blocks:
        own = curvature[part].mean()
        unit[part] = (own if own > 0 else H.diagonal()[part].mean()) + _FLOOR * curvature.mean()
    return unit
