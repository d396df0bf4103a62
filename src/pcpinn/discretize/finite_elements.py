"""Residual and matrix of the weak form, from the pointwise functions of a Problem alone.

R_i(u) = integral of source . v_i + flux . grad v_i  -  boundary integral of g . v_i        for each test function v_i
A      = dR/du, from the pointwise Jacobian of (source, flux) contracted with the shape functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import skfem
import torch
from torch import Tensor

from ..problem.problem import Problem
from .constraints import Constraints, find_constraints
from .mesh import Mesh
from .pointwise import BoundaryFlux, Pointwise
from .space import ScalarSpace, Space

_CHUNK_ENTRIES = 4_000_000  # numbers in the largest temporary of one chunk of cells


@dataclass(frozen=True)
class _Batch:
    """Points in a batch of cells or facets, with everything needed to evaluate and test there."""

    x: Tensor  # (e, q, d)
    dx: Tensor  # (e, q)
    shapes: list[Tensor]  # per component (e, q, 1 + d, b): shape functions and their gradients
    unknowns: list[Tensor]  # per component (e, b)
    normals: Tensor | None = None  # (e, q, d)

    def state(self, u: Tensor) -> Tensor:
        """Unknowns (N,) -> value and gradient of each component at the points: (e * q, C, 1 + d)."""
        parts = [torch.einsum("eqmb,eb->eqm", s, u[i]) for s, i in zip(self.shapes, self.unknowns, strict=True)]
        return torch.stack(parts, dim=2).flatten(0, 1)

    @property
    def points(self) -> Tensor:
        """(e * q, d)."""
        return self.x.flatten(0, 1)


class FiniteElements:
    """The finite element discretisation of a problem on a mesh."""

    name = "fem"

    def __init__(self, problem: Problem, mesh: Mesh, degree: int = 1, quadrature_order: int | None = None) -> None:
        problem.check_boundaries(mesh.boundary_names)
        self.problem, self.mesh = problem, mesh
        self.space = Space(mesh, problem.unknowns, degree, quadrature_order)
        self.pointwise = Pointwise(problem)

    @property
    def size(self) -> int:
        """Number of unknowns N, constrained ones included."""
        return self.space.size

    @property
    def components(self) -> int:
        """Number of scalar components C of all fields."""
        return self.space.components

    @property
    def unknown_nodes(self) -> np.ndarray:
        """(N, d) position of each unknown."""
        return self.space.unknown_nodes

    @property
    def unknown_components(self) -> np.ndarray:
        """(N,) component of each unknown."""
        return self.space.unknown_components

    def interpolate(self, u: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The discrete function at points x (m, d): (m, C)."""
        return self.space.interpolate(u, x)

    @cached_property
    def constraints(self) -> Constraints:
        """Dirichlet values, periodic identifications and pins."""

        def nodes_on(boundary: str, component: int) -> np.ndarray:
            return self.space.offsets[component] + self.space.scalar[component].boundary_nodes(
                self.mesh.facets(boundary)
            )

        return find_constraints(self.problem, self.space, nodes_on)

    @cached_property
    def weights(self) -> np.ndarray:
        """(N,) positive weights w with sum w u^2 ~ integral of u^2: the diagonal of the mass matrix, rescaled per component."""
        w = np.zeros(self.size)
        quadrature = self.space.quadrature
        volume = quadrature.dx.sum()
        for k, space in enumerate(self.space.scalar):
            phi, _ = space.tabulate(quadrature.X)
            local = quadrature.dx @ phi**2  # (c, b)
            part = np.bincount(space.cell_nodes.ravel(), local.ravel(), minlength=space.size)
            w[self.space.offsets[k] : self.space.offsets[k + 1]] = part * (volume / part.sum())
        return w

    def sample_points(self, count: int = 64) -> Tensor:
        """Some quadrature points (m, d), spread over the mesh."""
        x = self.space.quadrature.x.reshape(-1, self.mesh.dimension)
        return torch.from_numpy(x[np.linspace(0, len(x) - 1, min(count, len(x))).astype(int)])

    def boundary_samples(self) -> Iterator[tuple[BoundaryFlux, Tensor, Tensor]]:
        """Each boundary with natural conditions: its flux, its quadrature points and the normals there."""
        for flux, batch in self._facets():
            assert batch.normals is not None
            yield flux, batch.points, batch.normals.flatten(0, 1)

    def residual(self, u: Tensor) -> Tensor:
        """R(u) (N,), constraints not yet applied; differentiable in u."""
        r = torch.zeros_like(u)
        for batch in self._cells():
            out = self.pointwise.evaluate(batch.points, batch.state(u)).unflatten(0, batch.dx.shape)
            r = _scatter(r, batch, out)
        for flux, batch in self._facets():
            g = flux.evaluate(batch.points, batch.normals.flatten(0, 1), batch.state(u))  # type: ignore[union-attr]
            r = _scatter(r, batch, -g.unflatten(0, batch.dx.shape)[..., None])
        return r

    def matrix(self, u: Tensor) -> sp.csr_matrix:
        """dR/du (N, N) at u, constraints not yet applied."""
        entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for batch in self._cells():
            jacobian = self.pointwise.jacobian(batch.points, batch.state(u)).unflatten(0, batch.dx.shape)
            entries += _local_matrices(batch, jacobian)
        for flux, batch in self._facets():
            jacobian = flux.jacobian(batch.points, batch.normals.flatten(0, 1), batch.state(u))  # type: ignore[union-attr]
            entries += _local_matrices(batch, -jacobian.unflatten(0, batch.dx.shape)[:, :, :, None])
        rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
        matrix = sp.coo_matrix((values, (rows, columns)), shape=(self.size, self.size)).tocsr()
        matrix.sum_duplicates()
        return matrix

    def _cells(self) -> Iterator[_Batch]:
        space, quadrature = self.space, self.space.quadrature
        cells, q = quadrature.dx.shape
        width = q * space.components**2 * (1 + self.mesh.dimension) ** 2
        step = max(1, _CHUNK_ENTRIES // width)
        tables = {id(s): s.tabulate(quadrature.X) for s in space.scalar}
        for start in range(0, cells, step):
            part = slice(start, start + step)
            shapes = {
                key: _physical(phi, np.einsum("qbk,cqkd->cqdb", dphi, _spread(quadrature.inverse_jacobian[part], q)))
                for key, (phi, dphi) in tables.items()
            }
            yield _Batch(
                x=torch.from_numpy(quadrature.x[part]),
                dx=torch.from_numpy(quadrature.dx[part]),
                shapes=[shapes[id(s)] for s in space.scalar],
                unknowns=[
                    torch.from_numpy(o + s.cell_nodes[part]) for s, o in zip(space.scalar, space.offsets, strict=False)
                ],
            )

    def _facets(self) -> Iterator[tuple[BoundaryFlux, _Batch]]:
        for name in self.problem.conditions:
            flux = BoundaryFlux(self.problem, name)
            if not flux.is_zero:
                yield flux, self._facet_batch(self.mesh.facets(name))

    def _facet_batch(self, facets: np.ndarray) -> _Batch:
        def basis_of(space: ScalarSpace) -> skfem.FacetBasis:
            return skfem.FacetBasis(self.mesh.skfem, space.element, facets=facets, intorder=self.space.quadrature_order)

        bases = {id(s): basis_of(s) for s in self.space.scalar}
        first = bases[id(self.space.scalar[0])]
        shapes, unknowns = [], []
        for s, offset in zip(self.space.scalar, self.space.offsets, strict=False):
            functions = [bases[id(s)].basis[b][0] for b in range(s.cell_nodes.shape[1])]
            value = np.stack([np.asarray(f) for f in functions], axis=-1)  # (f, q, b)
            gradient = np.stack([np.moveaxis(np.asarray(f.grad), 0, -1) for f in functions], axis=-1)  # (f, q, d, b)
            shapes.append(torch.from_numpy(np.concatenate([value[:, :, None], gradient], axis=2)))
            unknowns.append(torch.from_numpy(offset + bases[id(s)].element_dofs.T.astype(np.int64)))
        return _Batch(
            x=torch.from_numpy(np.moveaxis(np.asarray(first.global_coordinates()), 0, -1).copy()),
            dx=torch.from_numpy(np.asarray(first.dx)),
            shapes=shapes,
            unknowns=unknowns,
            normals=torch.from_numpy(np.moveaxis(np.asarray(first.normals), 0, -1).copy()),
        )


def _spread(inverse: np.ndarray, q: int) -> np.ndarray:
    return np.broadcast_to(inverse, (inverse.shape[0], q, *inverse.shape[2:]))


def _physical(phi: np.ndarray, gradient: np.ndarray) -> Tensor:
    """(q, b) and (c, q, d, b) -> (c, q, 1 + d, b)."""
    value = np.broadcast_to(phi[None, :, None], (len(gradient), phi.shape[0], 1, phi.shape[1]))
    return torch.from_numpy(np.concatenate([value, gradient], axis=2))


def _scatter(r: Tensor, batch: _Batch, out: Tensor) -> Tensor:
    """Test (e, q, C, m) against the first m of (value, gradient) of each shape function and add up."""
    for k, (shapes, unknowns) in enumerate(zip(batch.shapes, batch.unknowns, strict=True)):
        local = torch.einsum("eqmb,eqm,eq->eb", shapes[:, :, : out.shape[3]], out[:, :, k], batch.dx)
        r = r.index_add(0, unknowns.reshape(-1), local.reshape(-1))
    return r


def _local_matrices(batch: _Batch, jacobian: Tensor) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Contract (e, q, C, m, C, 1 + d) with the shape functions; blocks of components that do not couple are left out."""
    entries = []
    weighted = jacobian * batch.dx[:, :, None, None, None, None]
    for i, (test, rows) in enumerate(zip(batch.shapes, batch.unknowns, strict=True)):
        tested = test[:, :, : jacobian.shape[3]].flatten(1, 2)  # (e, q m, b)
        for j, (trial, columns) in enumerate(zip(batch.shapes, batch.unknowns, strict=True)):
            block = weighted[:, :, i, :, j]  # (e, q, m, 1 + d)
            if not block.any():
                continue
            moved = torch.matmul(block, trial).flatten(1, 2)  # (e, q m, b')
            local = torch.matmul(tested.transpose(1, 2), moved)
            entries.append(
                (
                    rows[:, :, None].expand_as(local).reshape(-1).numpy(),
                    columns[:, None, :].expand_as(local).reshape(-1).numpy(),
                    local.reshape(-1).numpy(),
                )
            )
    return entries
