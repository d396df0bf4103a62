"""One hidden layer whose last layer is solved for (variable projection, in Kaufman's form): what Gauss-Newton asks of it.

The best last layer for given hidden units is a linear least-squares problem, with one matrix for all outputs. So Gauss-Newton
sees the hidden layer alone, with what the last layer makes up for projected out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..train.curvature import Primal
from ..train.head_factors import Kept, Orthogonal
from ..train.model import Model

STEEPNESS = (0.5, 1.0, 2.0, 4.0, 8.0)  # factors that are tried for the hidden layer that training begins with
RIDGE = (
    1e-8  # of the last layer, relative to the features: huge coefficients that cancel leave Gauss-Newton nowhere to go
)


@dataclass(frozen=True)
class Fit:
    """The best last layer at some points, for C components with the same units.

    Attributes:
        factors: of the features at these points.
        best: (C, width + 1, T) coefficients.
        left: (C, n, T) what they leave, weighted.
        counts: what its squares count in the loss.
    """

    factors: Orthogonal
    best: Tensor
    left: Tensor
    counts: float = 1.0

    @property
    def loss(self) -> float:
        """0.5 times the squares that are left."""
        return 0.5 * self.counts * float((self.left**2).sum())


def fitted(
    phi: Tensor, points: Tensor, weights: Tensor, wanted: Tensor, counts: float = 1.0, ridge: float = RIDGE
) -> Fit:
    """The best last layer for values `wanted` (C, n, T) of units phi (m, width) at points (n,) with weights (n,)."""
    factors = Orthogonal(Kept(phi), points, weights, ridge)
    best = torch.stack([factors.solve(w) for w in wanted])
    at = torch.cat([phi[points], torch.ones_like(phi[points, :1])], 1)
    return Fit(factors, best, (wanted - at @ best) * factors.root, counts)


class _HiddenAlone:
    """A curvature of the first weights; the others do not move."""

    def __init__(self, H: Tensor) -> None:
        self._own = Primal(H, float(H.diagonal().mean()))
        self._count, self.scale = len(H), self._own.scale

    def solve(self, gradient: Tensor, damping: float) -> Tensor | None:
        found = self._own.solve(gradient[: self._count], damping)
        if found is None:
            return None
        return torch.cat([found, torch.zeros_like(gradient[self._count :])])


def hidden_model(
    layer: tuple[Tensor, Tensor], activation: Any, seen: Tensor, fit: Callable[[Tensor], Sequence[Fit]], theta: Tensor
) -> Model:
    """The model of the loss near a hidden layer, whose weights are the first of theta; its second derivative is not known.

    Args:
        layer: weight (width, d) and bias (width,).
        activation: of its units.
        seen: (m, d) what it sees.
        fit: units (m, width) -> the best last layers.
        theta: all weights.
    """
    W, c = layer
    before = nn.functional.linear(seen, W, c)
    phi, slope = activation.value(before), activation.derivative(before)
    fits = fit(phi)
    count = W.numel() + len(c)
    back, H = torch.zeros_like(phi), phi.new_zeros(count, count)
    numbers = torch.arange(len(c), device=H.device)
    unit = torch.cat([numbers.repeat_interleave(seen.shape[1]), numbers])
    for one in fits:
        points, best = one.factors.points, one.best[:, :-1]  # the constant has no weights below it
        pulled = torch.einsum("cnk,cwk->nw", one.left, best) * one.factors.root
        back.index_add_(0, points, one.counts * pulled)
        s, x = slope[points], seen[points]
        D = torch.cat([(s[:, :, None] * x[:, None, :]).flatten(1), s], 1)
        D = one.factors.beyond(D * one.factors.root)
        together = one.counts * torch.einsum("cwk,cvk->wv", best, best)
        H += (D.T @ D) * together[unit][:, unit]
    down = back * slope
    gradient = torch.zeros_like(theta)
    gradient[:count] = -torch.cat([(down.T @ seen).flatten(), down.sum(0)])
    nothing: Callable[[Tensor], Tensor] = torch.zeros_like
    return Model(sum(one.loss for one in fits), gradient, _HiddenAlone(H), nothing, 1.0)
