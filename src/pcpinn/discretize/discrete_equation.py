"""The equation of a discretisation, constraints built in.

F(u) is the weak form at u with its constrained values corrected, and u_i - g_i in the constrained rows. Its derivative is exactly
the matrix of a linear system with constraints as rows, so one can linearise at networks that do not satisfy them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch

from ..problem.field import Field
from .balance import spread_evenly
from .constraints import Constraints
from .discretisation import Discretisation
from .equation import Nodes, distinct_points
from .field_units import block_norms, field_of, fitting_ratios, smooth_norms
from .not_finite import not_finite
from .singular import refuse_singular


@dataclass(frozen=True)
class AssembledMatrix:
    """A sparse matrix (N, N) as an operator on arrays."""

    A: sp.csr_matrix

    def apply(self, v: np.ndarray) -> np.ndarray:
        """A v."""
        return self.A @ v

    def apply_transpose(self, r: np.ndarray) -> np.ndarray:
        """A^T r."""
        return self.A.T @ r

    def to_scipy(self) -> sp.csr_matrix:
        """A."""
        return self.A


class DiscreteEquation:
    """F(u) = 0 for the degrees of freedom (N,) of a discretisation.

    Args:
        discretisation: weak form and constraints.
        free: constrained degrees of freedom whose values are not prescribed (on `Free` boundaries of inverse problems): they
            stay as they are, and their rows of F are zero.
        linear: the problem is known to be linear; its matrix is that at zero, which slabs of time assemble faster.
    """

    def __init__(self, discretisation: Discretisation, free: np.ndarray | None = None, linear: bool = False) -> None:
        self.discretisation = discretisation
        self._free = np.empty(0, dtype=np.int64) if free is None else free
        self._linear = linear
        self._ratios: np.ndarray | None = None

    @cached_property
    def nodes(self) -> Nodes:
        """Where the degrees of freedom sit."""
        d = self.discretisation
        return Nodes(*distinct_points(d.unknown_nodes, d.components), np.asarray(d.unknown_components))

    @property
    def size(self) -> int:
        """Number of degrees of freedom N."""
        return self.discretisation.size

    @property
    def weights(self) -> np.ndarray:
        """(N,) of a discrete L2 norm."""
        return self.discretisation.weights

    @property
    def constraints(self) -> Constraints:
        """Those of the discretisation."""
        return self.discretisation.constraints

    def norm(self, u: np.ndarray) -> float:
        """Discrete L2 norm of (N,) degrees of freedom."""
        return float(np.sqrt(self.weights @ u**2))

    def sizes(self, u: np.ndarray) -> np.ndarray:
        """(F,) discrete L2 norms of the fields."""
        return np.asarray(np.sqrt(np.bincount(self._field, self.weights * u**2, len(self._fields))))

    def ratios(self, u: np.ndarray) -> np.ndarray:
        """(F, F) ratios of units of fields that fit each other, by the first derivative asked for, else that at u (N,)."""
        if len(self._fields) == 1:
            return np.ones((1, 1))
        if self._ratios is None:
            self.linearise(u)
        assert self._ratios is not None
        return self._ratios

    def smooth_ratios(self, u: np.ndarray) -> np.ndarray:
        """(F, F) the same at u (N,), by what waves as long as the domain make of each other."""
        x = np.asarray(self.discretisation.unknown_nodes)
        return fitting_ratios(smooth_norms(self.stiffness(u), self._field, self._equations, x))

    @property
    def _fields(self) -> tuple[Field, ...]:
        return self.discretisation.problem.unknowns

    @cached_property
    def _field(self) -> np.ndarray:
        """(N,) number of the field of each degree of freedom."""
        return field_of(self._fields, np.asarray(self.discretisation.unknown_components))

    @cached_property
    def _equations(self) -> np.ndarray:
        """(N,) bool: rows that are equations, not conditions."""
        result = np.ones(self.size, dtype=bool)
        result[self.constraints.constrained] = False
        return result

    def satisfied(self, u: np.ndarray) -> np.ndarray:
        """u (N,) with its constrained values corrected."""
        v = self.constraints.satisfied(u)
        v[self._free] = u[self._free]
        return v

    def residual(self, u: np.ndarray) -> np.ndarray:
        """F(u) (N,)."""
        constraints, v = self.constraints, self.satisfied(u)
        F = constraints.reduced(self.weak_residual(v)[constraints.tested_at])
        F[constraints.constrained] = (u - v)[constraints.constrained]
        return F

    def weak_residual(self, v: np.ndarray) -> np.ndarray:
        """(N,) the weak form at v (N,); where a pin is to fix a constant alone, such that its equations can hold."""
        residual = self.discretisation.residual(torch.from_numpy(v)).numpy()
        return residual if self._spread is None else residual + self._spread

    @cached_property
    def _spread(self) -> np.ndarray | None:
        return spread_evenly(self.discretisation)

    def stiffness(self, u: np.ndarray) -> sp.csr_matrix:
        """(N, N) derivative of the weak form at u with its constraints satisfied, before these become rows."""
        v = np.zeros_like(u) if self._linear else self.satisfied(u)
        return self.discretisation.matrix(torch.from_numpy(v))[self.constraints.tested_at]

    def linearise(self, u: np.ndarray) -> AssembledMatrix:
        """dF/du.

        Raises:
            PcpinnError: when it is not finite, or singular in an obvious way.
        """
        A, _ = eliminate(self.stiffness(u), np.zeros(self.size), self.constraints)
        refuse_singular(A, self.discretisation)
        if not np.isfinite(A.data).all():
            raise not_finite(self.discretisation, self.satisfied(u))
        if self._ratios is None and len(self._fields) > 1:
            self._ratios = fitting_ratios(block_norms(A, self._field, self._equations))
        return AssembledMatrix(A)

    def moved(self, u: np.ndarray, correction: np.ndarray, factor: float) -> np.ndarray:
        """u - factor * correction; constrained degrees of freedom take the whole step."""
        result, c = u - factor * correction, self.constraints.constrained
        result[c] = u[c] - correction[c]
        return result


def eliminate(K: sp.csr_matrix, f: np.ndarray, constraints: Constraints) -> tuple[sp.csr_matrix, np.ndarray]:
    """Put the constraints into K u = f; columns of constrained degrees of freedom vanish from the other rows."""
    n, c = len(f), constraints.constrained
    identity = sp.csr_matrix((np.ones(len(c)), (c, c)), shape=(n, n))
    has_master = constraints.master >= 0
    if has_master.any():
        T, g = constraints.expansion()
        coupling = (np.ones(has_master.sum()), (c[has_master], constraints.master[has_master]))
        A = T.T @ K @ T + identity - sp.csr_matrix(coupling, shape=(n, n))
        b = T.T @ (f - K @ g)
    else:  # the same without products of large matrices
        free, g = np.ones(n), np.zeros(n)
        free[c], g[c] = 0.0, constraints.value
        b = free * (f - K @ g)
        data = K.data * free[K.indices] * np.repeat(free, np.diff(K.indptr))
        A = sp.csr_matrix((data, K.indices, K.indptr), shape=(n, n))
        A.eliminate_zeros()
        A = A + identity
    b[c] = constraints.value
    A = A.tocsr()
    A.eliminate_zeros()
    return A, b
