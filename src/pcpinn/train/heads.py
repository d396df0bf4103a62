"""Exact steps in the last layer: the outputs are linear in its weights, so the best ones are one least-squares problem away.

A march trains a network per window that shares all but the last layer with the window before. While the hidden layers still span
the solution, solving for the heads alone is all that a window needs; otherwise it is where Gauss-Newton starts.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..network.protocol import HeadMethods, no_layers
from ..network.separated import LARGE
from .head_factors import DAMPING, Factors, Iterated, Normal, Orthogonal, SemiNormal, orthogonal_bytes
from .least_squares import LeastSquares


class HeadSolver:
    """Least squares with the features of given hidden weights; factors are kept while these do not change.

    Args:
        damping: of orthogonal factors, relative to the size of the features.
        room: bytes that factors may take; where orthogonal ones do not fit, their triangle alone is kept.
    """

    def __init__(self, damping: float = DAMPING, room: float = math.inf) -> None:
        self._damping, self._room = damping, room
        self._trunk: Tensor | None = None
        self._groups: list[Factors] = []

    def anew(self) -> HeadSolver:
        """Another one that knows no factors yet: shared ones would differ by rounding from those of a run that was resumed."""
        return HeadSolver(self._damping, self._room)

    def step(self, loss: LeastSquares, afresh: bool = True) -> float:
        """Move the last layer to where, by P^-1 A ~ I, the residual is least; returns the residual's norm after it.

        Where that residual is not finite the weights stay as they are; infinity if it was not finite before either.

        Args:
            loss: what to reduce.
            afresh: solve for the weights, slightly damped, whatever they are; else for a change of theirs, which takes
                back what the damping cost, and is kept only if the residual falls. Changes alone, step after step, would pile up
                what the features hardly see.
        """
        network, theta = loss.network, loss.theta
        if not isinstance(network, HeadMethods):
            raise no_layers(network, "solving for the last layer")
        trunk = theta.detach()[: -network.head_size]
        if self._trunk is None or not torch.equal(trunk, self._trunk):
            self._trunk, self._groups = trunk.clone(), []
        before = loss.known_residual()
        if loss.team.any(not bool(torch.isfinite(before).all())):  # there is nothing to solve for
            return math.inf
        size_before = loss.value()
        wanted = -before / (loss.weights.sqrt() * loss.scale)  # ~ u_h - u_theta at the nodes
        start = theta.detach().clone()
        moved = start.clone()
        weight, bias = network.layers(moved)[-1]
        if afresh:
            with torch.no_grad():
                wanted = wanted + loss.unknowns()
                weight.zero_()
                bias.zero_()
        for group, heads, rows in self._grouped(loss):
            units = network.output_scale[heads] if network.output_scale.ndim else network.output_scale
            best = group.solve(wanted[rows].T) / units
            weight[heads] += best[:-1].T
            bias[heads] += best[-1]
        with torch.no_grad():
            theta.copy_(moved)
            size = loss.value()
            if not math.isfinite(size) or (not afresh and not size < size_before):
                theta.copy_(start)
        return loss.norm()

    def _grouped(self, loss: LeastSquares) -> list[tuple[Factors, list[int], Tensor]]:
        """Heads whose degrees of freedom are at the same points, with their rows (heads, k)."""
        together: list[tuple[Factors, list[int], list[Tensor]]] = []
        for head in range(loss.network.outputs):
            rows = (loss.component_of == head).nonzero()[:, 0]
            points = loss.point_of[rows]
            same = [t for t in together if not loss.team.any(not torch.equal(t[0].points, points))]
            if not same:
                same = [(self._factors(loss, rows, points), [], [])]
                together += same
            same[0][1].append(head)
            same[0][2].append(rows)
        return [(factors, heads, torch.stack(rows)) for factors, heads, rows in together]

    def _factors(self, loss: LeastSquares, rows: Tensor, points: Tensor) -> Factors:
        for known in self._groups:
            if not loss.team.any(not torch.equal(known.points, points)):
                known.look_at(loss.features())
                return known
        team, weights, features = loss.team, loss.weights[rows], loss.features()
        entries = team.number(len(points)) * features.width
        with torch.no_grad():
            if features.separated is not None:
                self._groups.append(Iterated(features.separated, points, weights, team))
            elif entries > LARGE:
                self._groups.append(Normal(features, points, weights, team))
            elif orthogonal_bytes(len(points), features.width) > self._room:
                self._groups.append(SemiNormal(features, points, weights, self._damping, team))
            else:
                self._groups.append(Orthogonal(features, points, weights, self._damping, team))
        return self._groups[-1]
