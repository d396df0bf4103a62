"""Preconditioners that only rescale: Jacobi, row balancing, none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..errors import PcpinnError
from .recipe import PRECONDITIONERS, Assembled
from .torch_sparse import scale_rows


class DiagonalSolver:
    """P^-1 = diag(inverse) on a device."""

    def __init__(self, inverse: Tensor) -> None:
        self._inverse = inverse

    def apply(self, r: Tensor) -> Tensor:
        """P^-1 r for r (N,) or (N, k)."""
        return scale_rows(self._inverse, r)

    def apply_transpose(self, r: Tensor) -> Tensor:
        """P^-T r: the same."""
        return self.apply(r)

    def describe(self) -> dict[str, Any]:
        """No facts."""
        return {}


class _Diagonal:
    """P = diag(state)."""

    prefers_torch = False
    near_identity: ClassVar[bool] = False

    def apply(self, state: np.ndarray, r: np.ndarray) -> np.ndarray:
        """P^-1 r."""
        return (r.T / state).T

    def apply_transpose(self, state: np.ndarray, r: np.ndarray) -> np.ndarray:
        """P^-T r: the same."""
        return self.apply(state, r)

    def on_device(
        self, state: np.ndarray, dtype: torch.dtype, device: torch.device | str, columns: int = 1
    ) -> DiagonalSolver:
        """The inverse diagonal as a tensor."""
        return DiagonalSolver(torch.from_numpy(1.0 / state).to(device, dtype))

    def describe(self, state: np.ndarray) -> dict[str, Any]:
        """No settings."""
        return {}


@PRECONDITIONERS.register
@dataclass(frozen=True)
class Jacobi(_Diagonal, Assembled):
    """P = diag(A)."""

    name: ClassVar[str] = "jacobi"

    def build(self, A: sp.csr_matrix) -> np.ndarray:
        """The diagonal; it must not vanish."""
        diagonal = A.diagonal()
        if (diagonal == 0).any():
            raise PcpinnError(
                f"Jacobi needs a diagonal without zeros, and {int((diagonal == 0).sum())} of {len(diagonal)} entries vanish",
                "use preconditioner=row-balancing or ilu (flow problems and waves have such rows)",
            )
        return diagonal


@PRECONDITIONERS.register
@dataclass(frozen=True)
class RowBalancing(_Diagonal, Assembled):
    """P = diag of the Euclidean norms of the rows of A."""

    name: ClassVar[str] = "row-balancing"

    def build(self, A: sp.csr_matrix) -> np.ndarray:
        """Row norms."""
        norms = np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel())
        if (norms == 0).any():
            raise PcpinnError(
                "a row of the matrix is empty", "a degree of freedom appears in no equation: check flux and conditions"
            )
        return norms


@PRECONDITIONERS.register
@dataclass(frozen=True)
class Identity(_Diagonal, Assembled):
    """P = I: the discretised residual as it is."""

    name: ClassVar[str] = "none"

    def build(self, A: sp.csr_matrix) -> np.ndarray:
        """Ones."""
        return np.ones(A.shape[0])
