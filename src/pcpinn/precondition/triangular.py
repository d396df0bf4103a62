"""Triangular solves without a sequential loop over rows: Jacobi sweeps, or dense blocks along the diagonal."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from .torch_sparse import add_product, csr_tensor, scale_rows

_GROWTH = 1e8  # sweeps that grow by this much on the way lose too many digits


class Sweeps:
    """T^-1 by y <- D^-1 (r - N y), T = D + N: products with a sparse matrix only.

    N is nilpotent, so this ends at the exact solution after at most N sweeps; far fewer do where the matrix decays away
    from the diagonal, as for diffusion. The transpose has its own matrix and its own count.
    """

    def __init__(self, T: sp.csr_matrix, dtype: torch.dtype, device: torch.device | str) -> None:
        diagonal = T.diagonal()
        off = T - sp.diags_array(diagonal)
        inverse = sp.diags_array(1.0 / diagonal)
        self._inverse = torch.from_numpy(1.0 / diagonal).to(device, dtype)
        self._minus = csr_tensor(sp.csr_matrix(-(inverse @ off)), dtype, device)
        self._minus_transposed = csr_tensor(sp.csr_matrix(-(inverse @ off.T)), dtype, device)
        self.entries = T.nnz
        self.count = self.count_transposed = 0

    def solve(self, r: Tensor, transpose: bool = False) -> Tensor:
        """T^-1 r or T^-T r for r (N,) or (N, k)."""
        M, count = (self._minus_transposed, self.count_transposed) if transpose else (self._minus, self.count)
        start = scale_rows(self._inverse, r)
        y = start
        for _ in range(count):
            y = add_product(start, M, y)
        return y

    def set_count(self, r: Tensor, transpose: bool, tolerance: float, cap: int) -> bool:
        """Take as many sweeps as it needs until one changes the columns of r (N, k) by no more than `tolerance`.

        Returns:
            False if it diverges or needs more than `cap`.
        """
        M = self._minus_transposed if transpose else self._minus
        start = scale_rows(self._inverse, r)
        y, size = start, start.norm(dim=0).clamp(min=1e-300)
        for count in range(1, cap + 1):
            new = add_product(start, M, y)
            change = float(((new - y).norm(dim=0) / new.norm(dim=0).clamp(min=1e-300)).max())
            growth = float((new.norm(dim=0) / size).max())
            y = new
            if not (np.isfinite(change) and growth < _GROWTH):
                return False
            if change <= tolerance:
                if transpose:
                    self.count_transposed = count
                else:
                    self.count = count
                return True
        return False


class Blocks:
    """T^-1 by substitution over blocks of rows: y_i <- T_ii^-1 (r_i - sum over the solved blocks T_ij y_j).

    The inverses of the diagonal blocks are dense (N * block numbers); the rest stays sparse. It is exact, takes N / block
    steps of two products each, and is fast for many columns.
    """

    def __init__(
        self, T: sp.csr_matrix, lower: bool, block: int, dtype: torch.dtype, device: torch.device | str
    ) -> None:
        n = T.shape[0]
        self.entries, self.block = T.nnz, block
        self._bounds = [(s, min(s + block, n)) for s in range(0, n, block)]
        self._inverses = [_inverse(T[s:e, s:e], lower, dtype, device) for s, e in self._bounds]
        self._lower = lower
        self._off = [_beside(T, s, e, lower, dtype, device) for s, e in self._bounds]
        Tt = sp.csr_matrix(T.T)
        self._off_transposed = [_beside(Tt, s, e, not lower, dtype, device) for s, e in self._bounds]

    def solve(self, r: Tensor, transpose: bool = False) -> Tensor:
        """T^-1 r or T^-T r for r (N,) or (N, k)."""
        off = self._off_transposed if transpose else self._off
        downward = self._lower != transpose
        y = torch.empty_like(r, memory_format=torch.contiguous_format)
        order = range(len(self._bounds)) if downward else range(len(self._bounds) - 1, -1, -1)
        for i in order:
            s, e = self._bounds[i]
            part, beside = r[s:e], off[i]
            if beside is not None:
                part = add_product(part, beside, y[:s] if downward else y[e:])
            inverse = self._inverses[i]
            y[s:e] = (inverse.T if transpose else inverse) @ part
        return y


def _inverse(T: sp.csr_matrix, lower: bool, dtype: torch.dtype, device: torch.device | str) -> Tensor:
    """The inverse of a diagonal block, found in double precision: (m, m)."""
    dense = torch.from_numpy(T.toarray()).to(device)
    identity = torch.eye(len(dense), dtype=torch.float64, device=device)
    return torch.linalg.solve_triangular(dense, identity, upper=not lower).to(dtype)


def _beside(
    T: sp.csr_matrix, s: int, e: int, left: bool, dtype: torch.dtype, device: torch.device | str
) -> Tensor | None:
    """Minus the rows s:e to the left or to the right of the diagonal block; None if there is nothing."""
    part = T[s:e, :s] if left else T[s:e, e:]
    return csr_tensor(-part, dtype, device) if part.nnz else None
