"""Exact steps in the last layer: the outputs are linear in its weights, so the best ones are one least-squares problem away.

A march trains a network per window that shares all but the last layer with the window before. While the hidden layers still span
the solution, solving for the heads alone is all that a window needs; otherwise it is where Gauss-Newton starts.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .least_squares import LeastSquares

_DAMPING = 1e-11  # relative to the size of the features


@dataclass(frozen=True)
class _Group:
    """Heads whose unknowns sit at the same points: orthogonal factors of their weighted features."""

    points: Tensor  # (k,) which points
    root: Tensor  # (k,) square roots of the weights, of sum one
    Q: Tensor  # (k, width + 1)
    R: Tensor  # (width + 1, width + 1)


class HeadSolver:
    """Least squares with the features of given hidden weights; factors are kept while these do not change."""

    def __init__(self) -> None:
        self._trunk: Tensor | None = None
        self._groups: list[_Group] = []

    def step(self, loss: LeastSquares, afresh: bool = True) -> float:
        """Move the last layer to where, by P^-1 A ~ I, the residual is least; returns the residual's norm after it.

        Args:
            loss: what to reduce.
            afresh: solve for the weights, slightly damped, whatever they are; else for a change of theirs, which takes
                back what the damping cost, and is kept only if the residual falls. Changes alone, step after step, would pile up
                what the features hardly see.
        """
        network, theta = loss.network, loss.theta
        trunk = theta.detach()[: -network.head_size]
        if self._trunk is None or not torch.equal(trunk, self._trunk):
            self._trunk, self._groups = trunk.clone(), []
        before = loss.known_residual()
        wanted = -before / (loss.weights.sqrt() * loss.scale)  # ~ u_h - u_theta at the nodes
        start = theta.detach().clone()
        moved = start.clone()
        weight, bias = network.layers(moved)[-1]
        if afresh:
            with torch.no_grad():
                wanted = wanted + loss.unknowns()
                weight.zero_()
                bias.zero_()
        for head in range(network.outputs):
            rows = (loss.component_of == head).nonzero()[:, 0]
            group = self._group(loss, rows)
            right = group.Q.T @ (group.root * wanted[rows])
            best = torch.linalg.solve_triangular(group.R, right[:, None], upper=True)[:, 0] / network.output_scale
            weight[head] += best[:-1]
            bias[head] += best[-1]
        with torch.no_grad():
            theta.copy_(moved)
            after = loss.known_residual()
            if not afresh and not float(after @ after) < float(before @ before):
                theta.copy_(start)
                after = loss.known_residual()
        return float(after.norm())

    def _group(self, loss: LeastSquares, rows: Tensor) -> _Group:
        points = loss.point_of[rows]
        for group in self._groups:
            if torch.equal(group.points, points):
                return group
        weights = loss.weights[rows]
        root = (weights / weights.sum()).sqrt()
        with torch.no_grad():
            features = loss.hidden()[points]
            table = torch.cat([features, torch.ones_like(features[:, :1])], 1) * root[:, None]
            size = float(table.norm())
            eye = torch.eye(table.shape[1], dtype=table.dtype, device=table.device)
            Q, R = torch.linalg.qr(torch.cat([table, _DAMPING * size * eye]))
        group = _Group(points, root, Q[: len(points)], R)
        self._groups.append(group)
        return group
