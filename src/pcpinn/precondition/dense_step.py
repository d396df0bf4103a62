"""Dense inverses of the systems of a step: one product per solve, in double precision or, with corrections, in single."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..errors import PcpinnError
from .torch_sparse import add_product, csr_tensor

_EXACT = 1e-12  # relative residual that corrections of single precision go down to, or as far as double precision does
_MOST_CORRECTIONS = 5
_SPARE = 2  # matrices beside the inverses, while the last one is made: its factors, and what the library may copy


def dense_bytes(size: int, modes: Sequence[bool], single: bool = False) -> float:
    """Of the inverses of matrices of so many rows, one for each mode (whether it is complex), while the last one is made."""
    one = [size**2 * (16.0 if is_complex else 8.0) / (2 if single else 1) for is_complex in modes]
    return sum(one) + _SPARE * max(one)


def dense_precision(size: int, modes: Sequence[bool], room: float) -> torch.dtype | None:
    """float64 or float32, whichever fits into so many bytes; None for neither."""
    for dtype, single in ((torch.float64, False), (torch.float32, True)):
        if dense_bytes(size, modes, single) <= room:
            return dtype
    return None


class DenseSolver:
    """The inverse of A, or of the product of its incomplete factors, as a dense matrix.

    In single precision a solve is corrected by what it leaves of the right-hand side, until it is as exact as one in double
    precision: the same bytes are read, and half of them are kept.

    Args:
        A: (n, n).
        device: of the inverse.
        fill: of the factors whose product A is; 0 for A itself.
        precision: float64 or float32.

    Attributes:
        exact: whether corrections of single precision lead to what double precision would give.

    Raises:
        PcpinnError: when A is singular.
    """

    def __init__(
        self, A: sp.spmatrix, device: torch.device, fill: float = 0.0, precision: torch.dtype = torch.float64
    ) -> None:
        single = precision == torch.float32
        self.kind = ("dense inverse of the factors" if fill else "dense inverses") + (" in float32" if single else "")
        self.fill, self.exact, self._corrections = fill, True, 0
        is_complex = np.iscomplexobj(A.data)
        self._dtype = torch.complex128 if is_complex else torch.float64
        stored = {(False, False): torch.float64, (True, False): torch.complex128}.get(
            (is_complex, single), torch.complex64 if is_complex else torch.float32
        )
        A = sp.csr_matrix(A)
        scale = np.abs(A).max(axis=1).toarray().ravel()  # rows of very different sizes would cost digits
        scale = np.where(scale > 0, scale, 1.0)
        self._scale = torch.from_numpy(1 / scale).to(device)
        self._inverse = _inverse(sp.diags(1 / scale) @ A, stored, device)
        if single:
            self._A = csr_tensor(A, self._dtype, device)
            self._At = csr_tensor(sp.csr_matrix(A.T), self._dtype, device)
            self.exact, self._corrections = self._needed(A.shape[0], device)

    def solve(self, r: Tensor, transpose: bool) -> Tensor:
        """(n,) or (n, k) -> the same."""
        r = r.to(self._dtype)
        x = self._once(r, transpose)
        for _ in range(self._corrections):
            x = x + self._once(self._left(r, x, transpose), transpose)
        return x

    def _once(self, r: Tensor, transpose: bool) -> Tensor:
        scale = self._scale if r.dim() == 1 else self._scale[:, None]
        if transpose:
            return (self._inverse.T @ r.to(self._inverse.dtype)).to(self._dtype) * scale
        return (self._inverse @ (scale * r).to(self._inverse.dtype)).to(self._dtype)

    def _left(self, r: Tensor, x: Tensor, transpose: bool) -> Tensor:
        return add_product(r, self._At if transpose else self._A, -x)

    def _needed(self, n: int, device: torch.device) -> tuple[bool, int]:
        """Whether corrections of the answer to noise converge, and how many it takes until rounding in double ends them."""
        generator = torch.Generator().manual_seed(0)
        r = torch.randn(n, generator=generator, dtype=torch.float64).to(device, self._dtype)
        x = self._once(r, False)
        size, before = float(x.norm()), math.inf
        for k in range(_MOST_CORRECTIONS):
            step = self._once(self._left(r, x, False), False)
            change = float(step.norm()) / size
            if change <= _EXACT or (k > 1 and change > 0.5 * before and change < math.sqrt(_EXACT)):
                return True, k
            if not change < 0.5 * before:
                break
            x, before = x + step, change
        return False, _MOST_CORRECTIONS


def _inverse(A: sp.spmatrix, dtype: torch.dtype, device: torch.device) -> Tensor:
    """A^-1, factorised in place: the factors and the inverse are all that there is at a time."""
    A = A.tocoo()
    n = A.shape[0]
    dense = torch.zeros(n, n, dtype=dtype, device=device).T  # columns one after the other, as LAPACK has them
    at = torch.from_numpy(np.stack([A.row, A.col]).astype(np.int64)).to(device)
    dense[at[0], at[1]] = torch.from_numpy(A.data).to(device, dtype)
    pivots, info = (torch.empty(0, dtype=torch.int32, device=device) for _ in range(2))
    torch.linalg.lu_factor_ex(dense, out=(dense, pivots, info))
    result = torch.zeros(n, n, dtype=dtype, device=device).T
    result.diagonal().fill_(1.0)
    if int(info) == 0:
        torch.linalg.lu_solve(dense, pivots, result, out=result)
    if int(info) or not bool(torch.isfinite(result.sum())):  # a sum needs no second matrix
        raise PcpinnError(
            "the matrix of a step cannot be inverted: it is singular",
            "check the boundary conditions; take shorter steps",
        )
    return result
