"""Least squares with the features of a last layer, for one right-hand side after the other: four ways, by what fits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import torch
from torch import Tensor

from ..errors import PcpinnError
from ..network.separated import Separated
from ..team import ALONE, Team
from .panels import Panels

DAMPING = 1e-11  # relative to the size of the features
_EXACT = 1e-14  # residual of conjugate gradients, relative to the first
_MOST = 300  # iterations of these
_ROUNDING = 1e-14  # damping of normal equations, relative to their trace
_MOST_CORRECTIONS = 4
_SMALL_CORRECTION = 1e-13
_TALL = 1  # rows of a part that is folded into a triangle, in multiples of its columns


class FeatureTable(Protocol):
    """What the last layer sees at some points, kept or made a part at a time.

    Attributes:
        rows: points whose features may be asked for at once.
    """

    rows: int

    @property
    def width(self) -> int:
        """Number of features."""

    def at(self, points: Tensor) -> Tensor:
        """(m, width) at the points with these numbers (m,)."""


class Factors(Protocol):
    """Least squares with the weighted features, and a constant, at some points."""

    points: Tensor  # (k,) which points

    def solve(self, wanted: Tensor) -> Tensor:
        """(k, heads) values -> (width + 1, heads) weights, the constant last."""

    def look_at(self, features: FeatureTable) -> None:
        """Take the same features from another table from now on, so that the old one can be forgotten."""


def orthogonal_bytes(points: float, width: int) -> float:
    """What `Orthogonal` takes while it is made: the table, with its weights, with its damping, Q, and what qr works on."""
    return 8.0 * (5 * points * (width + 1) + 4 * (width + 1) ** 2)


def seminormal_bytes(rows: int, width: int) -> float:
    """What `SemiNormal` takes while it is made, with parts of so many rows."""
    return 8.0 * (4 * max(rows, _TALL * width) + 4 * width) * (width + 1)


class Kept:
    """A table of features (n, width) that is there as a whole."""

    def __init__(self, table: Tensor) -> None:
        self._table, self.rows = table, len(table)

    @property
    def width(self) -> int:
        """Number of features."""
        return self._table.shape[1]

    def at(self, points: Tensor) -> Tensor:
        """(m, width)."""
        return self._table[points]


class Orthogonal:
    """Q R of the table; `root` (k, 1) are the square roots of the weights, whose sum is 1."""

    def __init__(
        self, features: FeatureTable, points: Tensor, weights: Tensor, damping: float = DAMPING, team: Team = ALONE
    ) -> None:
        self.points, self._team = points, team
        self.root = (weights / team.sum(weights.sum())).sqrt()[:, None]
        table = _with_constant(features.at(points)) * self.root
        eye = torch.eye(table.shape[1], dtype=table.dtype, device=table.device)
        size = float(table.norm()) if team.alone else float(team.sum((table**2).sum()).sqrt())
        if team.alone:
            Q, self._R = torch.linalg.qr(torch.cat([table, damping * size * eye]))
            self._Q = Q[: len(points)]
            return
        own, R = torch.linalg.qr(table)  # each its own rows, then all together what is left of them
        counts = _counts(R, team)
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

    def look_at(self, features: FeatureTable) -> None:
        """Q has all of them."""


class _Parts:
    """The weighted table, a part of its rows at a time."""

    def __init__(self, features: FeatureTable, points: Tensor, weights: Tensor, team: Team) -> None:
        self.points, self._team = points, team
        self._features, self._weights = features, (weights / team.sum(weights.sum()))[:, None]

    def look_at(self, features: FeatureTable) -> None:
        """Take the same features from another table."""
        self._features = features

    def _tables(self) -> Iterator[tuple[slice, Tensor]]:
        """Rows, and the features there with a constant (m, width + 1), times the roots of their weights."""
        for start in range(0, len(self.points), self._features.rows):
            rows = slice(start, start + self._features.rows)
            table = _with_constant(self._features.at(self.points[rows]))
            yield rows, table.mul_(self._weights[rows].sqrt())

    def _pulled(self, right: Tensor, x: Tensor | None = None) -> Tensor:
        """T^T W^1/2 (right - T x), (width + 1, heads), over the whole team."""
        total = right.new_zeros(self._features.width + 1, right.shape[1])
        for rows, table in self._tables():
            wanted = self._weights[rows].sqrt() * right[rows]
            total.addmm_(table.T, wanted if x is None else wanted.addmm_(table, x, alpha=-1.0))
        return self._team.sum(total)


class SemiNormal(_Parts):
    """R of Q R alone, found by folding part after part of the table into it: no condition number is squared on the way to R.

    A solve is R^T R x = T^T b with corrections of x by what is left of b. In the values that the weights stand for it is exact
    up to 1e-16 times the condition number (1e11 at most, by damping) times what the features cannot represent of b.
    """

    def __init__(
        self, features: FeatureTable, points: Tensor, weights: Tensor, damping: float = DAMPING, team: Team = ALONE
    ) -> None:
        super().__init__(features, points, weights, team)
        R, waiting, square = None, [], 0.0
        for _, table in self._tables():
            square += float((table**2).sum())
            waiting.append(table)
            if sum(map(len, waiting)) >= _TALL * table.shape[1]:
                R, waiting = _folded(R, waiting), []
        if waiting or R is None:
            R = _folded(R, waiting)
        assert R is not None
        size = team.number(square) ** 0.5
        eye = torch.eye(R.shape[1], dtype=R.dtype, device=R.device)
        self._R = _folded(team.gather(R, _counts(R, team)), [damping * size * eye])
        self._damped = (damping * size) ** 2

    def solve(self, wanted: Tensor) -> Tensor:
        """With two passes over the table, or one or two more where its features are nearly dependent."""
        x = self._inner(self._pulled(wanted))
        before = float("inf")
        for _ in range(_MOST_CORRECTIONS):
            step = self._inner(self._pulled(wanted, x) - self._damped * x)
            change = float((self._R @ step).norm())
            if not change < before:  # rounding
                break
            x, before = x + step, 0.5 * change
            if change <= _SMALL_CORRECTION * float((self._R @ x).norm()):
                break
        return x

    def _inner(self, right: Tensor) -> Tensor:
        y = torch.linalg.solve_triangular(self._R.T, right, upper=False)
        return self._team.lead(torch.linalg.solve_triangular(self._R, y, upper=True))


class Normal(_Parts):
    """The normal equations, half of their matrix: for tens of thousands of features, which should be nearly orthogonal."""

    def __init__(self, features: FeatureTable, points: Tensor, weights: Tensor, team: Team = ALONE) -> None:
        super().__init__(features, points, weights, team)
        damping, factorised = _ROUNDING, False
        while not factorised:
            H = self._gram()
            H.add_diagonal(damping * H.trace)
            factorised, damping = H.factorise(), 10 * damping
        self._H = H

    def _gram(self) -> Panels:
        H = Panels(self._features.width + 1, self._weights)
        for _, table in self._tables():
            H.add_gram(table)
        H.sum_over(self._team)
        if not H.finite:  # no damping would make it positive definite
            raise PcpinnError(
                "the features of the last hidden layer are not finite, or too large to be squared",
                "train with a smaller learning rate or more damping, or begin with another seed",
            )
        return H

    def solve(self, wanted: Tensor) -> Tensor:
        """By Cholesky's factors."""
        return self._team.lead(self._H.solve(self._pulled(wanted)))


class Iterated:
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

    def look_at(self, features: FeatureTable) -> None:
        """Its factors are those of the features at these points, whoever asks."""

    def _pushed(self, x: Tensor) -> Tensor:
        """Weights -> values at the points."""
        return self._features.product(x[:-1])[self.points] + x[-1]

    def _pulled(self, values: Tensor) -> Tensor:
        """Their transpose, with the weights of the points."""
        weighted = self._weights * values
        spread = weighted.new_zeros(self._features.shape[0], weighted.shape[1]).index_add_(0, self.points, weighted)
        return self._team.sum(torch.cat([self._features.transposed(spread), weighted.sum(0, keepdim=True)]))


def _with_constant(table: Tensor) -> Tensor:
    return torch.cat([table, torch.ones_like(table[:, :1])], 1)


def _folded(R: Tensor | None, more: list[Tensor]) -> Tensor:
    """The triangle of the rows that R stands for and of further ones."""
    triangle: Tensor = torch.linalg.qr(torch.cat(([] if R is None else [R]) + more), mode="r").R
    return triangle


def _counts(R: Tensor, team: Team) -> list[int]:
    """How many rows each member has."""
    return [len(R)] if team.alone else [round(n) for n in team.gather(R.new_tensor([len(R)]), [1] * team.size).tolist()]
