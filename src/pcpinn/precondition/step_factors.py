"""Factors of the matrices of space that a march solves with: of K + z M as it is, or of half of it where a field is a rate.

An equation of second order in time is a system u_t = k v, (rho v)_t = ...: its first row says v = (M^-1 r - z u) / k, whatever
r is, so that a matrix for u alone is left, half as large, with a diagonal to eliminate on. Both are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
import torch
from torch import Tensor

from ..discretize.linear_solves import elimination_order
from ..discretize.window import MarchSpace
from ..errors import PcpinnError
from .recipe import ORDERINGS

_SAME = 1e-12  # of the largest entry: entries that differ by less are the same, or nothing


class StepFactors(Protocol):
    """How the matrix of a step is factorised."""

    @property
    def drop_tolerance(self) -> float:
        """Of incomplete factors; 0 for complete ones."""

    @property
    def fill_factor(self) -> float:
        """Most entries of incomplete factors, in multiples of those of the matrix."""

    @property
    def ordering(self) -> str:
        """Order of elimination: colamd, mmd or auto."""


class HostSolver:
    """SuperLU factors, real or complex.

    Raises:
        PcpinnError: where the matrix is singular.
    """

    kind = "factors"

    def __init__(self, A: sp.spmatrix, recipe: StepFactors) -> None:
        A = A.tocsc()
        auto = recipe.ordering == "auto"
        order: dict[str, Any] = {"permc_spec": ORDERINGS["colamd" if auto else recipe.ordering]}
        try:
            if recipe.drop_tolerance > 0:
                self.lu = spla.spilu(A, drop_tol=recipe.drop_tolerance, fill_factor=recipe.fill_factor, **order)
            else:
                self.lu = spla.splu(A, **(elimination_order(A) if auto else order))
        except (RuntimeError, MemoryError) as error:
            raise PcpinnError(
                f"the factorisation of a step failed: {error}",
                "check the boundary conditions; take shorter steps or lower drop_tolerance",
            ) from error
        self.fill = self.lu.nnz / A.nnz  # asked for L and U, scipy would keep copies of both
        self.dtype = A.dtype

    @property
    def is_real(self) -> bool:
        """Whether the factors are."""
        return not np.issubdtype(self.dtype, np.complexfloating)

    def product(self) -> sp.csr_matrix:
        """P itself, as a matrix: the factors multiplied, in the order of the degrees of freedom."""
        return sp.csr_matrix(sp.csr_matrix(self.lu.L @ self.lu.U)[self.lu.perm_r][:, self.lu.perm_c])

    def solve(self, r: Tensor, transpose: bool) -> Tensor:
        """(n,) or (n, k) -> the same, by way of the host."""
        return torch.from_numpy(self.applied(r.cpu().numpy(), transpose)).to(r.device)

    def applied(self, r: np.ndarray, transpose: bool) -> np.ndarray:
        """The same with arrays; real factors take complex r in two parts."""
        if self.is_real and np.iscomplexobj(r):
            return self.applied(r.real, transpose) + 1j * self.applied(r.imag, transpose)
        b = np.ascontiguousarray(r).astype(self.dtype)
        return self.lu.solve(b, "T") if transpose else self.lu.solve(b)


@dataclass(frozen=True)
class _Rate:
    """An equation k v = u_t: the components u and v, and -k."""

    u: int
    v: int
    factor: float


class Condensed:
    """K + z M without the fields that are rates of others.

    Args:
        space: the problem in space.
        by_value, by_rate: K, with unit rows of constrained degrees of freedom, and M.
        rates: which fields are rates.
        recipe: of the factors.
    """

    def __init__(
        self,
        space: MarchSpace,
        by_value: sp.csr_matrix,
        by_rate: sp.csr_matrix,
        rates: list[_Rate],
        recipe: StepFactors,
    ) -> None:
        self._by_value, self._by_rate, self._recipe = by_value, by_rate, recipe
        fixed = np.zeros(space.size, dtype=bool)
        fixed[space.constrained.cpu().numpy()] = True
        own = space.form.space
        self.slaves, self.masters = space.slaves.cpu().numpy(), space.masters.cpu().numpy()
        self.fixed = np.setdiff1d(np.flatnonzero(fixed), self.slaves)
        u, v, factors = [], [], []
        for rate in rates:
            free = np.flatnonzero(~fixed[own.offsets[rate.u] : own.offsets[rate.u + 1]])
            u.append(own.offsets[rate.u] + free)
            v.append(own.offsets[rate.v] + free)
            factors.append(np.full(len(free), rate.factor))
        self.u, self.v, self.factors = (np.concatenate(part) for part in (u, v, factors))
        gone = fixed.copy()
        gone[self.v] = True
        self.kept = np.flatnonzero(~gone)
        at = np.full(space.size, -1)
        at[self.kept] = np.arange(len(self.kept))
        self.place = at[self.u]
        self.rows = self.kept.copy()
        self.rows[self.place] = self.v  # the equation of v, for u
        self.mass = HostSolver(by_rate[self.u][:, self.u], recipe)
        columns = np.arange(len(self.u))
        self._spread = sp.csr_matrix((np.ones(len(self.u)), (columns, self.place)), (len(self.u), len(self.kept)))

    def at(self, z: complex) -> CondensedSolver:
        """Factors of K + z M."""
        A = sp.csr_matrix(self._by_value + z * self._by_rate)
        rows = A[self.rows]
        of_rate = sp.csr_matrix(rows[:, self.v] @ sp.diags(1 / self.factors))
        schur = HostSolver(rows[:, self.kept] - z * (of_rate @ self._spread), self._recipe)
        return CondensedSolver(self, z, schur, of_rate, A[:, self.fixed])


@dataclass(frozen=True)
class CondensedSolver:
    """(K + z M)^-1 by the factors of what is left without rates.

    Attributes:
        own: which degrees of freedom are left.
        z: of the matrix.
        schur: factors for those.
        of_rate: what their equations take from the rates, over the factors of these.
        known: columns of degrees of freedom with unit rows.
    """

    own: Condensed
    z: complex
    schur: HostSolver
    of_rate: sp.csr_matrix
    known: sp.csr_matrix
    kind = "factors"

    @property
    def fill(self) -> float:
        """Entries of the factors beside those of their matrix."""
        return self.schur.fill

    @property
    def is_real(self) -> bool:
        """Whether the factors are."""
        return self.schur.is_real

    def solve(self, r: Tensor, transpose: bool) -> Tensor:
        """(n,) or (n, k) -> the same, by way of the host."""
        b = r.cpu().numpy()
        x = (self._transposed if transpose else self._solved)(b.reshape(len(b), -1))
        return torch.from_numpy(x.reshape(b.shape)).to(r.device)

    def _solved(self, r: np.ndarray) -> np.ndarray:
        own = self.own
        b = r - self.known @ r[own.fixed]
        y = own.mass.applied(b[own.u], False)
        kept = self.schur.applied(b[own.rows] - self.of_rate @ y, False)
        x = r.astype(kept.dtype)  # unit rows: what they say
        x[own.kept] = kept
        x[own.v] = (y - self.z * kept[own.place]) / own.factors[:, None]
        x[own.slaves] = r[own.slaves] + x[own.masters]
        return x

    def _transposed(self, r: np.ndarray) -> np.ndarray:
        """The same steps, each transposed, backwards."""
        own = self.own
        x = r.astype(np.result_type(r, self.schur.dtype))
        np.add.at(x, own.masters, r[own.slaves])
        y = x[own.v] / own.factors[:, None]
        kept = x[own.kept]
        kept[own.place] -= self.z * y
        g = self.schur.applied(kept, True)
        result = x.copy()
        result[own.rows] = g
        result[own.u] = own.mass.applied(y - self.of_rate.T @ g, True)
        result[own.slaves] = r[own.slaves]
        unknown = result.copy()
        unknown[own.fixed] = unknown[own.slaves] = 0.0
        result[own.fixed] -= self.known.T @ unknown
        return result


def condensed(
    space: MarchSpace, by_value: sp.csr_matrix, by_rate: sp.csr_matrix, recipe: StepFactors
) -> Condensed | None:
    """K + z M without fields that are rates of others; None where no field is known to be one."""
    own = space.form.space
    if own.components < 2:
        return None
    free = np.ones(space.size, dtype=bool)
    free[space.constrained.cpu().numpy()] = False
    rates: list[_Rate] = []
    for u in range(own.components):
        found = _rate_of(own.offsets, free, by_value, by_rate, u)
        if found is not None and not {u, found.v} & {k for rate in rates for k in (rate.u, rate.v)}:
            rates.append(found)
    return Condensed(space, by_value, by_rate, rates, recipe) if rates else None


def _rate_of(
    offsets: np.ndarray, free: np.ndarray, by_value: sp.csr_matrix, by_rate: sp.csr_matrix, u: int
) -> _Rate | None:
    """The field v whose multiple the equation of u says that its rate is: M u_t - k M v = 0 in all rows."""
    first, end = offsets[u], offsets[u + 1]
    own = free[first:end]
    rate, value = (m[first:end][own].tocsc() for m in (by_rate, by_value))
    scale = abs(rate).max()
    if not own.any() or scale == 0 or _size(rate, np.arange(rate.shape[1]) - first, end - first) > _SAME * scale:
        return None
    largest = abs(value).max()
    for v in range(len(offsets) - 1):
        begin, stop = offsets[v], offsets[v + 1]
        if v == u or stop - begin != end - first or not np.array_equal(free[begin:stop], own):
            continue
        block, mass = value[:, begin:stop], rate[:, first:end]
        at = np.unravel_index(abs(mass).argmax(), mass.shape)
        factor = float(block[at] / mass[at])
        outside = _size(value, np.arange(value.shape[1]) - begin, stop - begin)
        if factor and outside <= _SAME * largest and abs(block - factor * mass).max() <= _SAME * abs(block).max():
            return _Rate(u, v, factor)
    return None


def _size(rows: sp.csc_matrix, place: np.ndarray, count: int) -> float:
    """The largest entry outside of some columns, those whose place is in [0, count)."""
    other = rows[:, (place < 0) | (place >= count)]
    return float(abs(other).max()) if other.nnz else 0.0
