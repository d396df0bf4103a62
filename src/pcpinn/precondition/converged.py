"""A^-1 to many digits: conjugate gradients with multigrid cycles."""

from __future__ import annotations

import scipy.sparse as sp
import torch
from torch import Tensor

from ..errors import PcpinnError
from .amg import AMG, AMGState
from .multigrid import MultigridSolver

_STEPS = 400
_ROUNDING = (
    1e-12  # of the largest right-hand side so far: what is left of it after a solve need not be solved for again
)


class Converged(MultigridSolver):
    """A^-1 and A^-T for a matrix whose free part is symmetric and positive definite.

    Args:
        A: (N, N).
        amg: its levels are those of the V-cycles.
        tolerance: of the residual, relative to the right-hand side.

    Raises:
        PcpinnError: here and in `apply`, where A is seen not to be positive definite, or nothing converges.
    """

    def __init__(self, A: sp.csr_matrix, amg: AMG, tolerance: float = 1e-11) -> None:
        state: AMGState = amg.build(A)
        kinds, levels, bounds = state.kinds, state.hierarchy, state.bounds
        super().__init__(A, kinds, levels, bounds, 1, amg.smoother_steps, torch.float64, "cpu")
        self._tolerance, self._largest = tolerance, 0.0

    def apply(self, r: Tensor) -> Tensor:
        """A^-1 r for r (N,)."""
        self._largest = max(self._largest, float(r[self._kinds[1]].norm()))
        return super().apply(r)

    def apply_transpose(self, r: Tensor) -> Tensor:
        """A^-T r for r (N,); of a size of its own."""
        largest, self._largest = self._largest, 0.0
        try:
            return super().apply_transpose(r)
        finally:
            self._largest = largest

    def within(self, tolerance: float, r: Tensor) -> Tensor:
        """A^-1 r with another tolerance."""
        own, self._tolerance = self._tolerance, tolerance
        try:
            return super().apply(r)
        finally:
            self._tolerance = own

    def _solve(self, b: Tensor) -> Tensor:
        if self._exact:
            return self._cycle(b)
        least = max(self._tolerance * float(b.norm()), _ROUNDING * self._largest)
        x, r = torch.zeros_like(b), b.clone()
        z = self._cycle(r)
        p, rz = z, float(r @ z)
        for _ in range(_STEPS):
            if float(r.norm()) <= least:
                return x
            Ap = self._cycle.multiply(p)
            energy = float(p @ Ap)
            if not (energy > 0 and rz > 0):
                break
            x = x + (rz / energy) * p
            r = r - (rz / energy) * Ap
            z = self._cycle(r)
            following = float(r @ z)
            p, rz = z + (following / rz) * p, following
        raise PcpinnError(
            "conjugate gradients with multigrid did not converge", "use a mesh whose matrix can be factorised"
        )
