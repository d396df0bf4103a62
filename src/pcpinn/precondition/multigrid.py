"""Multigrid cycles as torch operations: products with sparse matrices, and one small dense product at the bottom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from .chebyshev import chebyshev
from .torch_sparse import add_product, csr_tensor, scale_rows


@dataclass(frozen=True)
class Level:
    """One level but the coarsest.

    Attributes:
        A: (n, n) symmetric.
        P: (n, m) from the next coarser level.
        bounds: eigenvalues of diag(A)^-1 A that the smoother damps.
    """

    A: sp.csr_matrix
    P: sp.csr_matrix
    bounds: tuple[float, float]


@dataclass(frozen=True)
class Hierarchy:
    """All levels, with the inverse of the coarsest matrix (m, m)."""

    levels: tuple[Level, ...]
    coarse: np.ndarray


class Cycle:
    """One V-cycle, a symmetric operation B ~ A^-1: Chebyshev smoothing before and after the coarse correction."""

    def __init__(
        self, hierarchy: Hierarchy, smoother_steps: int, dtype: torch.dtype, device: torch.device | str
    ) -> None:
        self._steps, self._bounds = smoother_steps, [level.bounds for level in hierarchy.levels]
        self._A = [csr_tensor(level.A, dtype, device) for level in hierarchy.levels]
        self._P = [csr_tensor(level.P, dtype, device) for level in hierarchy.levels]
        self._R = [csr_tensor(sp.csr_matrix(level.P.T), dtype, device) for level in hierarchy.levels]
        self._inverse = [torch.from_numpy(1 / level.A.diagonal()).to(device, dtype) for level in hierarchy.levels]
        self._coarse = torch.from_numpy(hierarchy.coarse).to(device, dtype)

    def __call__(self, b: Tensor, k: int = 0) -> Tensor:
        """B b for b (N,) or (N, columns), from level k down."""
        if k == len(self._A):
            return self._coarse @ b
        A, d = self._A[k], self._inverse[k]

        def multiply(v: Tensor) -> Tensor:
            return A @ v

        def jacobi(r: Tensor) -> Tensor:
            return scale_rows(d, r)

        x = chebyshev(multiply, jacobi, b, None, self._bounds[k], self._steps)
        x = add_product(x, self._P[k], self(self._R[k] @ (b - A @ x), k + 1))
        return chebyshev(multiply, jacobi, b, x, self._bounds[k], self._steps)

    def multiply(self, v: Tensor) -> Tensor:
        """A v on the finest level, of at least two."""
        return self._A[0] @ v


class MultigridSolver:
    """Several V-cycles, combined by Chebyshev's polynomial for the eigenvalues of B A that were measured.

    Degrees of freedom come in three kinds: `heads` with a row of nothing but a diagonal entry (Dirichlet), `tails` with such a
    column (periodic copies), and the free ones between them. P is block lower triangular in that order: exact for heads
    and tails, multigrid for the free ones.
    """

    def __init__(
        self,
        A: sp.csr_matrix,
        kinds: tuple[np.ndarray, np.ndarray, np.ndarray],
        hierarchy: Hierarchy,
        bounds: tuple[float, float],
        cycles: int,
        smoother_steps: int,
        dtype: torch.dtype,
        device: torch.device | str,
    ) -> None:
        heads, free, tails = kinds
        self._kinds = [torch.from_numpy(k).to(device) for k in kinds]
        diagonal = A.diagonal()
        self._head_inverse = torch.from_numpy(1 / diagonal[heads]).to(device, dtype)
        self._tail_inverse = torch.from_numpy(1 / diagonal[tails]).to(device, dtype)
        self._couplings = {
            name: _minus(A[rows][:, columns], dtype, device)
            for name, rows, columns in (("fh", free, heads), ("th", tails, heads), ("tf", tails, free))
        }
        self._cycle = Cycle(hierarchy, smoother_steps, dtype, device)
        self._exact = not hierarchy.levels
        self._bounds, self._cycles = bounds, cycles

    def apply(self, r: Tensor) -> Tensor:
        """P^-1 r for r (N,) or (N, k)."""
        h, f, t = self._kinds
        x = torch.empty_like(r)
        xh = scale_rows(self._head_inverse, r[h])
        xf = self._solve(self._add(r[f], "fh", xh))
        x[h], x[f] = xh, xf
        x[t] = scale_rows(self._tail_inverse, self._add(self._add(r[t], "tf", xf), "th", xh))
        return x

    def apply_transpose(self, r: Tensor) -> Tensor:
        """P^-T r for r (N,) or (N, k); the multigrid part is symmetric."""
        h, f, t = self._kinds
        y = torch.empty_like(r)
        yt = scale_rows(self._tail_inverse, r[t])
        yf = self._solve(self._add(r[f], "tf", yt, transpose=True))
        y[t], y[f] = yt, yf
        y[h] = scale_rows(
            self._head_inverse, self._add(self._add(r[h], "fh", yf, transpose=True), "th", yt, transpose=True)
        )
        return y

    def describe(self) -> dict[str, Any]:
        """Nothing that `AMG` does not say."""
        return {}

    def _solve(self, b: Tensor) -> Tensor:
        if self._exact:
            return self._cycle(b)
        return chebyshev(self._cycle.multiply, self._cycle, b, None, self._bounds, self._cycles)

    def _add(self, r: Tensor, name: str, x: Tensor, transpose: bool = False) -> Tensor:
        pair = self._couplings[name]
        return r if pair is None else add_product(r, pair[transpose], x)


def _minus(M: sp.csr_matrix, dtype: torch.dtype, device: torch.device | str) -> tuple[Tensor, Tensor] | None:
    """Minus a coupling and minus its transpose, or None if there is none."""
    return (csr_tensor(-M, dtype, device), csr_tensor(-sp.csr_matrix(M.T), dtype, device)) if M.nnz else None
