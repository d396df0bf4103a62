"""Exact steps in the last layer: the outputs are linear in its weights, so the best ones are one least-squares problem away.

A march trains a network per window that shares all but the last layer with the window before. While the hidden layers still span
the solution, solving for the heads alone is all that a window needs; otherwise it is where Gauss-Newton starts.
"""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor

from ..errors import PcpinnError
from ..network.protocol import HeadMethods, no_layers
from ..network.separated import LARGE, Separated
from ..team import ALONE, Team
from .least_squares import LeastSquares

_DAMPING = 1e-11  # relative to the size of the features
_EXACT = 1e-14  # residual of conjugate gradients, relative to the first
_MOST = 300  # iterations of these
_ROUNDING = 1e-14  # damping of normal equations, relative to their trace
_ROWS = 16_384  # of a product with a large table, at a time


class _Factors(Protocol):
    """Least squares with the weighted features, and a constant, at some points."""

    points: Tensor  # (k,) which points

    def solve(self, wanted: Tensor) -> Tensor:
        """(k, heads) values -> (width + 1, heads) weights, the constant last."""


class Orthogonal:
    """Q R of the table; `root` (k, 1) are the square roots of the weights, whose sum is 1."""

    def __init__(
        self, features: Tensor, points: Tensor, weights: Tensor, damping: float = _DAMPING, team: Team = ALONE
    ) -> None:
        self.points, self._team = points, team
        self.root = (weights / team.sum(weights.sum())).sqrt()[:, None]
        table = torch.cat([features[points], torch.ones_like(features[points, :1])], 1) * self.root
        eye = torch.eye(table.shape[1], dtype=table.dtype, device=table.device)
        size = float(table.norm()) if team.alone else float(team.sum((table**2).sum()).sqrt())
        if team.alone:
            Q, self._R = torch.linalg.qr(torch.cat([table, damping * size * eye]))
            self._Q = Q[: len(points)]
            return
        own, R = torch.linalg.qr(table)  # each its own rows, then all together what is left of them
        counts = [round(n) for n in team.gather(R.new_tensor([len(R)]), [1] * team.size).tolist()]
        Q, self._R = torch.linalg.qr(torch.cat([team.gather(R, counts), damping * size * eye]))
        start = sum(counts[: team.rank])
        self._Q = own @ Q[start : start + len(R)]

    def solve(self, wanted: Tensor) -> Tensor:
        """By one product and one triangular solve."""
        right = self._team.sum(self._Q.T @ (self.root * wanted))
        return self._team.lead(torch.linalg.solve_triangular(self._R, right, upper=True))

    def beyond(self, rows: Tensor) -> Tensor:
        """What weighted values (k, m) have outside of the span of the weighted features."""
        return rows - self._Q @ self._team.sum(self._Q.T @ rows)


class _Normal:
    """The normal equations, with no copy of the table: for tens of thousands of features, which should be nearly orthogonal."""

    def __init__(self, features: Tensor, points: Tensor, weights: Tensor, team: Team = ALONE) -> None:
        self.points, self._team = points, team
        self._features, self._weights = features, (weights / team.sum(weights.sum()))[:, None]
        width = features.shape[1]
        H = features.new_zeros(width + 1, width + 1)
        for rows in self._parts():
            part, w = features[points[rows]], self._weights[rows]
            weighted = part * w.sqrt()
            H[:width, :width].addmm_(weighted.T, weighted)
            H[width, :width] += (part * w).sum(0)
        H = team.sum(H)
        H[:width, width] = H[width, :width]
        H[width, width] = 1.0
        if not torch.isfinite(H).all():  # no damping would make it positive definite
            raise PcpinnError(
                "the features of the last hidden layer are not finite, or too large to be squared",
                "train with a smaller learning rate or more damping, or begin with another seed",
            )
        damping, failed = _ROUNDING * float(H.trace()), True
        while failed:
            H.diagonal().add_(damping)
            self._L, info = torch.linalg.cholesky_ex(H)
            failed, damping = bool(info), 10 * damping

    def _parts(self) -> list[slice]:
        return [slice(k, k + _ROWS) for k in range(0, len(self.points), _ROWS)]

    def solve(self, wanted: Tensor) -> Tensor:
        """By Cholesky's factors."""
        weighted = self._weights * wanted
        right = self._features.new_zeros(self._features.shape[1], wanted.shape[1])
        for rows in self._parts():
            right += self._features[self.points[rows]].T @ weighted[rows]
        right = self._team.sum(torch.cat([right, weighted.sum(0, keepdim=True)]))
        return self._team.lead(torch.cholesky_solve(right, self._L))


class _Iterated:
    """Conjugate gradients on the normal equations, with a table that is never stored; its features are nearly orthogonal."""

    def __init__(self, features: Separated, points: Tensor, weights: Tensor, team: Team = ALONE) -> None:
        self.points, self._team, self._features = points, team, features
        self._weights = (weights / team.sum(weights.sum()))[:, None]
        squares = features.squares
        self._diagonal = torch.cat([squares, squares.new_ones(1)])[:, None]

    def solve(self, wanted: Tensor) -> Tensor:
        """Until the residual is that of rounding, or the iterations are over; each column by itself."""
        right = self._pulled(wanted)
        x, r = torch.zeros_like(right), right
        z = r / self._diagonal
        p, rz = z, (r * z).sum(0)
        enough = _EXACT**2 * rz
        for _ in range(_MOST):
            if bool((rz <= enough).all()):
                break
            Ap = self._pulled(self._pushed(p))
            step = rz / (p * Ap).sum(0).clamp(min=1e-300)
            x, r = x + step * p, r - step * Ap
            z = r / self._diagonal
            new = (r * z).sum(0)
            p, rz = z + new / rz.clamp(min=1e-300) * p, new
        return self._team.lead(x)

    def _pushed(self, x: Tensor) -> Tensor:
        """Weights -> values at the points."""
        return self._features.product(x[:-1])[self.points] + x[-1]

    def _pulled(self, values: Tensor) -> Tensor:
        """Their transpose, with the weights of the points."""
        weighted = self._weights * values
        spread = weighted.new_zeros(self._features.shape[0], weighted.shape[1]).index_add_(0, self.points, weighted)
        return self._team.sum(torch.cat([self._features.transposed(spread), weighted.sum(0, keepdim=True)]))


class HeadSolver:
    """Least squares with the features of given hidden weights; factors are kept while these do not change.

    Args:
        damping: of orthogonal factors, relative to the size of the features.
    """

    def __init__(self, damping: float = _DAMPING) -> None:
        self._damping = damping
        self._trunk: Tensor | None = None
        self._groups: list[_Factors] = []

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

    def _grouped(self, loss: LeastSquares) -> list[tuple[_Factors, list[int], Tensor]]:
        """Heads whose degrees of freedom are at the same points, with their rows (heads, k)."""
        together: list[tuple[_Factors, list[int], list[Tensor]]] = []
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

    def _factors(self, loss: LeastSquares, rows: Tensor, points: Tensor) -> _Factors:
        for known in self._groups:
            if not loss.team.any(not torch.equal(known.points, points)):
                return known
        with torch.no_grad():
            features = loss.features()
            team, weights = loss.team, loss.weights[rows]
            if isinstance(features, Separated):
                self._groups.append(_Iterated(features, points, weights, team))
            elif team.number(len(points)) * features.shape[1] > LARGE:
                self._groups.append(_Normal(features, points, weights, team))
            else:
                self._groups.append(Orthogonal(features, points, weights, self._damping, team))
        return self._groups[-1]
