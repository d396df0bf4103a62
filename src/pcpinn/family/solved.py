"""The loss in coordinates (spanned.py) for a branch that solves: the equations in the span first, then what answers teach."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..network.dense import split_layers
from ..network.trunk_solve import Reduced
from .spanned import SpannedLoss


class SolvedLoss(SpannedLoss):
    """0.5 times the mean squared relative error of coordinates, over parameters of a pool; by gradients.

    Its weights are those of `Reduced`, in units of what the equations gave: they begin with these.
    """

    tolerance, rounds = 1e-4, 6
    wrong = 0.02
    captured = False  # a factorisation asks the host whether it went well

    def _first_weights(self, seed: int) -> nn.Parameter:
        made = self.span.reduced
        assert made is not None
        self._shapes = Reduced.shapes(self.family.count, self.network.branch)
        self._unit = _units(made, self.span.sizes)
        pairs = [(w / u, b / v) for (w, b), (u, v) in zip(made, self._unit, strict=True)]
        theta = torch.cat([part.flatten() for pair in pairs for part in pair])
        return nn.Parameter(theta.to(self.network.theta))

    def _reduced(self, theta: Tensor) -> Reduced:
        layers = split_layers(theta, self._shapes)
        return Reduced(*((w * u, b * v) for (w, b), (u, v) in zip(layers, self._unit, strict=True)))

    def _coordinates(self, z: Tensor) -> Tensor:
        """y of A y = f with the derivatives of an exact solve, by one factorisation that none goes through."""
        reduced = self._reduced(self._theta)
        A, f = reduced.system(z)
        factor = torch.linalg.cholesky(A.detach())
        y = torch.cholesky_solve(f.detach()[..., None], factor)
        left = f[..., None] - A @ y
        return (y + torch.cholesky_solve(left, factor))[..., 0] + reduced.rows[1]

    @torch.no_grad()
    def _publish(self) -> None:
        *own, (W, b) = self.network.layers(self.network.theta.detach())[1]
        for mine, its in zip(own, self._reduced(self._mean), strict=True):
            mine[0].copy_(its[0])
            mine[1].copy_(its[1])
        W.copy_(self._head[0])
        b.copy_(self._head[1])


def _units(made: Reduced, sizes: Tensor) -> list[tuple[Tensor, Tensor]]:
    """What a change of one is for each weight: about as much of the answer, whatever the weight is of.

    Args:
        made: what the weights begin with.
        sizes: (r,) of coordinates.
    """
    s, G = made.sizes[0], made.rows[0]
    right = made.system(torch.zeros_like(made.seen[0][0]))[0].diagonal() * sizes
    return [
        (1 / s, 1 / s[:, 0]),
        (s, torch.ones_like(s[:, 0])),
        (G.abs().mean(1, keepdim=True), sizes),
        (right[:, None], right),
    ]
