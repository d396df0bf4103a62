"""Residual and matrix of the weak form, from the pointwise functions of a Problem alone.

R_i(u) = integral of source . v_i + flux . grad v_i  -  boundary integral of g . v_i        for each test function v_i
A      = dR/du, from the pointwise Jacobian of (source, flux) contracted with the shape functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..mesh.mesh import Mesh
from ..problem.problem import Problem
from ..team import ALONE, Team
from .batches import Batch, Entries, local_matrices, scatter, sparse
from .constraints import Constraints, carried, find_constraints
from .integrand import Integrand, in_cells, on_boundary
from .pointwise import BoundaryFlux
from .space import Space
from .time_orders import check_start, refuse_mixed
from .weak_form import WeakForm


class FiniteElements(WeakForm):
    """The finite element discretisation of a problem on a mesh.

    Attributes:
        team: the processes that evaluate it together, each some cells; all get the whole.
    """

    name = "fem"
    team: Team = ALONE

    def __init__(
        self,
        problem: Problem,
        mesh: Mesh,
        degree: int = 1,
        quadrature_order: int | None = None,
        coefficients: Tensor | None = None,
        element: str = "lagrange",
    ) -> None:
        problem.check_boundaries(mesh.boundary_names)
        space = Space(mesh, problem.unknowns, degree, quadrature_order, element)
        super().__init__(problem, space, in_cells, on_boundary, coefficients)
        self.mesh = mesh
        refuse_mixed(check_start(problem, self.sample_points()))

    @property
    def size(self) -> int:
        """Number of degrees of freedom N, constrained ones included."""
        return self.space.size

    @property
    def unknown_nodes(self) -> np.ndarray:
        """(N, d) position of each degree of freedom."""
        return self.space.unknown_nodes

    @property
    def unknown_components(self) -> np.ndarray:
        """(N,) component of each degree of freedom."""
        return self.space.unknown_components

    def interpolate(self, u: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The discrete function at points x (m, d): (m, C)."""
        return self.space.interpolate(u, x)

    @cached_property
    def constraints(self) -> Constraints:
        """Dirichlet values, periodic identifications and pins."""
        return self.constraints_for(self.problem)

    def nodes_on(self, boundary: str, component: int) -> np.ndarray:
        """Degrees of freedom of a component on a boundary."""
        scalar = self.space.scalar[component]
        return self.space.offsets[component] + scalar.boundary_nodes(self.mesh.facets(boundary))

    def constraints_for(self, problem: Problem) -> Constraints:
        """The same for a problem of other conditions or pins."""

        return find_constraints(problem, self.space, self.nodes_on, carried(self.space, self.coefficients))

    @property
    def weights(self) -> np.ndarray:
        """(N,) positive weights of a discrete L2 norm."""
        return self.space.weights

    def sample_points(self, count: int = 64) -> Tensor:
        """Some quadrature points (m, d), spread over the mesh."""
        return torch.from_numpy(self.samples(count))

    def boundary_samples(self) -> Iterator[tuple[BoundaryFlux, Tensor, Tensor]]:
        """Each boundary with natural conditions: its flux, its quadrature points and the normals there."""
        for flux, batch in self.facets():
            yield flux, batch.points, batch.outward

    def seen(self, batch: Batch, u: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Of degrees of freedom u (N,) at the points of a batch: points, normals and states."""
        return batch.points, batch.outward, batch.state(u)

    def residual(self, u: Tensor) -> Tensor:
        """R(u) (N,), constraints not yet applied; differentiable in u, unless a team evaluates it."""
        r = torch.zeros_like(u)
        for integrand, batch in self._own_parts():
            out = integrand.evaluate(batch.points, batch.outward, batch.state(u))
            r = scatter(r, batch, out.unflatten(0, batch.dx.shape))
        return self.team.sum(r)

    def matrix(self, u: Tensor) -> sp.csr_matrix:
        """dR/du (N, N) at u, constraints not yet applied."""
        entries: Entries = []
        for integrand, batch in self._own_parts():
            jacobian = integrand.jacobian(batch.points, batch.outward, batch.state(u))
            entries += local_matrices(batch, jacobian.unflatten(0, batch.dx.shape))
        own = sparse(entries, (self.size, self.size))
        return own if self.team.alone else self._of_all(own)

    def _own_parts(self) -> Iterator[tuple[Integrand, Batch]]:
        """What this process integrates: its share of the cells; facets, which are few, are the first one's."""
        team, cells = self.team, len(self.mesh.cells)
        if team.alone:
            yield from self.parts()
            return
        first, end = (cells * k // team.size for k in (team.rank, team.rank + 1))
        yield from ((self.inside, batch) for batch in self.cells(first, end))
        if team.first:
            yield from ((self.through(flux), batch) for flux, batch in self.facets())

    def _of_all(self, own: sp.csr_matrix) -> sp.csr_matrix:
        """The sum of the matrices of all processes."""
        team, entries = self.team, own.tocoo()
        counts = team.gather(torch.tensor([entries.nnz]), [1] * team.size).tolist()
        arrays = (entries.row.astype(np.int64), entries.col.astype(np.int64), entries.data)
        rows, columns, values = (team.gather(torch.from_numpy(a), counts).numpy() for a in arrays)
        return sparse([(rows, columns, values)], own.shape)
