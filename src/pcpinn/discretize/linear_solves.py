"""Solves with an assembled matrix: by sparse factors, or by a Krylov method with a preconditioner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from ..errors import PcpinnError
from .singular import singular

_PIVOT = 0.1  # a diagonal that is this much of its row's largest entry, or more, can be a pivot


class Factors:
    """A^-1 and A^-T by sparse factors.

    Args:
        A: (N, N).
        refusal: the error to raise for a singular matrix, if there is more to say than the usual.
    """

    def __init__(self, A: sp.csr_matrix, refusal: PcpinnError | None = None) -> None:
        try:
            self._lu = spla.splu(A.tocsc(), **elimination_order(A))
        except RuntimeError as error:
            raise (refusal or singular()) from error

    def apply(self, r: np.ndarray) -> np.ndarray:
        """A^-1 r for r (N,) or (N, k)."""
        return self._lu.solve(r)

    def apply_transpose(self, r: np.ndarray) -> np.ndarray:
        """A^-T r for r (N,) or (N, k)."""
        return self._lu.solve(r, trans="T")


def elimination_order(A: sp.spmatrix) -> dict[str, Any]:
    """How to order the rows: by minimum degree of a symmetric pattern, with a third of the fill, where diagonals can be pivots.

    Where they cannot, as those of a pressure, pivots off the diagonal would spoil that order.
    """
    largest = abs(A).max(axis=1).toarray().ravel()
    if (np.abs(A.diagonal()) < _PIVOT * largest).any():
        return {"permc_spec": "COLAMD"}
    return {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.01, "options": {"SymmetricMode": True}}


def solve_sparse(A: sp.csr_matrix, b: np.ndarray) -> np.ndarray:
    """A^-1 b by a direct solve.

    Raises:
        PcpinnError: when the matrix is singular.
    """
    with np.errstate(all="ignore"):
        u = Factors(A).apply(b)
    if not np.isfinite(u).all():
        raise singular()
    return u


def solve_krylov(
    A: sp.csr_matrix | spla.LinearOperator,
    b: np.ndarray,
    apply: Callable[[np.ndarray], np.ndarray],
    tolerance: float,
    steps: int = 60,
) -> np.ndarray | None:
    """A^-1 b by GMRES with a preconditioner's `apply`, started from P^-1 b; None if `steps` do not reach the tolerance."""
    n = len(b)
    P = spla.LinearOperator((n, n), matvec=apply)
    with np.errstate(all="ignore"):  # what is not finite is no solution
        u, failed = spla.gmres(A, b, x0=apply(b), M=P, rtol=tolerance, atol=0.0, restart=steps, maxiter=5)
    return None if failed or not np.isfinite(u).all() else u
