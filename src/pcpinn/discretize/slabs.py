"""Space-time as a product: finite elements in space, polynomials in slabs of time (see time_scheme).

Degrees of freedom are values at (node of space, time level), level by level. With U their table (L, n), the equations are
    test R(trial_0 U, trial_1 U) = 0,
where R is the weak form in space at each moment. Unless coefficients depend on time, its matrix is a sum of Kronecker products.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..errors import PcpinnError
from ..mesh.slab_mesh import ENDS, SlabMesh
from ..problem.problem import Problem
from .batches import Entries, at_moments, local_matrices, scatter, sparse
from .constraints import Constraints, carried, find_constraints
from .integrand import Integrand, jets_in_cells, jets_on_boundary
from .kronecker import Kronecker
from .pointwise import BoundaryFlux
from .slab_checks import check_slabs
from .space import Space
from .time_scheme import SCHEMES, TimeScheme
from .weak_form import WeakForm

_CHUNK_POINTS = 200_000
_SAMPLES = 64


class TimeSlabs(WeakForm):
    """The discretisation of a problem on a mesh of space times slabs of time.

    Attributes:
        strong: time derivatives are those of the polynomials; if not, they are tested, too.
    """

    name = "slabs"
    not_facets = ENDS

    def __init__(
        self,
        problem: Problem,
        mesh: SlabMesh,
        scheme: str,
        order: int,
        degree: int = 2,
        quadrature: int | None = None,
        coefficients: Tensor | None = None,
        element: str = "lagrange",
    ) -> None:
        if scheme not in SCHEMES:
            raise PcpinnError(f"scheme={scheme!r} is not a choice", f"use {', '.join(SCHEMES)}")
        if not 1 <= order <= 12:
            raise PcpinnError(f"order={order} is not between 1 and 12", "use more slabs instead of a higher order")
        problem.check_boundaries(mesh.boundary_names)
        self.strong = scheme != "galerkin"
        space = Space(mesh.space, problem.unknowns, degree, quadrature, element)
        inside = partial(jets_in_cells, strong=self.strong)
        super().__init__(problem, space, inside, jets_on_boundary, coefficients)
        self.mesh, self.scheme = mesh, TimeScheme(scheme, mesh.times, order)
        check_slabs(problem, scheme, self.sample_points())

    @property
    def layer_size(self) -> int:
        """Degrees of freedom per time level n."""
        return self.space.size

    @property
    def size(self) -> int:
        """Number of degrees of freedom N = L n."""
        return self.scheme.layer_count * self.layer_size

    @cached_property
    def unknown_nodes(self) -> np.ndarray:
        """(N, d) position of each degree of freedom."""
        x = self.space.unknown_nodes
        return np.column_stack(
            [np.tile(x, (self.scheme.layer_count, 1)), np.repeat(self.scheme.layers, self.layer_size)]
        )

    @cached_property
    def unknown_components(self) -> np.ndarray:
        """(N,) component of each degree of freedom."""
        return np.tile(self.space.unknown_components, self.scheme.layer_count)

    @property
    def slab_starts(self) -> np.ndarray:
        """(s + 2,) first degree of freedom of the initial time level, of each slab's new time levels, and N."""
        m = self.scheme.order
        return self.layer_size * np.concatenate([[0], 1 + m * np.arange(self.scheme.slabs + 1)])

    @cached_property
    def constraints(self) -> Constraints:
        """Dirichlet values at all time levels, initial values at the first, periodic identifications and pins."""
        return self.constraints_for(self.problem)

    def nodes_on(self, boundary: str, component: int) -> np.ndarray:
        """Degrees of freedom of a component on a boundary, at all time levels, or at an end of time."""
        layers = np.arange(self.scheme.layer_count) * self.layer_size
        space, offset = self.space.scalar[component], self.space.offsets[component]
        if boundary in ENDS:
            return layers[0 if boundary == "initial" else -1] + offset + np.arange(space.size)
        at = offset + space.boundary_nodes(self.mesh.space.facets(boundary))
        return (layers[:, None] + at).ravel()

    def constraints_for(self, problem: Problem) -> Constraints:
        """The same for a problem of other conditions or pins."""
        points = carried(self.space, self.coefficients, self.scheme.layers)
        found = find_constraints(problem, self, self.nodes_on, points)
        return replace(found, tested_at=np.arange(self.size))

    @cached_property
    def weights(self) -> np.ndarray:
        """(N,) positive weights of a discrete L2 norm."""
        return np.outer(self.scheme.weights, self.space.weights).ravel()

    def sample_points(self, count: int = _SAMPLES) -> Tensor:
        """Some points (m, d) of space-time."""
        x = self.samples(count)
        moments = self.scheme.moments
        t = moments[np.linspace(0, len(moments) - 1, len(x)).astype(int)]
        return torch.from_numpy(np.column_stack([x, t]))

    def boundary_samples(self) -> Iterator[tuple[BoundaryFlux, Tensor, Tensor]]:
        """Each boundary of space with natural conditions: its flux, some points and the normals there."""
        for flux, batch in self.facets():
            yield flux, *batch.at(self.scheme.moments[0])

    def interpolate(self, u: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The discrete function at points x (m, d): (m, C). Points that share their place in space are found once."""
        places, which = np.unique(x[:, :-1], axis=0, return_inverse=True)
        in_time = self.scheme.interpolation(x[:, -1])
        table = u.reshape(self.scheme.layer_count, self.layer_size)
        result = np.empty((len(x), self.components))
        for k, (space, a, b) in enumerate(
            zip(self.space.scalar, self.space.offsets, self.space.offsets[1:], strict=False)
        ):
            at_places = space.interpolation(places) @ table[:, a:b].T  # (places, L)
            rows = np.repeat(np.arange(len(x)), np.diff(in_time.indptr))
            products = in_time.data * at_places[which.ravel()[rows], in_time.indices]
            result[:, k] = np.bincount(rows, products, minlength=len(x))
        return result

    def residual(self, u: Tensor) -> Tensor:
        """R(u) (N,), constraints not yet applied."""
        table = u.detach().numpy().reshape(self.scheme.layer_count, self.layer_size)
        jets = [torch.from_numpy(np.ascontiguousarray(t @ table)) for t in self.scheme.trial]
        count = len(self.scheme.moments)
        tested = torch.zeros(count, 1 if self.strong else 2, self.layer_size, dtype=torch.float64)
        for integrand, batch in self.parts():
            step = max(1, _CHUNK_POINTS // batch.dx.numel())
            for start in range(0, count, step):
                q = slice(start, start + step)
                state = torch.stack([torch.stack([batch.state(row) for row in j[q]]).flatten(0, 1) for j in jets], 2)
                out = integrand.evaluate(*batch.at(*self.scheme.moments[q]), state)
                for k, one in enumerate(out.unflatten(0, (-1, *batch.dx.shape)), start):
                    for a, rows in self._tested(one.shape[-1]):
                        tested[k, a] = scatter(tested[k, a], batch, one[..., rows])
        result = self.scheme.test @ tested[:, 0].numpy()
        if self.scheme.test_rate is not None:
            result += self.scheme.test_rate @ tested[:, 1].numpy()
            for layer, part, _ in self._end_terms(table):
                result[layer] += part
        return torch.from_numpy(result.ravel())

    def matrix(self, u: Tensor) -> sp.csr_matrix:
        """dR/du (N, N) at u, constraints not yet applied."""
        parts = None if bool(u.any()) else self.kronecker
        if parts is not None:
            return parts.matrix()
        table = u.numpy().reshape(self.scheme.layer_count, self.layer_size)
        blocks: list[sp.coo_matrix] = []
        for q, t in enumerate(self.scheme.moments):
            rows = [trial[[q]] for trial in self.scheme.trial]
            jet = [torch.from_numpy((row @ table)[0]) for row in rows]
            found = self._spatial_matrices(float(t), jet)
            blocks += [sp.kron(self._tests[a][:, [q]] @ rows[k], K, format="coo") for (a, k), K in found.items()]
        blocks += [sp.kron(B, K, format="coo") for B, K in self._end_matrices(table)]
        entries = (np.concatenate([b.data for b in blocks]), np.concatenate([b.coords for b in blocks], axis=1))
        return sp.csr_matrix(entries, shape=(self.size, self.size))

    @cached_property
    def kronecker(self) -> Kronecker | None:
        """The matrix of a linear problem as a sum of Kronecker products; None if coefficients depend on time."""
        if not self._steady:
            return None
        moments = self.scheme.moments
        found = self._spatial_matrices(float(moments[0]))
        for t in moments[[len(moments) // 3, 2 * len(moments) // 3, -1]]:  # what a sample of points may have missed
            other = self._spatial_matrices(float(t))
            if found.keys() != other.keys() or any(
                abs(found[key] - other[key]).max() > 1e-10 * abs(found[key]).max() for key in found
            ):
                return None
        terms = [(sp.csr_matrix(self._tests[a] @ self.scheme.trial[k]), K) for (a, k), K in found.items()]
        terms += self._end_matrices(np.zeros((self.scheme.layer_count, self.layer_size)))
        fixed = np.zeros(self.size, dtype=bool)
        fixed[self.constraints.constrained] = True
        table = fixed.reshape(self.scheme.layer_count, self.layer_size)
        return Kronecker(tuple(terms), np.all(table, axis=1), np.all(table, axis=0))

    def eliminated(self, f: np.ndarray) -> tuple[sp.csr_matrix, np.ndarray] | None:
        """A and b with constraints from `kronecker` and f = -residual(0), if these prescribe whole time levels and nodes."""
        parts, constraints = self.kronecker, self.constraints
        if parts is None or (constraints.master >= 0).any() or parts.fixed.sum() != len(constraints.constrained):
            return None
        g = np.zeros(self.size)
        g[constraints.constrained] = constraints.value
        b = f - parts.apply(g)
        b[constraints.constrained] = constraints.value
        return parts.matrix_of_free(), b

    @property
    def _tests(self) -> list[sp.csr_matrix]:
        return [self.scheme.test] + ([] if self.scheme.test_rate is None else [self.scheme.test_rate])

    def _end_matrices(self, table: np.ndarray) -> list[tuple[sp.csr_matrix, sp.csr_matrix]]:
        """Kronecker terms of conditions at the ends of time (galerkin)."""
        count = self.scheme.layer_count
        terms = []
        for layer, _, K in self._end_terms(table) if self.scheme.test_rate is not None else ():
            if K is not None:
                terms.append((sp.csr_matrix(([1.0], ([layer % count], [layer % count])), shape=(count, count)), K))
        return terms

    def _tested(self, count: int) -> list[tuple[int, slice]]:
        """Which rows of an integrand that has `count` are tested with functions (0), and which with their rates (1)."""
        in_space = 1 + self.mesh.space.dimension
        return [(0, slice(in_space))] + ([(1, slice(in_space, None))] if count > in_space else [])

    def _spatial_matrices(self, t: float, jet: list[Tensor] | None = None) -> dict[tuple[int, int], sp.csr_matrix]:
        """(test, derivative in time) -> matrix (n, n) of the weak form in space at a moment; absent where it vanishes."""
        entries: dict[tuple[int, int], Entries] = {}
        jet = jet or [torch.zeros(self.layer_size, dtype=torch.float64)] * 2
        for integrand, batch in self.parts():
            jacobian = integrand.jacobian(*batch.at(t), batch.jet(*jet))
            jacobian = jacobian.unflatten(0, batch.dx.shape)  # (e, q, C, m, C, 2, 1 + dx)
            for a, rows in self._tested(jacobian.shape[3]):
                for k in range(2):
                    part = jacobian[:, :, :, rows, :, k]
                    if bool(part.any()):
                        entries.setdefault((a, k), []).extend(local_matrices(batch, part))
        return {key: sparse(parts, (self.layer_size,) * 2) for key, parts in entries.items()}

    @cached_property
    def _steady(self) -> bool:
        """Whether the coefficients are the same at some points of space, at up to 200 moments."""
        sample = torch.from_numpy(self.samples(_SAMPLES))
        places = [(self.inside, sample, torch.zeros_like(sample))]
        places += [(self.through(flux), batch.points, batch.outward) for flux, batch in self.facets()]
        moments = self.scheme.moments
        chosen = moments[np.unique(np.linspace(0, len(moments) - 1, 200).astype(int))]

        def same(integrand: Integrand, x: Tensor, n: Tensor) -> bool:
            state = torch.zeros(len(x), self.components, 2, 1 + self.mesh.space.dimension, dtype=torch.float64)

            def at(t: float) -> Tensor:
                return integrand.jacobian(at_moments(x, [t]), at_moments(n, [0.0]), state)

            first = at(moments[0])
            return all(torch.allclose(at(t), first, rtol=1e-12, atol=1e-14) for t in chosen)

        return all(same(*place) for place in places)

    def _end_terms(self, table: np.ndarray) -> Iterator[tuple[int, np.ndarray, sp.csr_matrix | None]]:
        """Prescribed fluxes through the ends of time (galerkin): time level, contribution (n,) and its matrix."""
        for name, layer, side in (("initial", 0, -1.0), ("final", -1, 1.0)):
            flux = BoundaryFlux(self.problem, name)
            if flux.is_zero:
                continue
            u, still = torch.from_numpy(table[layer].copy()), torch.zeros(self.layer_size, dtype=torch.float64)
            part, entries = torch.zeros(self.layer_size, dtype=torch.float64), []
            for batch in self.cells():
                x, n = batch.at(self.scheme.layers[layer])
                n[:, -1] = side
                integrand, state = self.through(flux), batch.jet(u, still)
                part = scatter(part, batch, integrand.evaluate(x, n, state).unflatten(0, batch.dx.shape))
                jacobian = integrand.jacobian(x, n, state).unflatten(0, batch.dx.shape)
                entries += local_matrices(batch, jacobian[..., 0, :])
            yield layer, part.numpy(), sparse(entries, (self.layer_size,) * 2) if entries else None
