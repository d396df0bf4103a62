"""Preconditioners that keep SuperLU factors: incomplete (the paper's choice) and complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
import torch

from ..errors import PcpinnError
from .device_factors import FactorSolver
from .recipe import ORDERINGS, PRECONDITIONERS, Assembled, Ordering


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
        """Fill; the device solver says what sweep_tolerance came to."""
        return {"fill": round(state.fill, 3)}


@PRECONDITIONERS.register
@dataclass(frozen=True)
class ILU(_SuperLU, Assembled):
    """Incomplete LU with threshold dropping: P = L U, entries below `drop_tolerance` of their column left out.

    Attributes:
        drop_tolerance: relative size below which an entry is left out.
        fill_factor: most entries of L and U together, in multiples of those of A. As soon as it binds, larger entries are
            left out too and P is far worse than the drop tolerance promises.
        sweep_tolerance: relative error that triangular solves on a GPU may have.
        ordering: order of elimination: colamd, or mmd (smaller and faster for diffusion, bad for waves).
    """

    drop_tolerance: float = 1e-4
    fill_factor: float = 20.0
    sweep_tolerance: float = 1e-6
    ordering: Ordering = "colamd"

    name: ClassVar[str] = "ilu"
    positive: ClassVar[tuple[str, ...]] = ("drop_tolerance", "fill_factor", "sweep_tolerance")

    def build(self, A: sp.csr_matrix) -> Factors:
        """Factorise incompletely, with a fill-reducing ordering."""
        try:
            lu = spla.spilu(
                A.tocsc(),
                drop_tol=self.drop_tolerance,
                fill_factor=self.fill_factor,
                permc_spec=ORDERINGS[self.ordering],
            )
        except (RuntimeError, MemoryError) as error:
            raise PcpinnError(
                f"the incomplete factorisation failed: {error}",
                f"lower drop_tolerance (now {self.drop_tolerance:g}) or raise fill_factor (now {self.fill_factor:g}); "
                "a singular matrix means a missing boundary condition",
            ) from error
        return _checked(lu, A)

    def describe(self, state: Factors) -> dict[str, Any]:
        """Settings and fill."""
        settings: dict[str, Any] = {"drop_tolerance": self.drop_tolerance, "fill_factor": self.fill_factor}
        if self.ordering != "colamd":
            settings["ordering"] = self.ordering
        return {**settings, **super().describe(state)}


@PRECONDITIONERS.register
@dataclass(frozen=True)
class LU(_SuperLU, Assembled):
    """Complete factorisation, the exact limit P = A: training becomes regression onto the discrete solution.

    Attributes:
        sweep_tolerance: relative error that triangular solves on a GPU may have.
    """

    sweep_tolerance: float = 1e-6

    name: ClassVar[str] = "lu"
    positive: ClassVar[tuple[str, ...]] = ("sweep_tolerance",)

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
