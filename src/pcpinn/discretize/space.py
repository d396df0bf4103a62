"""Finite element spaces: nodes of each field, and shape functions at quadrature points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree
from skfem.assembly import Dofs
from skfem.mapping import Mapping, MappingIsoparametric

from ..mesh.mesh import Mesh
from ..problem.field import Field
from .elements import ELEMENTS, LagrangeTetrahedron
from .quadrature import quadrature_of

_BACK = 1e-9  # of the mesh: so near to a point its coordinates lead back
_BESIDE = 0.3  # of a cell: further beside a curved one, its coordinates mean little
_STRIP = 200  # points, neighbours along the first axis, whose cells are looked for together
_BULGE = 0.1  # of a cell: so far a bent side may leave the box of its nodes
_BENT = 5  # curved tetrahedra that are tried for a point, of those that would fit best if they were straight


class ScalarSpace:
    """Continuous functions on a mesh, given by their values at the nodes of elements of one degree.

    Attributes:
        size: number of nodes n.
        nodes: (n, d) their positions.
        cell_nodes: (c, b) node numbers of each cell.
    """

    def __init__(self, mesh: Mesh, degree: int, element: str = "lagrange") -> None:
        self.mesh, self.degree = mesh, degree
        self.element = ELEMENTS.find(element).element(mesh.dimension, degree)
        dofs = Dofs(mesh.skfem, self.element)
        self.size = int(dofs.N)
        self.cell_nodes = np.ascontiguousarray(dofs.element_dofs.T.astype(np.int64))
        positions = mesh.skfem.mapping().F(self.element.doflocs.T)  # (d, c, b)
        self.nodes = np.empty((self.size, mesh.dimension))
        self.nodes[self.cell_nodes] = np.moveaxis(positions, 0, -1)
        self._dofs = dofs

    def tabulate(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Shape functions and reference gradients at points X (d, ...): (..., b) and (..., b, d)."""
        if isinstance(self.element, LagrangeTetrahedron):  # all at once: each of them takes as long
            value, gradient = self.element.tabulate(X)
            return value, np.moveaxis(gradient, 0, -1)
        values, gradients = zip(*(self.element.lbasis(X, i) for i in range(self.cell_nodes.shape[1])), strict=True)
        shape = X.shape[1:]
        phi = np.stack([np.broadcast_to(v, shape) for v in values], axis=-1)
        dphi = np.stack([np.broadcast_to(g, X.shape) for g in gradients], axis=-1)  # (d, ..., b)
        return phi, np.moveaxis(dphi, 0, -1)

    def boundary_nodes(self, facets: np.ndarray) -> np.ndarray:
        """Numbers of the nodes on the given facets, ascending."""
        view = self._dofs.get_facet_dofs(np.asarray(facets, dtype=np.int32))
        return np.unique(np.asarray(view.flatten(), dtype=np.int64))

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(
            self.mesh.skfem.mapping().F(np.full((self.mesh.dimension, 1), 1 / (self.mesh.dimension + 1)))[:, :, 0].T
        )

    def locate(self, x: np.ndarray, beside: float = 1e-10) -> tuple[np.ndarray, np.ndarray]:
        """Cell and reference coordinates (d, n) of points x (n, d); the least unfitting cell for a point outside the mesh.

        Candidates are the cells with the nearest centroids; where none of them fits (graded or stretched meshes), all whose
        boxes contain the point; of curved solids more of the nearest.

        Args:
            x: points.
            beside: how far beside a cell, in its own coordinates, a point may lie without a search among more.
        """
        cells, reference, inside = self._locate(x, 24)
        missing = np.flatnonzero(inside < -beside)
        if not (self.mesh.curved and self.mesh.dimension == 3):
            self._among_all(x, missing, cells, reference, inside)
            return cells, reference
        for candidates, most in ((200, len(x)), (2000, 2000)):
            if not 0 < len(missing) <= most:  # thousands of misses are points outside the mesh, not hard cases
                break
            cells[missing], reference[:, missing], fit = self._locate(x[missing], candidates)
            missing = missing[fit < -beside]
        return cells, reference

    def _among_all(
        self, x: np.ndarray, missing: np.ndarray, cells: np.ndarray, reference: np.ndarray, inside: np.ndarray
    ) -> None:
        """Cells and coordinates of some points (n, d), by their rows, where a cell fits better than those known; in place.

        Cells are tried whose boxes contain the points: beside a curved wall, where no cell fits, that is hardly one.
        """
        lower, upper = self._boxes
        missing = missing[np.isfinite(x[missing]).all(axis=1)]
        missing = missing[np.argsort(x[missing, 0])]
        for start in range(0, len(missing), _STRIP):
            rows = missing[start : start + _STRIP]
            left, right = x[rows[[0, -1]], 0]
            strip = np.flatnonzero((lower[:, 0] <= right) & (upper[:, 0] >= left))
            there = np.all((x[rows, None] >= lower[strip]) & (x[rows, None] <= upper[strip]), axis=2)
            at, tried = np.nonzero(there)
            if not len(at):
                continue
            tried = strip[tried]
            X = _inverse_map(self.mesh.skfem.mapping(), x[rows[at]].T[:, :, None], tried)
            fit = _inside(X)
            order = np.lexsort((fit, at))
            last = order[np.flatnonzero(np.diff(at[order], append=-1))]  # the best of each point
            better = last[fit[last] > inside[rows[at[last]]]]
            own = rows[at[better]]
            cells[own], reference[:, own], inside[own] = tried[better], X[:, better], fit[better]

    @cached_property
    def _boxes(self) -> tuple[np.ndarray, np.ndarray]:
        """(c, d) each: lower and upper corners of boxes around the cells, with some room for bent sides."""
        corners = self.mesh.nodes[self.mesh.cells]
        lower, upper = corners.min(axis=1), corners.max(axis=1)
        room = (_BULGE if self.mesh.curved else 1e-9) * (upper - lower).max(axis=1, keepdims=True)
        return lower - room, upper + room

    def outside(self, x: np.ndarray, beside: float = 1e-6) -> np.ndarray:
        """(n,) which points (n, d) lie in no cell, nor beside one by a part of it.

        Far from a curved cell its inverse map may not have converged.
        """
        lower, upper = self.mesh.bounds
        near = (x >= 2 * lower - upper) & (x <= 2 * upper - lower)  # not NaN; distances of others may be no numbers
        far = ~near.all(axis=1)
        if far.any():
            result = far.copy()
            result[~far] = self.outside(x[~far], beside) if not far.all() else False
            return result
        cells, X = self.locate(x)
        back = self.mesh.skfem.mapping().F(X[:, :, None], cells.astype(np.int32))[:, :, 0].T
        missed = np.linalg.norm(back - x, axis=1) > 1e-6 * np.ptp(self.nodes, axis=0).max()
        return missed | (np.minimum(X.min(axis=0), 1 - X.sum(axis=0)) < -beside)

    @cached_property
    def _flat(self) -> Mapping:
        """The map of straight cells with the same corners."""
        return Mesh(self.mesh.nodes, self.mesh.vertices).skfem.mapping()

    def _locate(self, x: np.ndarray, candidates: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        mapping, k = self.mesh.skfem.mapping(), min(candidates, len(self.mesh.cells))
        near = self._tree.query(x, k)[1].reshape(len(x), k)
        if not (self.mesh.curved and self.mesh.dimension == 3):
            return self._searched(mapping, x, near)
        # Nearly all tetrahedra of a curved mesh are straight, the others nearly: what fits best is found among straight ones.
        straight, coordinates, flat = self._searched(self._flat, x, near)
        cells = straight.copy()
        reference, inside = self.fitted(x, cells)
        left = np.flatnonzero(inside < -1e-10)
        if len(left):
            fits = [_inside(_inverse_map(self._flat, x[left].T[:, :, None], column)) for column in near[left].T]
            best = np.take_along_axis(near[left], np.argsort(-np.stack(fits, axis=1), axis=1)[:, :_BENT], axis=1)
            cells[left], reference[:, left], inside[left] = self._searched(mapping, x[left], best)
            # Outside of a curved cell Newton's method may end anywhere: what a straight one says is near enough.
            back = mapping.F(reference[:, left][:, :, None], cells[left].astype(np.int32))[:, :, 0].T
            lost = left[
                (np.linalg.norm(back - x[left], axis=1) > _BACK * np.ptp(self.nodes)) | (inside[left] < -_BESIDE)
            ]
            cells[lost], reference[:, lost] = straight[lost], coordinates[:, lost]
        return cells, reference, np.maximum(inside, flat)

    def _searched(self, mapping: Mapping, x: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cells, coordinates, and how far inside points (n, d) lie, of candidates (n, k)."""
        best = np.full(len(x), -np.inf)
        cells = near[:, 0].copy()
        reference = np.zeros((self.mesh.dimension, len(x)))
        for column in near.T:
            open_ = np.flatnonzero(best < -1e-10)
            if not len(open_):
                break
            X = _inverse_map(mapping, x[open_].T[:, :, None], column[open_])
            inside = _inside(X)
            better = inside > best[open_]
            at = open_[better]
            best[at], cells[at], reference[:, at] = inside[better], column[at], X[:, better]
        return cells, reference, best

    def fitted(self, x: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates (d, n) of points (n, d) in given cells (n,), and how far inside they lie (n,): negative outside."""
        X = _inverse_map(self.mesh.skfem.mapping(), x.T[:, :, None], cells)
        return X, _inside(X)

    def interpolation(self, x: np.ndarray) -> sp.csr_matrix:
        """(m, n): from nodal values to values at points x (m, d)."""
        cells, X = self.locate(x)
        phi, _ = self.tabulate(X)
        rows = np.repeat(np.arange(len(x)), phi.shape[1])
        return sp.csr_matrix((phi.ravel(), (rows, self.cell_nodes[cells].ravel())), shape=(len(x), self.size))

    def interpolate(self, values: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Value at points x (m, d) of the function with nodal values (n,)."""
        return self.interpolation(x) @ values


def _inverse_map(mapping: Mapping, x: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Reference coordinates (d, n) of x (d, n, 1) in the given cells, by Newton; one step for straight cells."""
    cells = cells.astype(np.int32)
    d = x.shape[0]
    X = np.full((d, x.shape[1], 1), 1 / (d + 1))
    open_ = np.arange(x.shape[1])
    for _ in range(8 if isinstance(mapping, MappingIsoparametric) else 1):
        at, own = X[:, open_], cells[open_]
        dX = np.einsum("ijck,jck->ick", mapping.invDF(at, own), x[:, open_] - mapping.F(at, own))
        X[:, open_] = at + dX
        open_ = open_[
            np.abs(dX).max(axis=(0, 2)) >= 1e-13
        ]  # most cells are straight, and their points there after a step
        if not len(open_):
            break
    return X[:, :, 0]


def _inside(X: np.ndarray) -> np.ndarray:
    """(n,) how far inside the reference cell points (d, n) lie: negative outside."""
    return np.asarray(np.minimum(X.min(axis=0), 1 - X.sum(axis=0)))


@dataclass(frozen=True)
class Quadrature:
    """Points in all cells: positions x (c, q, d), weights dx (c, q), inverse Jacobians (c, q or 1, d, d), reference X (d, q)."""

    x: np.ndarray
    dx: np.ndarray
    inverse_jacobian: np.ndarray
    X: np.ndarray


class Space:
    """The product of the scalar spaces of all components of all fields.

    Degrees of freedom are numbered component by component; `offsets[i]` is where component i starts.
    """

    def __init__(
        self,
        mesh: Mesh,
        fields: tuple[Field, ...],
        degree: int,
        quadrature_order: int | None = None,
        element: str = "lagrange",
    ) -> None:
        self.mesh, self.fields, self.degree, self.element = mesh, fields, degree, element
        degrees = [f.degree_in(degree) for f in fields]
        by_degree = {k: ScalarSpace(mesh, k, element) for k in sorted(set(degrees))}
        self.scalar = [by_degree[k] for f, k in zip(fields, degrees, strict=True) for _ in range(f.components)]
        self.offsets = np.concatenate([[0], np.cumsum([s.size for s in self.scalar])]).astype(np.int64)
        # Exact for mass matrices on straight cells; one more order for coefficients, two for curved triangles: on tetrahedra
        # the rule of order 7 has positive weights, and that of order 8 has not.
        self.quadrature_order = quadrature_order or 2 * max(degrees) + (2 if mesh.curved and mesh.dimension == 2 else 1)

    @property
    def size(self) -> int:
        """Number of degrees of freedom N."""
        return int(self.offsets[-1])

    @property
    def components(self) -> int:
        """Number of scalar components C."""
        return len(self.scalar)

    @cached_property
    def quadrature(self) -> Quadrature:
        """Quadrature in the cells."""
        X, w = quadrature_of(self.scalar[0].element, self.quadrature_order)
        mapping = self.mesh.skfem.mapping()
        x = np.moveaxis(mapping.F(X), 0, -1)
        at = X if self.mesh.curved else X[:, :1]
        dx = np.abs(mapping.detDF(at)) * w
        inverse = np.moveaxis(mapping.invDF(at), (0, 1), (-2, -1))
        return Quadrature(np.ascontiguousarray(x), np.ascontiguousarray(dx), np.ascontiguousarray(inverse), X)

    @cached_property
    def tables(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """By component, its shape functions and their reference gradients at the points of quadrature: (q, b), (q, b, d)."""
        made = {id(s): s.tabulate(self.quadrature.X) for s in self.scalar}
        return [made[id(s)] for s in self.scalar]

    @cached_property
    def unknown_nodes(self) -> np.ndarray:
        """(N, d) position of each degree of freedom."""
        return np.concatenate([s.nodes for s in self.scalar])

    @cached_property
    def unknown_components(self) -> np.ndarray:
        """(N,) component of each degree of freedom."""
        return np.repeat(np.arange(self.components), np.diff(self.offsets))

    @cached_property
    def weights(self) -> np.ndarray:
        """(N,) positive weights w with sum w u^2 ~ integral of u^2: the diagonal of the mass matrix, rescaled per component."""
        w = np.zeros(self.size)
        volume = self.quadrature.dx.sum()
        for k, space in enumerate(self.scalar):
            phi, _ = self.tables[k]
            local = self.quadrature.dx @ phi**2  # (c, b)
            part = np.bincount(space.cell_nodes.ravel(), local.ravel(), minlength=space.size)
            w[self.offsets[k] : self.offsets[k + 1]] = part * (volume / part.sum())
        return w

    def interpolate(self, u: np.ndarray, x: np.ndarray) -> np.ndarray:
        """(N,) degrees of freedom at points (m, d): (m, C)."""
        parts = [s.interpolate(u[a:b], x) for s, a, b in zip(self.scalar, self.offsets, self.offsets[1:], strict=False)]
        return np.stack(parts, axis=1)
