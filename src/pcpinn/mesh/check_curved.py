"""Refuse curved triangles that fold over themselves or do not meet their neighbours."""

from __future__ import annotations

import numpy as np

from ..errors import PcpinnError
from .mesh import Mesh
from .topology import Facets

_EDGES = [(0, 1), (1, 2), (0, 2)]  # corners next to the nodes 3, 4, 5
_FINE = 8  # subdivisions of the lattice on which a doubtful triangle is looked at
_REMEDY = "use a smaller size, or straight cells (curved=False, or a first-order mesh file)"


def check_curved(mesh: Mesh, facets: Facets, volume: np.ndarray) -> None:
    """The map from the reference triangle must keep its orientation, and edges must agree between neighbours."""
    _check_edges_agree(mesh, facets)
    points = mesh.nodes[mesh.cells]
    doubtful = np.flatnonzero(lowest_determinants(points, np.sign(volume)) <= 0.0)  # most cells need no sampling
    if len(doubtful) == 0:
        return
    lattice = np.array([(i, j) for i in range(_FINE + 1) for j in range(_FINE + 1 - i)], dtype=float) / _FINE
    lowest = (_determinants(points[doubtful], lattice) / (2.0 * volume[doubtful, None])).min(axis=1)
    folded = doubtful[lowest <= 1e-10]
    if len(folded):
        centre = points[folded[0], :3].mean(axis=0)
        raise PcpinnError(
            f"{len(folded)} curved triangles fold over themselves; the first is cell {folded[0]} "
            f"at ({centre[0]:.4g}, {centre[1]:.4g})",
            _REMEDY,
        )


def lowest_determinants(points: np.ndarray, sign: np.ndarray) -> np.ndarray:
    """(c, 6, 2) nodes, (c,) orientations -> (c,) a bound from below of sign times the map's determinant.

    The determinant is quadratic, and its Bernstein coefficients bound it.
    """
    corner_and_mid = np.array([[0, 0], [1, 0], [0, 1], [0.5, 0], [0.5, 0.5], [0, 0.5]], dtype=float)
    values = _determinants(points, corner_and_mid) * sign[:, None]
    edge = [2.0 * values[:, 3 + k] - 0.5 * (values[:, i] + values[:, j]) for k, (i, j) in enumerate(_EDGES)]
    return np.min(np.column_stack([values[:, :3], *edge]), axis=1)


def _check_edges_agree(mesh: Mesh, facets: Facets) -> None:
    """The two cells at an edge must have their middle nodes at the same place."""
    order = np.argsort(mesh.vertices, axis=1)
    rows = np.arange(len(mesh.cells))
    own = np.empty((len(mesh.cells), 3, 2))  # middle of the edge opposite the k-th smallest corner
    for k, (i, j) in enumerate([(1, 2), (0, 2), (0, 1)]):
        a, b = np.sort(np.stack([order[:, i], order[:, j]]), axis=0)
        column = np.select([(a == p) & (b == q) for p, q in _EDGES], [3, 4, 5])
        own[:, k] = mesh.nodes[mesh.cells[rows, column]]
    shared = np.empty((len(facets.count), 2))
    shared[facets.of_cell] = own  # the last cell written decides, the other one must agree
    size = np.linalg.norm(np.subtract(*mesh.nodes[facets.nodes].swapaxes(0, 1)), axis=1)
    gap = np.linalg.norm(own - shared[facets.of_cell], axis=2) > 1e-8 * size[facets.of_cell]
    if np.any(gap):
        edge = facets.nodes[facets.of_cell[gap][0]].tolist()
        raise PcpinnError(
            f"at {np.sum(gap)} edges the two curved triangles have different middle nodes, the first between "
            f"nodes {edge[0]} and {edge[1]}, so the mesh has gaps",
            "merge duplicated nodes where the mesh was made, or export first-order cells",
        )


def _determinants(points: np.ndarray, at: np.ndarray) -> np.ndarray:
    """(c, 6, 2) nodes and (q, 2) reference points -> (c, q) determinant of the map's derivative."""
    x, y = at.T
    dx = np.stack([4 * x + 4 * y - 3, 4 * x - 1, 0 * x, 4 - 8 * x - 4 * y, 4 * y, -4 * y])
    dy = np.stack([4 * x + 4 * y - 3, 0 * x, 4 * y - 1, -4 * x, 4 * x, 4 - 4 * x - 8 * y])
    u, v = np.einsum("cnd,nq->cqd", points, dx), np.einsum("cnd,nq->cqd", points, dy)
    return u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]
