"""Second-order finite differences on a uniform grid of a box: the paper's first formulation.

The equation is balanced over the cell around each node, so that inside it reads (-u[i-1] + 2 u[i] - u[i+1]) / h^2 for
-u'', and at the boundary natural conditions enter as prescribed fluxes. As for finite elements, everything comes from the
pointwise flux and source: sparse matrices E take nodal values to (value, gradient) at points, T take (source, flux) back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
import torch
from scipy.interpolate import RegularGridInterpolator
from torch import Tensor

from ..errors import PcpinnError
from ..mesh.mesh import Mesh
from ..problem.problem import Problem
from .constraints import Constraints, find_constraints
from .pointwise import BoundaryFlux, Pointwise
from .time_orders import check_start, refuse_mixed


@dataclass(frozen=True)
class _Points:
    """Places where the PDE is evaluated, and what of it counts there."""

    x: np.ndarray  # (m, d)
    evaluate: list[sp.csr_matrix]  # 1 + d matrices (m, n): value and gradient
    test: sp.csr_matrix  # (n, m)
    output: int  # 0: source; 1 + k: flux along axis k


class FiniteDifferences:
    """The finite-difference discretisation of a problem on a structured mesh of a box."""

    name = "fdm"

    def __init__(self, problem: Problem, mesh: Mesh) -> None:
        problem.check_boundaries(mesh.boundary_names)
        self.problem, self.mesh, self.pointwise = problem, mesh, Pointwise(problem)
        self.axes, self._grid_number = _grid(mesh)
        self.nodes = np.stack([g.ravel() for g in np.meshgrid(*self.axes, indexing="ij")], axis=1)
        self.components = problem.components
        self._n = len(self.nodes)
        refuse_mixed(check_start(problem, self.sample_points()))

    @property
    def size(self) -> int:
        """Number of degrees of freedom N = C n."""
        return self.components * self._n

    @property
    def unknown_nodes(self) -> np.ndarray:
        """(N, d) position of each degree of freedom."""
        return np.tile(self.nodes, (self.components, 1))

    @property
    def unknown_components(self) -> np.ndarray:
        """(N,) component of each degree of freedom."""
        return np.repeat(np.arange(self.components), self._n)

    @cached_property
    def constraints(self) -> Constraints:
        """Dirichlet values, periodic identifications and pins."""
        return self.constraints_for(self.problem)

    def constraints_for(self, problem: Problem) -> Constraints:
        """The same for a problem of other conditions or pins."""

        def nodes_on(boundary: str, component: int) -> np.ndarray:
            return component * self._n + np.unique(self._grid_number[self.mesh.boundaries[boundary]])

        return find_constraints(problem, self, nodes_on)

    @cached_property
    def volumes(self) -> np.ndarray:
        """(n,) volume of the cell around each node."""
        return reduce(np.multiply.outer, [_widths(a) for a in self.axes]).ravel()

    @property
    def weights(self) -> np.ndarray:
        """(N,) weights of the discrete L2 norm."""
        return np.tile(self.volumes, self.components)

    def sample_points(self, count: int = 64) -> Tensor:
        """Some nodes, moved off the boundary."""
        lower, upper = self.mesh.bounds
        chosen = self.nodes[np.linspace(0, self._n - 1, min(count, self._n)).astype(int)]
        return torch.from_numpy((lower + upper) / 2 + 0.99 * (chosen - (lower + upper) / 2))

    def interpolate(self, u: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Interpolation of the nodal values at points (m, d): (m, C); cubic where the grid allows."""
        shape = tuple(len(a) for a in self.axes)
        inside = np.clip(x, *self.mesh.bounds)
        parts = [_interpolator(self.axes, p.reshape(shape))(inside) for p in u.reshape(self.components, -1)]
        return np.stack(parts, axis=1)

    def boundary_samples(self) -> Iterator[tuple[BoundaryFlux, Tensor, Tensor]]:
        """Each boundary with natural conditions: its flux, its nodes and the normals there."""
        for flux, x, normals, _, _ in self._boundary():
            yield flux, x, normals

    def residual(self, u: Tensor) -> Tensor:
        """R(u) (N,): the PDE's residual at each node, constraints not yet applied."""
        total = torch.zeros(self.components, self._n, dtype=u.dtype)
        for points in self._points:
            out = self.pointwise.evaluate(torch.from_numpy(points.x), self._state(points.evaluate, u))
            total = total + _matmul(points.test, out[:, :, points.output]).T
        for flux, x, normals, evaluate, test in self._boundary():
            g = flux.evaluate(x, normals, self._state(evaluate, u))
            total = total - _matmul(test, g).T
        return total.reshape(-1)

    def matrix(self, u: Tensor) -> sp.csr_matrix:
        """dR/du (N, N) at u, constraints not yet applied."""
        blocks = [[sp.csr_matrix((self._n, self._n)) for _ in range(self.components)] for _ in range(self.components)]

        def add(test: sp.csr_matrix, evaluate: list[sp.csr_matrix], jacobian: Tensor) -> None:
            for i in range(self.components):
                for j in range(self.components):
                    for n, E in enumerate(evaluate):
                        factor = jacobian[:, i, j, n].numpy()
                        if factor.any():
                            blocks[i][j] = blocks[i][j] + test @ sp.diags(factor) @ E

        for points in self._points:
            jacobian = self.pointwise.jacobian(torch.from_numpy(points.x), self._state(points.evaluate, u))
            add(points.test, points.evaluate, jacobian[:, :, points.output])
        for flux, x, normals, evaluate, test in self._boundary():
            add(-test, evaluate, flux.jacobian(x, normals, self._state(evaluate, u)))
        return sp.bmat(blocks, format="csr")

    def _state(self, evaluate: list[sp.csr_matrix], u: Tensor) -> Tensor:
        """(N,) -> (m, C, 1 + d)."""
        nodal = u.reshape(self.components, -1).T
        return torch.stack([_matmul(E, nodal) for E in evaluate], dim=2)

    @cached_property
    def _points(self) -> list[_Points]:
        """Nodes for the source, and the faces between neighbours along each axis for the flux."""
        d = len(self.axes)
        identity = [sp.identity(len(a), format="csr") for a in self.axes]
        slope = [_nodal_derivative(a) for a in self.axes]
        at_nodes = [_kron(identity)] + [_kron(_swap(identity, k, slope[k])) for k in range(d)]
        result = [_Points(self.nodes, at_nodes, sp.identity(self._n, format="csr"), 0)]
        inverse_volume = sp.diags(1 / self.volumes)
        for k in range(d):
            mean, difference = _between(self.axes[k])
            evaluate = [_kron(_swap(identity, k, mean))]
            for j in range(d):
                evaluate.append(
                    _kron(_swap(identity, k, difference))
                    if j == k
                    else _kron(_swap(_swap(identity, j, slope[j]), k, mean))
                )
            areas = reduce(
                np.multiply.outer, [np.ones(len(a) - 1) if j == k else _widths(a) for j, a in enumerate(self.axes)]
            )
            outward = -_kron(
                _swap(identity, k, np.diff(self.axes[k])[0] * difference.T.tocsr())
            )  # +1 below a face, -1 above
            x = np.stack([evaluate[0] @ self.nodes[:, j] for j in range(d)], axis=1)
            # R = source - div flux: what leaves through the upper face counts negative, through the lower one positive.
            result.append(_Points(x, evaluate, (-inverse_volume @ outward @ sp.diags(areas.ravel())).tocsr(), 1 + k))
        return result

    def _boundary(self) -> Iterator[tuple[BoundaryFlux, Tensor, Tensor, list[sp.csr_matrix], sp.csr_matrix]]:
        at_nodes = self._points[0].evaluate
        shape = tuple(len(a) for a in self.axes)
        for name in self.problem.conditions:
            flux = BoundaryFlux(self.problem, name)
            if flux.is_zero:
                continue
            facets = self._grid_number[self.mesh.boundaries[name]]
            for k, axis in enumerate(self.axes):
                for end, sign in ((axis[0], -1.0), (axis[-1], 1.0)):
                    on_side = np.isclose(self.nodes[facets][:, :, k], end, rtol=0, atol=1e-9 * np.ptp(axis)).all(axis=1)
                    at = np.unique(facets[on_side])
                    if not len(at):
                        continue
                    widths = [np.ones(len(a)) if j == k else _widths(a) for j, a in enumerate(self.axes)]
                    area = reduce(np.multiply.outer, widths).reshape(shape).ravel()[at]
                    test = sp.csr_matrix((area / self.volumes[at], (at, np.arange(len(at)))), shape=(self._n, len(at)))
                    normals = torch.zeros(len(at), len(self.axes), dtype=torch.float64)
                    normals[:, k] = sign
                    yield flux, torch.from_numpy(self.nodes[at]), normals, [E[at] for E in at_nodes], test


def _interpolator(axes: list[np.ndarray], values: np.ndarray) -> RegularGridInterpolator:
    if min(values.shape) <= 3:
        return RegularGridInterpolator(axes, values)
    # A direct solver for the spline: scipy's own choice is iterative and stops at 1e-5.
    return RegularGridInterpolator(axes, values, "cubic", solver=spla.spsolve)


def _grid(mesh: Mesh) -> tuple[list[np.ndarray], np.ndarray]:
    """Coordinates along each axis, and the grid number of each mesh node."""
    lower, upper = mesh.bounds
    scaled = np.round((mesh.nodes - lower) / (upper - lower), 9)
    axes, index = [], []
    for k in range(mesh.dimension):
        values, inverse = np.unique(scaled[:, k], return_inverse=True)
        axes.append(lower[k] + (upper[k] - lower[k]) * values)
        index.append(inverse)
    shape = tuple(len(a) for a in axes)
    uniform = all(np.allclose(np.diff(a), (a[-1] - a[0]) / (len(a) - 1), rtol=1e-6) for a in axes)
    corners = mesh.nodes[mesh.vertices]
    volume = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])).sum() / math.factorial(mesh.dimension)
    whole = np.isclose(volume, np.prod(upper - lower), rtol=1e-6)
    if np.prod(shape) != len(mesh.nodes) or not uniform or not whole or min(shape) < 3:
        raise PcpinnError(
            "finite differences need a uniform grid of a box with at least three nodes along each axis",
            "give cells=(nx, ny) for an Interval, Rectangle or Box, or use mesh=fem",
        )
    return axes, np.ravel_multi_index(tuple(index), shape)


def _widths(axis: np.ndarray) -> np.ndarray:
    """Width of the cell around each node of an axis: half at the ends."""
    step = np.diff(axis)
    return np.concatenate([[step[0] / 2], (step[:-1] + step[1:]) / 2, [step[-1] / 2]])


def _between(axis: np.ndarray) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Mean and difference quotient of neighbours: (n - 1, n) each."""
    n = len(axis)
    step = np.diff(axis)
    mean = sp.diags([0.5, 0.5], [0, 1], shape=(n - 1, n), format="csr")
    difference = sp.diags([-1.0, 1.0], [0, 1], shape=(n - 1, n), format="csr")
    return mean, (sp.diags(1 / step) @ difference).tocsr()


def _nodal_derivative(axis: np.ndarray) -> sp.csr_matrix:
    """Central differences, of second order and one-sided at the ends: (n, n)."""
    n, h = len(axis), axis[1] - axis[0]
    D = sp.diags([-0.5, 0.5], [-1, 1], shape=(n, n), format="lil")
    D[0, :3] = [-1.5, 2.0, -0.5]
    D[n - 1, n - 3 :] = [0.5, -2.0, 1.5]
    return (D / h).tocsr()


def _kron(factors: list[sp.csr_matrix]) -> sp.csr_matrix:
    return reduce(lambda a, b: sp.kron(a, b, format="csr"), factors)


def _swap(factors: list[sp.csr_matrix], k: int, other: sp.csr_matrix) -> list[sp.csr_matrix]:
    return [other if i == k else f for i, f in enumerate(factors)]


def _matmul(E: sp.csr_matrix, values: Tensor) -> Tensor:
    """Sparse times dense, differentiable in the values."""
    triples = E.tocoo()
    indices = torch.from_numpy(np.stack([triples.row, triples.col]).astype(np.int64))
    return torch.sparse_coo_tensor(indices, torch.from_numpy(triples.data), E.shape, check_invariants=False) @ values
