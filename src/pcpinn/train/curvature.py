"""Solves with the damped Gauss-Newton matrix (J^T J + damping I), in the form that is cheapest for its shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import torch
from scipy.linalg import blas
from torch import Tensor

from ..team import Team

_BLOCK = 2048  # columns; products of this size keep a GPU busy


class Curvature(Protocol):
    """J^T J of some weighted rows J (m, p)."""

    @property
    def scale(self) -> float | Tensor:
        """The unit of damping: the mean diagonal entry, or one for each weight (p,) where these have different units."""

    def solve(self, gradient: Tensor, damping: float) -> Tensor | None:
        """(J^T J + damping * scale)^-1 gradient, or None where rounding makes the matrix indefinite."""


class Primal:
    """The matrix H = J^T J itself, (p, p): for more rows than weights."""

    def __init__(self, H: Tensor, scale: float | Tensor) -> None:
        self.scale = scale
        self._damped = _Damped(H, scale)

    @classmethod
    def of_parts(cls, parts: Iterable[Tensor]) -> Primal:
        """For rows J (m, p), given a part at a time."""
        H = gram_of_parts(parts)
        return cls(H, float(H.diagonal().mean()))

    def solve(self, gradient: Tensor, damping: float) -> Tensor | None:
        """By Cholesky."""
        return self._damped.solve(gradient, damping)


class Dual:
    """The matrix J J^T, (m, m): for fewer rows than weights."""

    def __init__(self, J: Tensor) -> None:
        self._J = J
        K = gram(J.T).to(torch.float64)
        self.scale = float(K.diagonal().sum()) / J.shape[1]
        self._damped = _Damped(K, self.scale)

    def solve(self, gradient: Tensor, damping: float) -> Tensor | None:
        """(J^T J + d)^-1 g = (g - J^T (J J^T + d)^-1 J g) / d with d = damping * scale."""
        inner = self._damped.solve((self._J @ gradient.to(self._J.dtype)).to(gradient.dtype), damping)
        if inner is None:
            return None
        return (gradient - (self._J.T @ inner.to(self._J.dtype)).to(gradient.dtype)) / (damping * self.scale)


def of_rows(J: Tensor) -> Primal | Dual:
    """For rows J (m, p), whichever matrix is smaller."""
    return Primal.of_parts([J]) if len(J) > J.shape[1] else Dual(J)


class SharedPrimal:
    """`Primal` of rows that a team holds together.

    Each member adds up its own rows; the first one solves and tells the others, so that all go on from the same bits.
    """

    def __init__(self, parts: Iterable[Tensor], team: Team) -> None:
        self._team = team
        H = team.sum(gram_of_parts(J.to(torch.float64) for J in parts))
        self._own = Primal(H, float(H.diagonal().mean()))
        self.scale = self._own.scale

    def solve(self, gradient: Tensor, damping: float) -> Tensor | None:
        """By Cholesky."""
        if self._team.alone:
            return self._own.solve(gradient, damping)
        found = self._own.solve(gradient, damping) if self._team.first else None
        answer = torch.full_like(gradient, torch.nan) if found is None else found
        answer = self._team.lead(answer)
        return None if bool(torch.isnan(answer).any()) else answer


def gram_of_parts(parts: Iterable[Tensor]) -> Tensor:
    """J^T J (p, p) in double precision, of rows J (m, p) that come a part at a time; there is at least one."""
    total: Tensor | None = None
    for J in parts:
        H = gram(J).to(torch.float64)
        total = H if total is None else total.add_(H)
    assert total is not None
    return total


class MatrixFree:
    """Products with J and J^T only: for networks whose (p, p) matrix would not fit."""

    def __init__(
        self, product: Callable[[Tensor], Tensor], scale: float, steps: int = 50, tolerance: float = 1e-2
    ) -> None:
        self._product, self.scale, self._steps, self._tolerance = product, scale, steps, tolerance

    def solve(self, gradient: Tensor, damping: float) -> Tensor | None:
        """By conjugate gradients, to a loose relative tolerance: the step is a guess anyway."""
        damping = damping * self.scale
        x = torch.zeros_like(gradient)
        r, p = gradient.clone(), gradient.clone()
        rr = r @ r
        target = self._tolerance**2 * rr
        for _ in range(self._steps):
            Ap = self._product(p) + damping * p
            alpha = rr / (p @ Ap)
            x += alpha * p
            r -= alpha * Ap
            new = r @ r
            if not torch.isfinite(new):
                return None
            if new <= target:
                break
            p = r + (new / rr) * p
            rr = new
        return x


def gram(J: Tensor) -> Tensor:
    """J^T J, (p, p); on a CPU by a symmetric rank-k update, which does half the work of a product, elsewhere by blocks."""
    if J.device.type != "cpu":
        return gram_by_blocks(J) if J.shape[1] > _BLOCK else J.T @ J
    syrk = blas.ssyrk if J.dtype == torch.float32 else blas.dsyrk
    columns = J.T.numpy() if J.is_contiguous() else J.T.contiguous().numpy()  # (p, m), Fortran order if J is contiguous
    upper = torch.from_numpy(syrk(1.0, columns))  # only one triangle is filled
    return upper + upper.T - torch.diag(upper.diagonal())


def gram_by_blocks(J: Tensor, block: int = _BLOCK) -> Tensor:
    """The same by products of blocks of columns: those below the diagonal are copies of those above it."""
    p = J.shape[1]
    H = J.new_empty(p, p)
    for i in range(0, p, block):
        own = J[:, i : i + block].T
        for j in range(i, p, block):
            part = own @ J[:, j : j + block]
            H[i : i + block, j : j + block] = part
            if j > i:
                H[j : j + block, i : i + block] = part.T
    return H


class _Damped:
    """Cholesky factors of H + damping * scale; the last ones are kept, since a step solves with them twice."""

    def __init__(self, H: Tensor, scale: float | Tensor) -> None:
        self._H, self._scale = H, scale
        self._last: tuple[float, Tensor | None] = (float("nan"), None)

    def solve(self, right: Tensor, damping: float) -> Tensor | None:
        """(H + damping * scale)^-1 right, or None where the matrix is not positive definite."""
        if self._last[0] != damping:
            damped = self._H.clone()
            damped.diagonal().add_(damping * self._scale)
            factor, info = torch.linalg.cholesky_ex(damped)
            self._last = (damping, factor if int(info) == 0 else None)
        if self._last[1] is None:
            return None
        x = torch.cholesky_solve(right.to(self._H.dtype)[:, None], self._last[1])[:, 0].to(right.dtype)
        return x if bool(torch.isfinite(x).all()) else None
