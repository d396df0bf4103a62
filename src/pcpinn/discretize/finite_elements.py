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
from .batches import Batch, Entries, carrying, cell_batches, facet_batch, local_matrices, scatter
from .constraints import Constraints, carried, find_constraints
from .pointwise import BoundaryFlux, Pointwise
from .space import Space
from .time_orders import check_start, refuse_mixed


class FiniteElements:
    """The finite element discretisation of a problem on a mesh.

    Attributes:
        coefficients: (n, K) nodal values that a problem on extended points sees there (see problem/family.py); None for others.
    """

    name = "fem"

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
        self.problem, self.mesh = problem, mesh
        self.space = Space(mesh, problem.unknowns, degree, quadrature_order, element)
        self.pointwise = Pointwise(problem)
        self.coefficients = coefficients
        refuse_mixed(check_start(problem, self.sample_points()))

    def with_coefficients(self, c: Tensor) -> FiniteElements:
        """The same with other coefficients (n, K); what does not depend on them is shared."""
        other = object.__new__(FiniteElements)  # all checks have been made
        other.problem, other.mesh, other.space = self.problem, self.mesh, self.space
        other.pointwise, other.coefficients = self.pointwise, c
        return other

    @property
    def size(self) -> int:
        """Number of degrees of freedom N, constrained ones included."""
        return self.space.size

    @property
    def components(self) -> int:
        """Number of scalar components C of all fields."""
        return self.space.components

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

    def constraints_for(self, problem: Problem) -> Constraints:
        """The same for a problem of other conditions or pins."""

        def nodes_on(boundary: str, component: int) -> np.ndarray:
            return self.space.offsets[component] + self.space.scalar[component].boundary_nodes(
                self.mesh.facets(boundary)
            )

        return find_constraints(problem, self.space, nodes_on, carried(self.space, self.coefficients))

    @property
    def weights(self) -> np.ndarray:
        """(N,) positive weights of a discrete L2 norm."""
        return self.space.weights

    def sample_points(self, count: int = 64) -> Tensor:
        """Some quadrature points (m, d), spread over the mesh."""
        x = self.space.quadrature.x.reshape(-1, self.mesh.dimension)
        x = x[np.linspace(0, len(x) - 1, min(count, len(x))).astype(int)]
        if self.coefficients is not None:
            x = np.column_stack([self.space.scalar[0].interpolation(x) @ self.coefficients.numpy(), x])
        return torch.from_numpy(x)

    def boundary_samples(self) -> Iterator[tuple[BoundaryFlux, Tensor, Tensor]]:
        """Each boundary with natural conditions: its flux, its quadrature points and the normals there."""
        for flux, batch in self.facets():
            assert batch.normals is not None
            yield flux, batch.points, batch.normals.flatten(0, 1)

    def residual(self, u: Tensor) -> Tensor:
        """R(u) (N,), constraints not yet applied; differentiable in u."""
        r = torch.zeros_like(u)
        for batch in self.cells():
            out = self.pointwise.evaluate(batch.points, batch.state(u)).unflatten(0, batch.dx.shape)
            r = scatter(r, batch, out)
        for flux, batch in self.facets():
            g = flux.evaluate(batch.points, batch.normals.flatten(0, 1), batch.state(u))  # type: ignore[union-attr]
            r = scatter(r, batch, -g.unflatten(0, batch.dx.shape)[..., None])
        return r

    def matrix(self, u: Tensor) -> sp.csr_matrix:
        """dR/du (N, N) at u, constraints not yet applied."""
        entries: Entries = []
        for batch in self.cells():
            jacobian = self.pointwise.jacobian(batch.points, batch.state(u)).unflatten(0, batch.dx.shape)
            entries += local_matrices(batch, jacobian)
        for flux, batch in self.facets():
            jacobian = flux.jacobian(batch.points, batch.normals.flatten(0, 1), batch.state(u))  # type: ignore[union-attr]
            entries += local_matrices(batch, -jacobian.unflatten(0, batch.dx.shape)[:, :, :, None])
        if not entries:  # nothing depends on u to first order
            return sp.csr_matrix((self.size, self.size))
        rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
        matrix = sp.coo_matrix((values, (rows, columns)), shape=(self.size, self.size)).tocsr()
        matrix.sum_duplicates()
        return matrix

    def cells(self) -> Iterator[Batch]:
        """All cells."""
        return (carrying(batch, self.coefficients) for batch in cell_batches(self.space))

    def facets(self) -> Iterator[tuple[BoundaryFlux, Batch]]:
        """Facets with natural conditions, and these."""
        for name in self.problem.conditions:
            flux = BoundaryFlux(self.problem, name)
            if not flux.is_zero:
                yield flux, carrying(facet_batch(self.space, self.mesh.facets(name)), self.coefficients)
