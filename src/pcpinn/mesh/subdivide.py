"""A mesh whose cells are cut at the middles of edges: new nodes, children, and named boundaries cut alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..problem.shapes import Domain
from .check_curved import lowest_determinants
from .mesh import Mesh
from .onto_walls import CurvedEdges, curved_edges
from .topology import EDGES, edges_of

_LEAST = 0.1  # of its volume that a child must keep when nodes move onto a wall
_SIX = np.array([[0, 0], [1, 0], [0, 1], [0.5, 0], [0.5, 0.5], [0, 0.5]])  # nodes of the reference triangle


@dataclass(frozen=True)
class Children:
    """What a set of simplices is cut into.

    Attributes:
        local: (m, 1 + dimension) corners by their numbers in the parent: its corners, then the middles of its edges.
        parent: (m,) number of the simplex that each child is cut from.
    """

    local: np.ndarray
    parent: np.ndarray


@dataclass(frozen=True)
class EdgeTable:
    """The edges of a mesh: (e, 2) ends, (c, edges) numbers by cell, and by facet for each boundary's name."""

    ends: np.ndarray
    of_cell: np.ndarray
    of_facet: dict[str, np.ndarray]


def edge_table(mesh: Mesh) -> EdgeTable:
    """Number the edges of cells and named facets."""
    names = list(mesh.boundaries)
    ends, (of_cell, *of_facets) = edges_of(mesh.vertices, *(np.asarray(mesh.boundaries[n]) for n in names))
    return EdgeTable(ends, of_cell, dict(zip(names, of_facets, strict=True)))


def subdivided(
    mesh: Mesh,
    edges: EdgeTable,
    cut: np.ndarray,
    split: Callable[[np.ndarray, int], Children],
    domain: Domain | None = None,
    classes: np.ndarray | None = None,
) -> tuple[Mesh, np.ndarray]:
    """Cut edges at their middles, and cells and facets as `split` says.

    Args:
        mesh: straight cells or curved triangles. Its nodes keep their numbers, new ones follow.
        edges: its `edge_table`.
        cut: (e,) bool, which edges get a node in their middle.
        split: (numbers of edges (k, edges), dimension) -> the children of k simplices; must cut all edges that are cut.
        domain: new nodes of its curved sides are moved there, unless that spoils cells.
        classes: (e,) equal for edges that are the same in a periodic domain: all of them are moved, or none.

    Returns:
        The mesh, and (m,) the parent of each of its cells.
    """
    d = mesh.dimension
    middle = np.full(len(edges.ends), -1)
    nodes = mesh.nodes
    if mesh.curved:
        middle[edges.of_cell] = mesh.cells[:, 3:]
    else:
        middle[cut] = len(nodes) + np.arange(np.sum(cut))
        nodes = np.vstack([nodes, nodes[edges.ends[cut]].mean(axis=1)])
    children = split(edges.of_cell, d)
    lattice = np.hstack([mesh.vertices, middle[edges.of_cell]])
    cells = lattice[children.parent[:, None], children.local]
    boundaries = {}
    for name, rows in mesh.boundaries.items():
        parts = split(edges.of_facet[name], d - 1)
        boundaries[name] = np.hstack([rows, middle[edges.of_facet[name]]])[parts.parent[:, None], parts.local]
    moving, of_edge = middle[cut], np.flatnonzero(cut)  # nodes that may move to a wall, and their edges
    if mesh.curved:
        cells, nodes, number, edge = _curved(mesh, edges, lattice, children, cells)
        moving, of_edge = np.append(moving, number), np.append(of_edge, edge)
    walls = curved_edges(mesh, domain)
    if walls is not None:
        nodes = _moved(nodes, cells, edges.ends, walls, moving, of_edge, classes)
    return Mesh(nodes, cells, boundaries, mesh.has_time), children.parent


def _curved(
    mesh: Mesh, edges: EdgeTable, lattice: np.ndarray, children: Children, corners: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Middle nodes of the children of curved triangles, where the parent's quadratic map puts them.

    Returns:
        (m, 6) cells, all nodes, and the numbers of the new nodes on edges of parents with the numbers of these edges.
    """
    start, end = (children.local[:, [e[k] for e in EDGES[2]]] for k in (0, 1))  # (m, 3) in the parent
    whole = _ALONG[start, end]  # an edge of the parent that is not cut
    half = _HALF[start, end]
    pairs = np.sort(corners[:, EDGES[2]], axis=2)
    new = np.flatnonzero(whole.ravel() < 0)
    owner = np.repeat(children.parent, 3)
    _, (number,) = edges_of(pairs.reshape(-1, 2)[new]) if len(new) else (None, (np.zeros((0, 1), dtype=np.int64),))
    number = number[:, 0]
    _, first = np.unique(number, return_index=True)
    weights = _WEIGHTS[start.ravel()[new[first]], end.ravel()[new[first]]]
    parents = mesh.nodes[lattice[owner[new[first]]]]
    nodes = np.vstack([mesh.nodes, np.einsum("nb,nbd->nd", weights, parents)])
    middles = lattice[owner, 3 + whole.ravel()]
    middles[new] = len(mesh.nodes) + number
    outer = half.ravel()[new[first]]
    on = np.flatnonzero(outer >= 0)
    of_edge = edges.of_cell[owner[new[first[on]]], outer[on]]
    return np.hstack([corners, middles.reshape(-1, 3)]), nodes, len(mesh.nodes) + on, of_edge


def _moved(
    nodes: np.ndarray,
    cells: np.ndarray,
    ends: np.ndarray,
    walls: CurvedEdges,
    moving: np.ndarray,
    of_edge: np.ndarray,
    classes: np.ndarray | None,
) -> np.ndarray:
    """Nodes moved onto the walls of their edges, except where a cell would be inverted or nearly flat."""
    _, (_, on_wall) = edges_of(ends, walls.ends)  # numbers in the order of `ends`, which are all edges
    row = np.full(len(ends), -1)
    row[on_wall[:, 0]] = np.arange(len(walls.ends))
    rows = row[of_edge]
    moving, of_edge, rows = moving[rows >= 0], of_edge[rows >= 0], rows[rows >= 0]
    size = np.linalg.norm(nodes[ends[of_edge, 1]] - nodes[ends[of_edge, 0]], axis=1)
    plain = nodes[moving]
    placed = walls.projected(rows, plain, size / 2)
    touched = np.zeros(len(nodes), dtype=bool)
    touched[moving] = True
    near = cells[touched[cells].any(axis=1)]
    sign = np.sign(_determinants(nodes, near[:, : nodes.shape[1] + 1]))
    before = _determinants(nodes, near, sign)
    least = np.minimum(before, _LEAST * before)
    labels = np.arange(len(ends)) if classes is None else classes
    kept = np.ones(len(ends), dtype=bool)  # by label
    nodes = nodes.copy()
    while True:
        nodes[moving] = np.where(kept[labels[of_edge]][:, None], placed, plain)
        spoilt = np.zeros(len(nodes), dtype=bool)
        spoilt[near[_determinants(nodes, near, sign) < least]] = True
        undo = kept[labels[of_edge]] & spoilt[moving]
        if not np.any(undo):
            return nodes
        kept[labels[of_edge[undo]]] = False


def _determinants(nodes: np.ndarray, cells: np.ndarray, sign: np.ndarray | float = 1.0) -> np.ndarray:
    """(m,) sign times the determinant of each cell's map, of a curved one a bound from below."""
    d = nodes.shape[1]
    if cells.shape[1] > d + 1:
        return lowest_determinants(nodes[cells], np.broadcast_to(sign, len(cells)))
    corners = nodes[cells]
    return np.linalg.det(corners[:, 1:] - corners[:, :1]) * sign


# By the local numbers of two nodes of a quadratic triangle: the edge that they bound, the edge that they halve, and the
# quadratic shape functions half-way between them.
_ALONG, _HALF = np.full((6, 6), -1), np.full((6, 6), -1)
for _k, (_i, _j) in enumerate(EDGES[2]):
    _ALONG[_i, _j] = _ALONG[_j, _i] = _k
    _HALF[[_i, _j, 3 + _k, 3 + _k], [3 + _k, 3 + _k, _i, _j]] = _k


def _shape_functions(x: np.ndarray) -> np.ndarray:
    """(..., 2) points of the reference triangle -> (..., 6): corners, then the middles of edges."""
    u, v = x[..., 0], x[..., 1]
    w = 1 - u - v
    return np.stack([w * (2 * w - 1), u * (2 * u - 1), v * (2 * v - 1), 4 * u * w, 4 * u * v, 4 * v * w], axis=-1)


_WEIGHTS = _shape_functions((_SIX[:, None] + _SIX[None]) / 2)
