"""A^-1 for the discrete solutions of planning: by complete factors, or by multigrid where those of solids would not fit."""

from __future__ import annotations

import warnings
from typing import Protocol

import numpy as np
import scipy.sparse as sp
import torch

from ...discretize.equation import Matrix
from ...discretize.finite_elements import FiniteElements
from ...discretize.linear_solves import Factors
from ...discretize.newton import Solve
from ...errors import PcpinnError, PcpinnWarning
from ...precondition.amg import AMG, split_unknowns
from ...precondition.coarsening import NoMultigrid
from ...precondition.converged import Converged

_FACTORS = 15_000  # degrees of freedom of a solid from which factors take longer than cycles
_TRIAL = 1e-6  # tolerance of a trial solve
_ASYMMETRY = 1e-9


class Inverse(Protocol):
    """Of a matrix and of its transpose."""

    def apply(self, r: np.ndarray) -> np.ndarray:
        """A^-1 r for r (N,)."""

    def apply_transpose(self, r: np.ndarray) -> np.ndarray:
        """A^-T r for r (N,)."""


class Iterated:
    """A^-1 and A^-T by conjugate gradients with multigrid, for symmetric and positive definite A but for rows of conditions.

    Args:
        A: (N, N).
        discretisation: that A belongs to, for coarser levels of lower degrees.

    Raises:
        PcpinnError: here where A is seen not to be positive definite; in `apply` where nothing converges.
    """

    def __init__(self, A: sp.csr_matrix, discretisation: FiniteElements | None = None) -> None:
        self._size, amg = A.shape[0], AMG(coarsening="quick")
        self._solver = Converged(A, amg if discretisation is None else amg.fitted(discretisation, 0.0))

    def apply(self, r: np.ndarray) -> np.ndarray:
        """A^-1 r for r (N,)."""
        return self._solver.apply(torch.from_numpy(r)).numpy()

    def apply_transpose(self, r: np.ndarray) -> np.ndarray:
        """A^-T r for r (N,)."""
        return self._solver.apply_transpose(torch.from_numpy(r)).numpy()

    def try_out(self) -> None:
        """Solve for a few digits. Raises: PcpinnError where that fails."""
        self._solver.within(_TRIAL, torch.ones(self._size, dtype=torch.float64))


def iterated(discretisation: FiniteElements, A: sp.csr_matrix) -> Iterated | None:
    """A^-1 by multigrid where that works: one field, symmetric, positive definite as far as a trial solve sees; else None."""
    _, free, _ = split_unknowns(A)
    own = A[free][:, free]
    symmetric = len(free) == 0 or abs(own - own.T).max() <= _ASYMMETRY * abs(own).max()
    if discretisation.components > 1 or not symmetric or not (A.diagonal() > 0).all():
        return None
    try:
        inverse = Iterated(A, discretisation)
        inverse.try_out()
    except NoMultigrid:
        what = "pyamg is not installed: solids are planned with complete factors, which need far more memory and time"
        warnings.warn(f"{what}; run: pip install 'pyamg>=5'", PcpinnWarning, stacklevel=2)
        return None
    except PcpinnError:  # short waves: symmetric, but not positive
        return None
    return inverse


class Inverses:
    """Inverses of the matrices of a discretisation; the last one is kept until dropped, and served again for the same matrix.

    Newton's method for a linear problem asks for the same one again, and so does the dual problem.
    """

    def __init__(self, discretisation: FiniteElements) -> None:
        self._discretisation = discretisation
        self._last: tuple[sp.csr_matrix, Inverse] | None = None
        self.iterated: bool | None = None  # whether multigrid served for the last one; None where it was not tried

    def of(self, A: sp.csr_matrix) -> Inverse:
        """Multigrid for large matrices that it suits, else factors."""
        if self._last is None or not _same(self._last[0], A):
            self.drop()  # before the next one is made: two might not fit
            self._last = A, self._made(A)
        return self._last[1]

    def for_newton(self, matrix: Matrix[np.ndarray]) -> Solve[np.ndarray]:
        """A^-1 of an assembled matrix."""
        return self.of(matrix.to_scipy()).apply

    def drop(self) -> None:
        """Give back what the last one holds."""
        self._last = None

    def _made(self, A: sp.csr_matrix) -> Inverse:
        large = self._discretisation.mesh.dimension == 3 and A.shape[0] > _FACTORS
        found = iterated(self._discretisation, A) if large else None
        self.iterated = found is not None if large else None
        return found or Factors(A)


def _same(A: sp.csr_matrix, B: sp.csr_matrix) -> bool:
    parts = ((A.data, B.data), (A.indices, B.indices), (A.indptr, B.indptr))
    return A is B or all(np.array_equal(a, b) for a, b in parts)
