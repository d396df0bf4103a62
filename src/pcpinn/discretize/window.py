"""A window of time: some steps as one system of equations, F(U) = 0, for the values U (L, n) at its new time levels.

The first time levels are known: they are the end of the window before. F'(U) is kept as matrices of space at the window's moments
(`WindowMatrix`), not as one large matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..mesh.mesh import Mesh
from ..mesh.slab_mesh import ENDS
from ..problem.problem import Problem
from ..problem.timed import timed_values
from .balance import even_share, imbalances_at, refuse_all
from .bursts import burst_moments
from .constraints import Constraints, find_constraints
from .equation import Nodes, distinct_points
from .field_units import block_norms, field_of, fitting_ratios, smooth_norms
from .slab_checks import refuse_coordinate
from .spatial_form import SpatialForm
from .step_scheme import Layers, StepScheme
from .time_orders import check_start, refuse_second

_PROBES = (0.0, 0.137, 0.5, 0.811)


class MarchSpace:
    """Everything about a problem over time that stays the same from window to window.

    Args:
        problem: of first order in time, on a domain with time.
        mesh: of space.
        times: (start, end) of the march.
        degree, quadrature, element: of the elements.
        device: where residuals and matrices are computed.
    """

    def __init__(
        self,
        problem: Problem,
        mesh: Mesh,
        times: tuple[float, float],
        degree: int,
        quadrature: int | None = None,
        device: torch.device | str = "cpu",
        element: str = "lagrange",
    ) -> None:
        refuse_coordinate(problem, "a march")
        problem.check_boundaries([*mesh.boundary_names, *ENDS])
        self.problem, self.mesh, self.start_time = problem, mesh, times[0]
        self.form = SpatialForm(problem, mesh, degree, quadrature, device, element)
        probes = times[0] + (times[1] - times[0]) * np.array(_PROBES)
        self._probes = np.append(probes, [t for t in burst_moments(problem, mesh) if times[0] <= t <= times[1]])
        samples = [self.form.sample_points(float(t)) for t in self._probes]
        refuse_second(check_start(problem, torch.cat(samples)))
        self.structure = self._constraints(self._probes[0])
        c, master = self.structure.constrained, self.structure.master
        self.values_constant = not timed_values(problem)
        slaves = master >= 0
        identified = np.arange(self.form.size)
        identified[c[slaves]] = master[slaves]
        self.form.prepare(identified, (c[slaves], master[slaves]), self._probes)
        self.device = self.form.device
        self._spread = self._unbalanced()
        self.constrained = torch.from_numpy(c).to(self.device)
        self.repeats = torch.from_numpy(np.where(slaves, master, c)).to(self.device)
        self.is_slave = torch.from_numpy(slaves).to(self.device)
        self.slaves, self.masters = self.constrained[self.is_slave], self.repeats[self.is_slave]
        row_fixed = np.zeros(self.form.size, dtype=bool)
        row_fixed[c] = True
        self._unit = torch.from_numpy(self.form.diagonal[c]).to(self.device)
        self._repeated = torch.from_numpy(self.form.extra).to(self.device)
        self._entries_fixed = torch.from_numpy(row_fixed[self.form.rows]).to(self.device)
        self._ratios: np.ndarray | None = None
        self._duration = times[1] - times[0]
        self._points, self._point_of = distinct_points(self.form.space.unknown_nodes, self.form.components)

    @property
    def size(self) -> int:
        """Degrees of freedom per time level n."""
        return self.form.size

    @property
    def components(self) -> int:
        """Number of scalar components C."""
        return self.form.components

    @property
    def weights(self) -> np.ndarray:
        """(n,) of a discrete L2 norm in space."""
        return self.form.space.weights

    @cached_property
    def field(self) -> np.ndarray:
        """(n,) number of the field of each degree of freedom."""
        return field_of(self.problem.unknowns, self.form.space.unknown_components)

    def nodes(self, layers: int) -> Nodes:
        """The degrees of freedom of `layers` time levels as outputs of a network: C outputs per level, at the nodes of space."""
        heads = np.arange(layers)[:, None] * self.components + self.form.space.unknown_components
        return Nodes(self._points, np.tile(self._point_of, layers), heads.ravel())

    @cached_property
    def _given(self) -> Tensor:
        """(n,) values at the start, from the conditions on "initial" and on the sides; NaN where nothing is given."""
        found = self._constraints(self.start_time, initial=True)
        value = np.full(self.size, np.nan)
        value[found.constrained] = np.where(found.master < 0, found.value, np.nan)
        slaves = found.master >= 0
        value[found.constrained[slaves]] = value[found.master[slaves]]
        return torch.from_numpy(value).to(self.device)

    def initial_values(self) -> Tensor:
        """(n,) values to step from: zero for fields without a rate, such as a pressure, which no step looks back at."""
        return torch.nan_to_num(self._given)

    def first_values(self, scheme: StepScheme, first: Tensor) -> Tensor | None:
        """(n,) values at the start as an answer has them, from those of the first step's new time levels (m, n).

        Fields without a rate have none that are given: theirs are those of the first step, continued backwards. None where all
        are given, or where the scheme looks back at them, so that the first step follows from zero.
        """
        scheme, open_ = scheme.starter, self._given.isnan()
        if not bool(open_.any()) or scheme.looks_back:
            return None
        return torch.where(open_, torch.from_numpy(scheme.backwards).to(first) @ first[: scheme.order], self._given)

    def ratios(self, t: float, values: Tensor) -> np.ndarray:
        """(F, F) ratios of units of fields that fit each other, by K + M / T where it was first asked for, T all of the time.

        Args:
            t: a moment.
            values: (n,) then.
        """
        if len(self.problem.unknowns) == 1:
            return np.ones((1, 1))
        if self._ratios is None:
            self._ratios = fitting_ratios(block_norms(*self._over_all_time(t, values)))
        return self._ratios

    def smooth_ratios(self, t: float, values: Tensor) -> np.ndarray:
        """(F, F) the same by what waves as long as the domain make of each other."""
        return fitting_ratios(smooth_norms(*self._over_all_time(t, values), self.form.space.unknown_nodes))

    def _over_all_time(self, t: float, values: Tensor) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray]:
        """K + M / T at values (n,) at a moment, the field of each row, and (n,) which rows are no conditions."""
        by_value, by_rate = self.form.matrices(np.array([t]), values[None], torch.zeros_like(values)[None])[0]
        free = np.ones(self.size, dtype=bool)
        free[self.constrained.cpu().numpy()] = False
        return self.form.to_scipy(by_value + by_rate / self._duration), self.field, free

    def _unbalanced(self) -> list[tuple[Tensor, Tensor]]:
        """Of pinned fields that are known only up to a constant: their degrees of freedom, and (n,) even shares of a whole."""
        if not self.problem.pins:
            return []
        found = [imbalances_at(self.form, self._constraints(float(t)), float(t)) for t in self._probes]
        for t, some in zip(self._probes, found, strict=True):
            refuse_all(some, f"at t = {t:.4g} ")
        shares = [
            (torch.from_numpy(one.own), torch.from_numpy(even_share(self.form.space, one.own))) for one in found[0]
        ]
        return [(own.to(self.device), share.to(self.device)) for own, share in shares]

    def spread(self, times: np.ndarray, values: Tensor, rates: Tensor) -> Tensor | None:
        """(Q, n) what makes equations of pinned fields add up to zero, as `spread_evenly` says; None where nothing is to be.

        Args:
            times: (Q,) moments.
            values, rates: (Q, n) then, of which those on the boundary matter.
        """
        if not self._spread:
            return None
        R = self.form.residual(times, values, rates)
        return -torch.stack([R[:, own].sum(1)[:, None] * share for own, share in self._spread]).sum(0)

    def prescribed(self, t: float) -> Tensor:
        """Values (c,) of the constrained degrees of freedom at a moment."""
        found = self.structure if self.values_constant else self._constraints(t)
        return torch.from_numpy(found.value).to(self.device)

    def without_constrained(self, entries: Tensor, unit: bool) -> Tensor:
        """Entries with the rows of constrained degrees of freedom emptied, or saying u_i = ..., u_i - u_j = ... (unit)."""
        entries = torch.where(self._entries_fixed, 0.0, entries)
        if unit:
            entries[self._unit] = 1.0
            entries[self._repeated] = -1.0
        return entries

    def _constraints(self, t: float, initial: bool = False) -> Constraints:
        space = self.form.space

        def nodes_on(boundary: str, component: int) -> np.ndarray:
            own, offset = space.scalar[component], space.offsets[component]
            if boundary in ENDS:
                count = own.size if initial and boundary == "initial" else 0
                return offset + np.arange(count)
            return offset + own.boundary_nodes(self.mesh.facets(boundary))

        return find_constraints(self.problem, _Layer(self.form, t), nodes_on)


class _Layer:
    """The degrees of freedom of one time level, as `find_constraints` wants them."""

    def __init__(self, form: SpatialForm, t: float) -> None:
        self.size = form.size
        self.unknown_nodes = np.column_stack([form.space.unknown_nodes, np.full(form.size, t)])
        self.unknown_components = form.space.unknown_components


@dataclass(frozen=True)
class Window:
    """Some steps of a march: an equation for tensors (L, n).

    Attributes:
        space: what stays the same.
        layers: the steps.
        known: (H, n) time levels before the window, the last at its start.
    """

    space: MarchSpace
    layers: Layers
    known: Tensor

    @cached_property
    def prescribed(self) -> Tensor:
        """(L, c) values of the constrained degrees of freedom at the new time levels."""
        return torch.stack([self.space.prescribed(float(t)) for t in self.layers.layers])

    @cached_property
    def nodes(self) -> Nodes:
        """The degrees of freedom as outputs of a network."""
        return self.space.nodes(self.layers.count)

    @cached_property
    def weights(self) -> np.ndarray:
        """(L n,) of a discrete L2 norm in space and time."""
        return np.outer(self.layers.weights, self.space.weights).ravel()

    def norm(self, U: Tensor) -> float:
        """Discrete L2 norm of (L, n)."""
        return float((torch.from_numpy(self.weights).to(U.device) * U.reshape(-1) ** 2).sum().sqrt())

    def sizes(self, U: Tensor) -> np.ndarray:
        """(F,) the same of each field."""
        weights = torch.from_numpy(self.layers.weights).to(U.device)
        squares = (weights @ U**2).cpu().numpy() * self.space.weights
        return np.asarray(np.sqrt(np.bincount(self.space.field, squares, len(self.space.problem.unknowns))))

    def ratios(self, U: Tensor) -> np.ndarray:
        """(F, F) ratios of units of the fields that fit each other, as a derivative says."""
        return self.space.ratios(float(self.layers.layers[-1]), U[-1])

    def moved(self, U: Tensor, correction: Tensor, factor: float) -> Tensor:
        """U - factor * correction; constrained degrees of freedom take the whole step."""
        result, c = U - factor * correction, self.space.constrained
        result[:, c] = U[:, c] - correction[:, c]
        return result

    def residual(self, U: Tensor) -> Tensor:
        """F (L, n) at U (L, n); rows of constrained degrees of freedom are u_i - g_i."""
        every = torch.cat([self.known, U])
        values, rates = self._table("value") @ every, self._table("slope") @ every
        return self.with_conditions(
            self._table("test") @ self.space.form.residual(self.layers.moments, values, rates), U
        )

    def with_conditions(self, result: Tensor, U: Tensor) -> Tensor:
        """A residual (L, n) at U (L, n), in place, with the rows of constrained degrees of freedom."""
        c, repeats, slave = self.space.constrained, self.space.repeats, self.space.is_slave
        if self._spread is not None:
            result += self._spread
        result[:, c] = U[:, c] - torch.where(slave, U[:, repeats], self.prescribed)
        return result

    @cached_property
    def _spread(self) -> Tensor | None:
        """(L, n) what makes equations of pinned fields add up to zero with the values that are prescribed."""
        own = torch.where(self.space.is_slave, 0.0, self.prescribed)
        every = torch.cat([self.known, self.known.new_zeros(len(own), self.space.size)])
        every[-len(own) :, self.space.constrained] = own
        values, rates = self._table("value") @ every, self._table("slope") @ every
        found = self.space.spread(self.layers.moments, values, rates)
        return None if found is None else self._table("test") @ found

    def linearise(self, U: Tensor) -> WindowMatrix:
        """F'(U)."""
        every = torch.cat([self.known, U])
        values, rates = self._table("value") @ every, self._table("slope") @ every
        pairs = self.space.form.matrices(self.layers.moments, values, rates)
        return WindowMatrix(self.space, self.layers, pairs)

    def _table(self, name: str) -> Tensor:
        return self._tables[name]

    @cached_property
    def _tables(self) -> dict[str, Tensor]:
        """Of the scheme, on the device once and for all: nothing is copied there while a residual is computed."""
        names = ("value", "slope", "test")
        return {name: torch.from_numpy(getattr(self.layers, name)).to(self.space.device) for name in names}


class WindowMatrix:
    """F'(U) as an operator on (L, n): matrices of space at the moments, combined by the scheme's tables."""

    def __init__(self, space: MarchSpace, layers: Layers, pairs: list[tuple[Tensor, Tensor]]) -> None:
        self.space, self.layers = space, layers
        cleaned: dict[int, Tensor] = {}
        for entries in (e for pair in pairs for e in pair):
            if id(entries) not in cleaned:
                cleaned[id(entries)] = space.without_constrained(entries, unit=False)
        self.pairs = [(cleaned[id(k)], cleaned[id(m)]) for k, m in pairs]
        H, device = layers.history, space.device
        self._value = torch.from_numpy(layers.value[:, H:]).to(device)
        self._slope = torch.from_numpy(layers.slope[:, H:]).to(device)
        self._test = torch.from_numpy(layers.test).to(device)
        self._products: dict[tuple[int, bool], Tensor] = {}

    def apply(self, U: Tensor) -> Tensor:
        """(L, n) -> (L, n)."""
        values, rates = self._value @ U, self._slope @ U
        at_moments = torch.stack(
            [self._csr(k) @ u + self._csr(m) @ v for (k, m), u, v in zip(self.pairs, values, rates, strict=True)]
        )
        result = self._test @ at_moments
        c, repeats, slave = self.space.constrained, self.space.repeats, self.space.is_slave
        result[:, c] = U[:, c] - torch.where(slave, U[:, repeats], 0.0)
        return result

    def apply_transpose(self, R: Tensor) -> Tensor:
        """(L, n) -> (L, n)."""
        c = self.space.constrained
        at_moments = self._test.T @ R
        values = torch.stack([self._csr(k, True) @ r for (k, _), r in zip(self.pairs, at_moments, strict=True)])
        rates = torch.stack([self._csr(m, True) @ r for (_, m), r in zip(self.pairs, at_moments, strict=True)])
        result = self._value.T @ values + self._slope.T @ rates
        result[:, c] += R[:, c]
        result.index_add_(1, self.space.masters, -R[:, self.space.slaves])
        return result

    def mean(self) -> tuple[Tensor, Tensor]:
        """(nnz,) each: dR/du with unit rows of constrained degrees of freedom, and dR/du_t, both averaged over the moments."""
        by_value = torch.stack([k for k, _ in self.pairs]).mean(0)
        by_rate = torch.stack([m for _, m in self.pairs]).mean(0)
        return self.space.without_constrained(by_value, unit=True), by_rate

    def to_scipy(self) -> sp.csr_matrix:
        """The whole matrix (L n, L n), for comparison with other solvers."""
        form, L = self.space.form, self.layers.count
        total = sp.csr_matrix((L * form.size, L * form.size))
        test, value, slope = (t.cpu().numpy() for t in (self._test, self._value, self._slope))
        for q, (k, m) in enumerate(self.pairs):
            for table, entries in ((value, k), (slope, m)):
                total = total + sp.kron(test[:, [q]] @ table[[q]], form.to_scipy(entries), format="csr")
        unit = form.to_scipy(self.space.without_constrained(torch.zeros_like(self.pairs[0][0]), unit=True))
        total = sp.csr_matrix(total + sp.kron(sp.identity(L), unit))
        total.eliminate_zeros()
        return total

    def _csr(self, entries: Tensor, transpose: bool = False) -> Tensor:
        key = (id(entries), transpose)
        if key not in self._products:
            self._products[key] = self.space.form.to_torch(entries, transpose)
        return self._products[key]
