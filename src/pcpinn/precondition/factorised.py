"""Preconditioners that keep SuperLU factors: incomplete (the paper's choice) and complete."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from ..errors import PcpinnError


@dataclass(frozen=True)
class Factors:
    """A SuperLU object and how much larger than A it is."""

    lu: spla.SuperLU
    fill: float


class _SuperLU:
    """Solves with the factors, and with their transposes."""

    def apply(self, state: Factors, r: np.ndarray) -> np.ndarray:
        """P^-1 r."""
        return state.lu.solve(np.ascontiguousarray(r, dtype=np.float64))

    def apply_transpose(self, state: Factors, r: np.ndarray) -> np.ndarray:
        """P^-T r."""
        return state.lu.solve(np.ascontiguousarray(r, dtype=np.float64), "T")

    def describe(self, state: Factors) -> dict[str, Any]:
        """Settings and fill."""
        return {**asdict(self), "fill": round(state.fill, 3)}  # type: ignore[call-overload]


@dataclass(frozen=True)
class ILU(_SuperLU):
    """Incomplete LU with threshold dropping: P = L U, entries below `drop_tolerance` of their column left out."""

    drop_tolerance: float = 1e-4
    fill_factor: float = 20.0
    name = "ilu"

    def build(self, A: sp.csr_matrix) -> Factors:
        """Factorise incompletely, with a fill-reducing ordering."""
        try:
            lu = spla.spilu(A.tocsc(), drop_tol=self.drop_tolerance, fill_factor=self.fill_factor)
        except (RuntimeError, MemoryError) as error:
            raise PcpinnError(
                f"the incomplete factorisation failed: {error}",
                f"lower drop_tolerance (now {self.drop_tolerance:g}) or raise fill_factor (now {self.fill_factor:g}); "
                "a singular matrix means a missing boundary condition",
            ) from error
        return _checked(lu, A)


@dataclass(frozen=True)
class LU(_SuperLU):
    """Complete factorisation, the exact limit P = A: training becomes regression onto the discrete solution."""

    name = "lu"

    def build(self, A: sp.csr_matrix) -> Factors:
        """Factorise completely."""
        try:
            lu = spla.splu(A.tocsc())
        except (RuntimeError, MemoryError) as error:
            raise PcpinnError(
                f"the factorisation failed: {error}",
                "if memory is short use preconditioner=ilu; a singular matrix means a missing boundary condition",
            ) from error
        return _checked(lu, A)


def _checked(lu: spla.SuperLU, A: sp.csr_matrix) -> Factors:
    probe = lu.solve(np.ones(A.shape[0]))
    if not np.isfinite(probe).all():
        raise PcpinnError(
            "the factorisation has a zero pivot", "the matrix is singular or nearly so: check the boundary conditions"
        )
    return Factors(lu, (lu.L.nnz + lu.U.nnz) / A.nnz)
