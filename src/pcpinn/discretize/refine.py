"""Uniform refinement: every cell cut into cells of half the size, boundaries keeping their names."""

from __future__ import annotations

import numpy as np

from ..mesh.mesh import Mesh
from .space import ScalarSpace

_EDGES: dict[int, list[tuple[int, int]]] = {
    1: [(0, 1)],
    2: [(0, 1), (1, 2), (0, 2)],
    3: [(0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)],
}
# Children by local numbers: corners first, then the edges in the order above.
_CHILDREN: dict[int, list[tuple[int, ...]]] = {
    1: [(0, 2), (2, 1)],
    2: [(0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)],
    3: [(0, 4, 6, 7), (4, 1, 5, 8), (6, 5, 2, 9), (7, 8, 9, 3), (4, 5, 6, 8), (4, 6, 7, 8), (5, 6, 8, 9), (6, 7, 8, 9)],
}


def refined(mesh: Mesh) -> Mesh:
    """Halve the cells: (c, ...) become (2^d c, ...). Curved triangles are cut along their curves."""
    d = mesh.dimension
    if mesh.curved:
        return _refined_curved(mesh)
    edge_nodes, nodes = _middles(mesh.nodes, mesh.cells, _EDGES[d])
    local = np.hstack([mesh.cells, edge_nodes])
    cells = np.concatenate([local[:, list(child)] for child in _CHILDREN[d]])
    middle: dict[tuple[int, ...], int] = {}
    for (i, j), column in zip(_EDGES[d], edge_nodes.T, strict=True):
        middle.update(zip(map(tuple, np.sort(mesh.cells[:, [i, j]], axis=1)), column, strict=True))
    boundaries = {name: _halved(facets, middle) for name, facets in mesh.boundaries.items()}
    return Mesh(nodes, cells, boundaries, mesh.has_time)


def _middles(nodes: np.ndarray, cells: np.ndarray, edges: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """A new node in the middle of each edge: their numbers (c, edges), and all nodes."""
    pairs = np.sort(np.stack([cells[:, list(e)] for e in edges], axis=1), axis=2)  # (c, e, 2)
    unique, inverse = np.unique(pairs.reshape(-1, 2), axis=0, return_inverse=True)
    numbers = len(nodes) + inverse.reshape(pairs.shape[:2])
    return numbers, np.vstack([nodes, nodes[unique].mean(axis=1)])


def _halved(facets: np.ndarray, middle: dict[tuple[int, ...], int]) -> np.ndarray:
    """Points stay, edges become two, triangles four."""
    width = facets.shape[1]
    if width == 1:
        return facets
    edges = _EDGES[width - 1]
    between = np.array([[middle[tuple(sorted((f[i], f[j])))] for i, j in edges] for f in facets]).reshape(
        -1, len(edges)
    )
    local = np.hstack([facets, between])
    return np.concatenate([local[:, list(child)] for child in _CHILDREN[width - 1]])


def _refined_curved(mesh: Mesh) -> Mesh:
    """The nodes on the edges become corners; new nodes on the children's edges come from the parent's own curve."""
    corners = np.concatenate([mesh.cells[:, list(child)] for child in _CHILDREN[2]])
    reference = np.array([[0, 0], [1, 0], [0, 1], [0.5, 0], [0.5, 0.5], [0, 0.5]])
    shapes = ScalarSpace(mesh, 2)
    positions = []
    for child in _CHILDREN[2]:
        middles = np.array([(reference[child[i]] + reference[child[j]]) / 2 for i, j in _EDGES[2]])
        phi, _ = shapes.tabulate(middles.T)
        # The quadratic map itself: the nodes of the cell in the order of the reference points above.
        positions.append(np.einsum("eb,cbd->ced", phi, mesh.nodes[mesh.cells]))
    at = np.concatenate(positions)  # (4 c, 3, 2)
    pairs = np.sort(np.stack([corners[:, list(e)] for e in _EDGES[2]], axis=1), axis=2).reshape(-1, 2)
    _, first, inverse = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    nodes = np.vstack([mesh.nodes, at.reshape(-1, 2)[first]])
    cells = np.hstack([corners, len(mesh.nodes) + inverse.reshape(-1, 3)])
    middle: dict[tuple[int, ...], int] = {}
    for k, (i, j) in enumerate(_EDGES[2]):
        middle.update(zip(map(tuple, np.sort(mesh.cells[:, [i, j]], axis=1)), mesh.cells[:, 3 + k], strict=True))
    boundaries = {name: _halved(facets, middle) for name, facets in mesh.boundaries.items()}
    return Mesh(nodes, cells, boundaries, mesh.has_time)
