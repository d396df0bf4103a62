"""Nodes moved onto curved sides where cells allow it, and straight cells bent along these sides."""

from __future__ import annotations

import numpy as np

from ..problem.shapes import Domain
from .mesh import Mesh
from .onto_walls import CurvedEdges, curved_edges
from .quadratic import lowest_determinants
from .topology import EDGES, edges_of

_LEAST = 0.1  # of its volume that a cell must keep when nodes move onto a wall


def bent(mesh: Mesh, domain: Domain | None) -> Mesh:
    """Quadratic cells whose edges along the domain's curved sides have their middles there; the mesh itself if there are none.

    Where a cell would fold, or become nearly flat, its edges stay straight. A tetrahedron with two faces on one smooth side
    does so however fine it is; of its children only those along the edge between these faces, and the harm falls with their size.

    Args:
        mesh: straight, or quadratic already; its nodes keep their numbers. Cells that fold are straightened.
        domain: what was meshed.
    """
    walls = curved_edges(mesh, domain)
    if walls is None:
        return mesh
    ends, (of_cell,) = edges_of(mesh.vertices)
    middle, nodes = np.empty(len(ends), dtype=np.int64), mesh.nodes
    if mesh.curved:
        middle[of_cell] = mesh.cells[:, mesh.dimension + 1 :]
    else:
        middle[:] = len(nodes) + np.arange(len(ends))
        nodes = np.vstack([nodes, nodes[ends].mean(axis=1)])
    cells = np.hstack([mesh.vertices, middle[of_cell]])
    nodes = _unfolded(nodes, cells)
    nodes = moved_onto(walls, nodes, cells, ends, middle, np.arange(len(ends)))
    return Mesh(nodes, cells, mesh.boundaries, mesh.has_time)


def moved_onto(
    walls: CurvedEdges,
    nodes: np.ndarray,
    cells: np.ndarray,
    ends: np.ndarray,
    moving: np.ndarray,
    of_edge: np.ndarray,
    classes: np.ndarray | None = None,
) -> np.ndarray:
    """Nodes moved onto the walls of their edges, except where a cell would be inverted or nearly flat.

    Args:
        walls: of some of the edges.
        nodes: (n, d).
        cells: (c, ...) straight or quadratic.
        ends: (e, 2) all edges that nodes may belong to.
        moving: (m,) numbers of nodes.
        of_edge: (m,) the edge of each.
        classes: (e,) equal for edges that are the same in a periodic domain: all of them are moved, or none.
    """
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


def _unfolded(nodes: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Nodes of quadratic cells, with straight edges of those cells that fold."""
    d = nodes.shape[1]
    sign = np.sign(_determinants(nodes, cells[:, : d + 1]))
    nodes = nodes.copy()
    while True:  # a straightened edge may fold a neighbour, which is straightened in turn
        folded = cells[_determinants(nodes, cells, sign) <= 0]
        straight = nodes[folded[:, EDGES[d]]].mean(axis=2)
        if np.array_equal(straight, nodes[folded[:, d + 1 :]]):
            return nodes
        nodes[folded[:, d + 1 :]] = straight


def _determinants(nodes: np.ndarray, cells: np.ndarray, sign: np.ndarray | float = 1.0) -> np.ndarray:
    """(m,) sign times the determinant of each cell's map, of a curved one a bound from below."""
    d = nodes.shape[1]
    if cells.shape[1] > d + 1:
        return lowest_determinants(nodes[cells], np.broadcast_to(sign, len(cells)))
    corners = nodes[cells]
    return np.linalg.det(corners[:, 1:] - corners[:, :1]) * sign
