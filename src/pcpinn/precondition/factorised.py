"""Preconditioners that keep SuperLU factors: incomplete (the paper's choice) and complete."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
import torch

from ..errors import PcpinnError
from .device_factors import FactorSolver


@dataclass(frozen=True)
class Factors:
    """A SuperLU object and how much larger than A it is."""

    lu: spla.SuperLU
    fill: float


class _SuperLU:
    """Solves with the factors, and with their transposes."""

    prefers_torch = False
    sweep_tolerance: float

    def apply(self, state: Factors, r: np.ndarray) -> np.ndarray:
        """P^-1 r."""
        return state.lu.solve(np.ascontiguousarray(r, dtype=np.float64))

    def apply_transpose(self, state: Factors, r: np.ndarray) -> np.ndarray:
        """P^-T r."""
        return state.lu.solve(np.ascontiguousarray(r, dtype=np.float64), "T")

    def on_device(
        self, state: Factors, dtype: torch.dtype, device: torch.device | str, columns: int = 1
    ) -> FactorSolver:
        """The same factors for tensors on a device."""
        return FactorSolver(state.lu, dtype, device, self.sweep_tolerance, columns)

    def describe(self, state: Factors) -> dict[str, Any]:
        """Settings and fill."""
        settings = asdict(self)  # type: ignore[call-overload]
        del settings["sweep_tolerance"]  # the device solver says what it came to
        if settings.get("ordering") == "COLAMD":
            del settings["ordering"]
        return {**settings, "fill": round(state.fill, 3)}


@dataclass(frozen=True)
class ILU(_SuperLU):
    """Incomplete LU with threshold dropping: P = L U, entries below `drop_tolerance` of their column left out.

    Attributes:
        drop_tolerance: relative size below which an entry is left out.
        fill_factor: most entries of L and U together, in multiples of those of A. As soon as it binds, larger entries are
            left out too and P is far worse than the drop tolerance promises.
        sweep_tolerance: relative error that triangular solves on a device may have.
        ordering: SuperLU's order of elimination. MMD_AT_PLUS_A is faster and smaller for diffusion, COLAMD for waves.
    """

    drop_tolerance: float = 1e-4
    fill_factor: float = 20.0
    sweep_tolerance: float = 1e-6
    ordering: str = "COLAMD"
    name = "ilu"

    def build(self, A: sp.csr_matrix) -> Factors:
        """Factorise incompletely, with a fill-reducing ordering."""
        try:
            lu = spla.spilu(
                A.tocsc(), drop_tol=self.drop_tolerance, fill_factor=self.fill_factor, permc_spec=self.ordering
            )
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

    sweep_tolerance: float = 1e-6
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
