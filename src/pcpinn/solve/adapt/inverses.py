"""A^-1 for the discrete solutions of planning: by complete factors, or by multigrid where those of solids would not fit."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from ...discretize.equation import Matrix
from ...discretize.finite_elements import FiniteElements
from ...discretize.linear_solves import Factors, solve_krylov
from ...discretize.newton import Solve
from ...errors import PcpinnError
from ...precondition.amg import AMG, split_unknowns

_FACTORS = 15_000  # degrees of freedom of a solid from which factors take longer than cycles
_TOLERANCE = 1e-11
_ASYMMETRY = 1e-9


class Inverse(Protocol):
    """Of a matrix and of its transpose."""

    def apply(self, r: np.ndarray) -> np.ndarray:
        """A^-1 r for r (N,)."""

    def apply_transpose(self, r: np.ndarray) -> np.ndarray:
        """A^-T r for r (N,)."""


class Iterated:
    """A^-1 and A^-T by GMRES with multigrid, for symmetric and positive definite A but for rows of conditions.

    Raises:
        PcpinnError: here where A is seen not to be positive definite; in `apply` where GMRES does not converge.
    """

    def __init__(self, A: sp.csr_matrix) -> None:
        self._A, self._amg = A, AMG(coarsening="quick")
        self._state = self._amg.build(A)

    def apply(self, r: np.ndarray) -> np.ndarray:
        """A^-1 r for r (N,)."""
        return _converged(solve_krylov(self._A, r, partial(self._amg.apply, self._state), _TOLERANCE))

    def apply_transpose(self, r: np.ndarray) -> np.ndarray:
        """A^-T r for r (N,)."""
        apply = partial(self._amg.apply_transpose, self._state)
        return _converged(solve_krylov(sp.csr_matrix(self._A.T), r, apply, _TOLERANCE))


def _converged(u: np.ndarray | None) -> np.ndarray:
    if u is None:
        raise PcpinnError("GMRES with multigrid did not converge", "use a mesh whose matrix can be factorised")
    return u


def iterated(discretisation: FiniteElements, A: sp.csr_matrix) -> Iterated | None:
    """A^-1 by multigrid where that works: one field, symmetric, positive definite as far as a trial solve sees; else None."""
    _, free, _ = split_unknowns(A)
    own = A[free][:, free]
    symmetric = len(free) == 0 or abs(own - own.T).max() <= _ASYMMETRY * abs(own).max()
    if discretisation.components > 1 or not symmetric or not (A.diagonal() > 0).all():
        return None
    with contextlib.suppress(PcpinnError):  # short waves: symmetric, but not positive
        inverse = Iterated(A)
        inverse.apply(np.ones(A.shape[0]))
        return inverse
    return None


class Inverses:
    """Inverses of the matrices of a discretisation; the last one is kept until dropped, and served again for the same matrix.

    Newton's method for a linear problem asks for the same one again, and so does the dual problem.
    """

    def __init__(self, discretisation: FiniteElements) -> None:
        self._discretisation = discretisation
        self._last: tuple[sp.csr_matrix, Inverse] | None = None

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
        return found or Factors(A)


def _same(A: sp.csr_matrix, B: sp.csr_matrix) -> bool:
    parts = ((A.data, B.data), (A.indices, B.indices), (A.indptr, B.indptr))
    return A is B or all(np.array_equal(a, b) for a, b in parts)
