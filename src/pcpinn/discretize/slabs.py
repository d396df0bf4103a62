"""Space-time as a product: finite elements in space, polynomials in slabs of time (see time_scheme).

Degrees of freedom are values at (node of space, time level), level by level. With U their table (L, n), the equations are
    test R(trial_0 U, trial_1 U) = 0,
where R is the weak form in space at each moment. Unless coefficients depend on time, its matrix is a sum of Kronecker products.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..errors import PcpinnError
from ..mesh.slab_mesh import ENDS, SlabMesh
from ..problem.problem import Problem
from .batches import Batch, Entries, carrying, cell_batches, facet_batch, local_matrices, scatter
from .constraints import Constraints, carried, find_constraints
from .jets import Jets, boundary_jacobian, boundary_state
from .kronecker import Kronecker
from .pointwise import BoundaryFlux, Pointwise
from .slab_checks import check_slabs
from .space import Space
from .time_scheme import SCHEMES, TimeScheme

_CHUNK_POINTS = 200_000
_SAMPLES = 64


class TimeSlabs:
    """The discretisation of a problem on a mesh of space times slabs of time.

    Attributes:
        coefficients: (n, K) nodal values in space that a problem on extended points sees there (see problem/family.py).
    """

    name = "slabs"

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
        self.problem, self.mesh = problem, mesh
        self.scheme = TimeScheme(scheme, mesh.times, order)
        self.space = Space(mesh.space, problem.unknowns, degree, quadrature, element)
        self.pointwise = Pointwise(problem)
        self.jets = Jets(self.pointwise, strong=scheme != "galerkin")
        self.coefficients = coefficients
        check_slabs(problem, scheme, self.sample_points())

    def with_coefficients(self, c: Tensor) -> TimeSlabs:
        """The same with other coefficients (n, K); what does not depend on them is shared."""
        other = object.__new__(TimeSlabs)  # all checks have been made
        other.problem, other.mesh, other.scheme, other.space = self.problem, self.mesh, self.scheme, self.space
        other.pointwise, other.jets, other.coefficients = self.pointwise, self.jets, c
        return other

    @property
    def layer_size(self) -> int:
        """Degrees of freedom per time level n."""
        return self.space.size

    @property
    def size(self) -> int:
        """Number of degrees of freedom N = L n."""
        return self.scheme.layer_count * self.layer_size

    @property
    def components(self) -> int:
        """Number of scalar components C."""
        return self.space.components

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

    def component_range(self, name: str) -> range:
        """Component numbers of a field."""
        return self.space.component_range(name)

    @cached_property
    def constraints(self) -> Constraints:
        """Dirichlet values at all time levels, initial values at the first, periodic identifications and pins."""
        return self.constraints_for(self.problem)

    def constraints_for(self, problem: Problem) -> Constraints:
        """The same for a problem of other conditions or pins."""
        layers = np.arange(self.scheme.layer_count) * self.layer_size

        def nodes_on(boundary: str, component: int) -> np.ndarray:
            space, offset = self.space.scalar[component], self.space.offsets[component]
            if boundary in ENDS:
                return layers[0 if boundary == "initial" else -1] + offset + np.arange(space.size)
            at = offset + space.boundary_nodes(self.mesh.space.facets(boundary))
            return (layers[:, None] + at).ravel()

        points = carried(self.space, self.coefficients, self.scheme.layers)
        found = find_constraints(problem, self, nodes_on, points)
        return replace(found, tested_at=np.arange(self.size))

    @cached_property
    def weights(self) -> np.ndarray:
        """(N,) positive weights of a discrete L2 norm."""
        return np.outer(self.scheme.weights, self.space.weights).ravel()

    def sample_points(self, count: int = _SAMPLES) -> Tensor:
        """Some points (m, d) of space-time."""
        x = self._sample_space(count)
        moments = self.scheme.moments
        t = moments[np.linspace(0, len(moments) - 1, len(x)).astype(int)]
        return torch.from_numpy(np.column_stack([x, t]))

    def boundary_samples(self) -> Iterator[tuple[BoundaryFlux, Tensor, Tensor]]:
        """Each boundary of space with natural conditions: its flux, some points and the normals there."""
        for flux, batch in self.facets():
            assert batch.normals is not None
            t = torch.full((len(batch.points), 1), float(self.scheme.moments[0]), dtype=torch.float64)
            normals = batch.normals.flatten(0, 1)
            yield flux, torch.cat([batch.points, t], 1), torch.cat([normals, torch.zeros_like(t)], 1)

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
        parts = 1 if self.jets.strong else 2
        tested = torch.zeros(len(self.scheme.moments), parts, self.layer_size, dtype=torch.float64)
        for batch in self.cells():
            step = max(1, _CHUNK_POINTS // batch.dx.numel())
            for start in range(0, len(self.scheme.moments), step):
                q = slice(start, start + step)
                self._add_cells(tested, batch, [j[q] for j in jets], q)
        for flux, batch in self.facets():
            for k, t in enumerate(self.scheme.moments):
                x, n = batch.at(float(t))
                state = boundary_state(batch, [j[k] for j in jets])
                g = flux.evaluate(x, n, state).unflatten(0, batch.dx.shape)[..., None]
                tested[k, 0] = scatter(tested[k, 0], batch, -g)
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

    def _add_cells(self, tested: Tensor, batch: Batch, jets: list[Tensor], q: slice) -> None:
        """Weak form of the cells in a batch at the moments q, added to tested[q]."""
        moments = torch.from_numpy(self.scheme.moments[q])
        x = batch.points
        points = torch.cat(
            [x.repeat(len(moments), 1), moments.repeat_interleave(len(x))[:, None]], 1
        )  # moment by moment
        state = torch.stack(
            [torch.stack([batch.state(row) for row in jet]).flatten(0, 1) for jet in jets], 2
        )  # (moments * e * q, C, 2, 1 + dx)
        out = self.jets.evaluate(points, state)
        dx = self.mesh.space.dimension
        for k, one in enumerate(out.unflatten(0, (len(moments), *batch.dx.shape))):
            at = q.start + k
            tested[at, 0] = scatter(tested[at, 0], batch, one[..., : 1 + dx])
            if not self.jets.strong:
                tested[at, 1] = scatter(tested[at, 1], batch, one[..., 1 + dx :])

    def _spatial_matrices(self, t: float, jet: list[Tensor] | None = None) -> dict[tuple[int, int], sp.csr_matrix]:
        """(test, derivative in time) -> matrix (n, n) of the weak form in space at a moment; absent where it vanishes."""
        entries: dict[tuple[int, int], Entries] = {}
        zero = torch.zeros(self.layer_size, dtype=torch.float64)
        jet = jet or [zero] * 2
        dx = self.mesh.space.dimension
        for batch in self.cells():
            x, _ = batch.at(t)
            state = torch.stack([batch.state(j) for j in jet], 2)
            jacobian = self.jets.jacobian(x, state).unflatten(0, batch.dx.shape)  # (e, q, C, out, C, 2, 1 + dx)
            for a, part in enumerate((jacobian[:, :, :, : 1 + dx], jacobian[:, :, :, 1 + dx :])):
                for k in range(2):
                    if part.shape[3] and bool(part[..., k, :].any()):
                        entries.setdefault((a, k), []).extend(local_matrices(batch, part[..., k, :].contiguous()))
        for flux, batch in self.facets():
            x, n = batch.at(t)
            jacobian = -flux.jacobian(x, n, boundary_state(batch, jet)).unflatten(0, batch.dx.shape)
            for k, part in enumerate(boundary_jacobian(jacobian)):
                if bool(part.any()):
                    entries.setdefault((0, k), []).extend(local_matrices(batch, part[:, :, :, None]))
        return {key: self._sparse(parts) for key, parts in entries.items()}

    def _sparse(self, entries: Entries) -> sp.csr_matrix:
        rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
        matrix = sp.coo_matrix((values, (rows, columns)), shape=(self.layer_size,) * 2).tocsr()
        matrix.sum_duplicates()
        return matrix

    @cached_property
    def _steady(self) -> bool:
        """Whether the coefficients are the same at some points of space, at up to 200 moments."""
        x = torch.from_numpy(self._sample_space(_SAMPLES))
        shape = (len(x), self.components, 2, 1 + self.mesh.space.dimension)
        state = torch.zeros(shape, dtype=torch.float64)

        def at(t: float) -> Tensor:
            return self.jets.jacobian(torch.cat([x, torch.full((len(x), 1), t, dtype=torch.float64)], 1), state)

        moments = self.scheme.moments
        chosen = moments[np.unique(np.linspace(0, len(moments) - 1, 200).astype(int))]
        first = at(float(moments[0]))
        same = all(torch.allclose(at(float(t)), first, rtol=1e-12, atol=1e-14) for t in chosen)
        for flux, batch in self.facets():
            if not same:
                break
            zero = torch.zeros(len(batch.points), self.components, 1 + self.mesh.dimension, dtype=torch.float64)
            first = flux.jacobian(*batch.at(float(moments[0])), zero)
            same = all(
                torch.allclose(flux.jacobian(*batch.at(float(t)), zero), first, rtol=1e-12, atol=1e-14) for t in chosen
            )
        return same

    def _sample_space(self, count: int) -> np.ndarray:
        x = self.space.quadrature.x.reshape(-1, self.mesh.space.dimension)
        x = x[np.linspace(0, len(x) - 1, min(count, len(x))).astype(int)]
        if self.coefficients is None:
            return x
        return np.column_stack([self.space.scalar[0].interpolation(x) @ self.coefficients.numpy(), x])

    def cells(self) -> Iterator[Batch]:
        """All cells of space."""
        return (carrying(batch, self.coefficients) for batch in cell_batches(self.space))

    def facets(self) -> Iterator[tuple[BoundaryFlux, Batch]]:
        """Facets of space with natural conditions, and these."""
        for name in self.problem.conditions:
            flux = BoundaryFlux(self.problem, name)
            if name not in ENDS and not flux.is_zero:
                yield flux, carrying(facet_batch(self.space, self.mesh.space.facets(name)), self.coefficients)

    def _end_terms(self, table: np.ndarray) -> Iterator[tuple[int, np.ndarray, sp.csr_matrix | None]]:
        """Prescribed fluxes through the ends of time (galerkin): time level, contribution (n,) and its matrix."""
        for name, layer, side in (("initial", 0, -1.0), ("final", -1, 1.0)):
            flux = BoundaryFlux(self.problem, name)
            if flux.is_zero:
                continue
            u, still = torch.from_numpy(table[layer].copy()), torch.zeros(self.layer_size, dtype=torch.float64)
            part, entries = torch.zeros(self.layer_size, dtype=torch.float64), []
            for batch in self.cells():
                x, n = batch.at(float(self.scheme.layers[layer]))
                n[:, -1] = side
                state = boundary_state(batch, [u, still])
                part = scatter(part, batch, -flux.evaluate(x, n, state).unflatten(0, batch.dx.shape)[..., None])
                jacobian = -flux.jacobian(x, n, state).unflatten(0, batch.dx.shape)
                entries += local_matrices(batch, boundary_jacobian(jacobian)[0][:, :, :, None])
            yield layer, part.numpy(), self._sparse(entries) if entries else None
