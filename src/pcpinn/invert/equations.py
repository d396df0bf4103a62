"""The equations of a problem with unknown coefficients: F(u, c) = 0, with derivatives by both.

c are nodal values of the unknown coefficients, (n, K). F is the weak form at u with its prescribed values corrected, and
u_i - g_i(c) in their rows; degrees of freedom on `Free` boundaries have no equation, their rows are zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..discretize.batches import Batch, Entries, placed, sparse
from ..discretize.constraints import Constraints, at_nodes
from ..discretize.discrete_equation import DiscreteEquation, eliminate
from ..discretize.discretisation import check_functions
from ..discretize.finite_elements import FiniteElements
from ..discretize.slabs import TimeSlabs
from ..errors import PcpinnError
from ..problem.conditions import Free
from ..problem.family import Family

_STEP = 1e-6  # of differences of prescribed values, relative


@dataclass(frozen=True)
class Tangent:
    """F linearised at (u, c).

    Attributes:
        A: (N, N) dF/du by the unknowns that have equations; constrained and free ones have unit rows and no columns.
        by_free: (N, f) dF/du by the free unknowns.
        by_coefficients: K matrices (N, n), dF/dc.
        residual: (N,) F.
        free: (f,) numbers of the free unknowns, which have no equation.
    """

    A: sp.csr_matrix
    by_free: sp.csr_matrix
    by_coefficients: list[sp.csr_matrix]
    residual: np.ndarray
    free: np.ndarray

    def pulled(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of q . F, for q (N,): by u (N,) and by the coefficients (n, K)."""
        q = q.copy()
        q[self.free] = 0.0
        by_u = self.A.T @ q
        by_u[self.free] = self.by_free.T @ q
        return by_u, np.stack([S.T @ q for S in self.by_coefficients], axis=1)


class Equations:
    """F(u, c) for a discretisation of the extended problem of a family.

    Args:
        family: the problem with its unknowns.
        discretisation: of `family.extended`, finite elements or slabs of time (radau, gauss).

    Attributes:
        free: (f,) numbers of the unknowns on `Free` boundaries.
        group_of: (f,) which group each belongs to, numbers into `groups`.
        groups: their names.
    """

    def __init__(self, family: Family, discretisation: FiniteElements | TimeSlabs) -> None:
        if isinstance(discretisation, TimeSlabs) and not discretisation.strong:
            raise PcpinnError(
                "scheme=galerkin does not take unknown coefficients", "use scheme=radau or gauss, or time=simplex"
            )
        self.family, self.discretisation = family, discretisation
        start = family.start.expand(self.nodes_count, -1).clone()
        self._at = discretisation.with_coefficients(start)
        self.groups, self.free, self.group_of = _free_unknowns(self._at)

    @property
    def size(self) -> int:
        """Number of unknowns N."""
        return self.discretisation.size

    @property
    def nodes_count(self) -> int:
        """Number n of nodes of the coefficients."""
        return self.discretisation.space.scalar[0].size

    @property
    def coefficient_nodes(self) -> np.ndarray:
        """(n, d') where coefficients have their nodal values; of slabs, in space."""
        return self.discretisation.space.scalar[0].nodes

    @property
    def has_equation(self) -> np.ndarray:
        """(N,) which unknowns have a row in F: all but the free ones."""
        result = np.ones(self.size, dtype=bool)
        result[self.free] = False
        return result

    def at(self, c: np.ndarray) -> FiniteElements | TimeSlabs:
        """The discretisation with coefficients (n, K)."""
        return self.discretisation.with_coefficients(torch.from_numpy(np.ascontiguousarray(c)))

    def given(self, c: np.ndarray) -> DiscreteEquation:
        """The equation for u alone, for coefficients (n, K) and the values of free unknowns that u has."""
        form = self.at(c)
        return DiscreteEquation(form, self.free, linear=isinstance(form, TimeSlabs) and self.is_linear)

    def residual(self, u: np.ndarray, c: np.ndarray) -> np.ndarray:
        """F (N,)."""
        return self.given(c).residual(u)

    def linearise(self, u: np.ndarray, c: np.ndarray, by_c: bool = True) -> Tangent:
        """F and its derivatives; those by the coefficients may be left out, see `by_coefficients`."""
        equation = self.given(c)
        K = equation.stiffness(u)
        A, _ = eliminate(K.copy(), np.zeros(self.size), equation.constraints)  # it works in place
        rows, reduce = _reduction(equation.constraints, self.size)
        by_free = sp.csr_matrix(rows @ (reduce @ K))[:, self.free]
        slopes = self._by_coefficients(equation, u, c, K) if by_c else []
        return Tangent(A, by_free, slopes, equation.residual(u), self.free)

    def by_coefficients(self, u: np.ndarray, c: np.ndarray) -> list[sp.csr_matrix]:
        """dF/dc alone."""
        return self._by_coefficients(self.given(c), u, c, None)

    def _by_coefficients(
        self, equation: DiscreteEquation, u: np.ndarray, c: np.ndarray, K: sp.csr_matrix | None
    ) -> list[sp.csr_matrix]:
        rows, reduce = _reduction(equation.constraints, self.size)
        result = []
        by_c = sensitivities(equation.discretisation, equation.satisfied(u))  # type: ignore[arg-type]
        for s, slope in zip(by_c, self._value_slopes(c), strict=True):
            if slope is not None and K is None:
                K = equation.stiffness(u)
            inside = rows @ (reduce @ (s if slope is None else s + K @ slope))
            result.append(sp.csr_matrix(inside if slope is None else inside - slope))
        return result

    @cached_property
    def is_linear(self) -> bool:
        """Whether F is linear in u for fixed coefficients."""
        return check_functions(self._at)

    @cached_property
    def to_unknowns(self) -> sp.csr_matrix:
        """(N, n): nodal values of a coefficient at the nodes of all unknowns."""
        space = self.discretisation.space
        once = sp.vstack([at_nodes(space, k) for k in range(space.components)], format="csr")
        layers = self.size // once.shape[0]
        return sp.csr_matrix(sp.vstack([once] * layers)) if layers > 1 else sp.csr_matrix(once)

    def _value_slopes(self, c: np.ndarray) -> list[sp.csr_matrix | None]:
        """Derivatives (N, n) of prescribed values by the coefficients; None where these do not enter."""
        result: list[sp.csr_matrix | None] = []
        for k in range(self.family.count):
            step = _STEP * max(1.0, float(np.abs(c[:, k]).max()))
            up, down = c.copy(), c.copy()
            up[:, k] += step
            down[:, k] -= step
            pair = [self.at(values).constraints for values in (up, down)]
            slope = np.zeros(self.size)
            slope[pair[0].constrained] = (pair[0].value - pair[1].value) / (2 * step)
            result.append(sp.csr_matrix(sp.diags(slope) @ self.to_unknowns) if slope.any() else None)
        return result


def _reduction(constraints: Constraints, size: int) -> tuple[sp.dia_matrix, sp.spmatrix]:
    """What leaves the rows of unknowns that have equations, and what adds those of periodic partners."""
    keep = np.ones(size)
    keep[constraints.constrained] = 0.0
    rows = sp.diags(keep)
    return rows, constraints.expansion()[0].T if (constraints.master >= 0).any() else rows


def sensitivities(discretisation: FiniteElements | TimeSlabs, u: np.ndarray) -> list[sp.csr_matrix]:
    """dR/dc at u: K matrices (N, n), constraints not yet applied."""
    if isinstance(discretisation, FiniteElements):
        return _steady(discretisation, torch.from_numpy(u))
    return _over_slabs(discretisation, u)


def _steady(form: FiniteElements, u: Tensor) -> list[sp.csr_matrix]:
    assert form.coefficients is not None
    n, K = form.coefficients.shape
    entries: list[Entries] = [[] for _ in range(K)]
    for integrand, batch in form.parts():
        by = integrand.by_coefficients(K, batch.points, batch.outward, batch.state(u))
        _add(entries, batch, by.unflatten(0, batch.dx.shape))
    return [sparse(parts, (form.size, n)) for parts in entries]


def _over_slabs(form: TimeSlabs, u: np.ndarray) -> list[sp.csr_matrix]:
    assert form.coefficients is not None
    n, K = form.coefficients.shape
    table = u.reshape(form.scheme.layer_count, form.layer_size)
    jets = [torch.from_numpy(np.ascontiguousarray(t @ table)) for t in form.scheme.trial]
    parts = list(form.parts())
    total: list[list[sp.csr_matrix]] = [[] for _ in range(K)]
    for q, t in enumerate(form.scheme.moments):
        entries: list[Entries] = [[] for _ in range(K)]
        for integrand, batch in parts:
            by = integrand.by_coefficients(K, *batch.at(t), batch.jet(*(j[q] for j in jets)))
            _add(entries, batch, by.unflatten(0, batch.dx.shape))
        for k in range(K):
            total[k].append(sparse(entries[k], (form.layer_size, n)))
    return [sp.csr_matrix(sp.kron(form.scheme.test, sp.identity(form.layer_size)) @ sp.vstack(s)) for s in total]


def _add(entries: list[Entries], batch: Batch, by: Tensor) -> None:
    """Contract (e, q, C, m, K) with test functions and the coefficients' shape functions."""
    weighted = by * batch.dx[:, :, None, None, None]
    phi, columns = batch.shapes[0][:, :, 0], batch.unknowns[0]
    for i, (test, rows) in enumerate(zip(batch.shapes, batch.unknowns, strict=True)):
        for k, found in enumerate(entries):
            block = weighted[:, :, i, :, k]  # (e, q, m)
            if block.any():
                tested = torch.einsum("eqmb,eqm->eqb", test[:, :, : by.shape[3]], block)
                found.append(placed(rows, columns, torch.matmul(tested.transpose(1, 2), phi)))


def _free_unknowns(discretisation: FiniteElements | TimeSlabs) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names of the groups of `Free` boundaries, unknowns on them, and the group of each.

    An unknown is free where the value of a Free condition would be its own: where no other condition prescribes one.
    """
    problem = discretisation.problem
    groups = list(
        dict.fromkeys(
            c.group for by_field in problem.conditions.values() for c in by_field.values() if isinstance(c, Free)
        )
    )
    number = np.full(discretisation.size, -1)
    for g, group in enumerate(groups):
        marked = {
            name: {
                f: replace(c, value=float(c.group == group)) if isinstance(c, Free) else c for f, c in by_field.items()
            }
            for name, by_field in problem.conditions.items()
        }
        zero = {
            name: {f: replace(c, value=0.0) if isinstance(c, Free) else c for f, c in by_field.items()}
            for name, by_field in problem.conditions.items()
        }
        found = [discretisation.constraints_for(replace(problem, boundary=b)) for b in (marked, zero)]
        number[found[0].constrained[found[0].value != found[1].value]] = g
    free = np.flatnonzero(number >= 0)
    return groups, free, number[free]
