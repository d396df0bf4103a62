"""Local refinement: marked cells cut by bisection of their longest edges, and as many others as a conforming mesh needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from ..errors import PcpinnError
from ..problem.shapes import Domain
from .mesh import Mesh
from .periodic import match_periodic
from .subdivide import Children, EdgeTable, edge_table, subdivided
from .topology import EDGES, edges_of

_EQUAL = 1e-9  # relative difference up to which lengths, or directions, of edges count as equal
_GENERIC = np.array([0.8414709848, 0.4546487134, 0.2919265817])  # edges that are not parallel differ along it
_FACES = [(0, 1, 2), (0, 4, 3), (1, 5, 4), (2, 5, 3)]  # edges of the faces of a tetrahedron


def bisected(
    mesh: Mesh, marked: np.ndarray, domain: Domain | None = None, periodic: Sequence[tuple[str, str]] = ()
) -> tuple[Mesh, np.ndarray]:
    """Cut the marked cells and as many others as a conforming mesh needs.

    All edges of a marked cell are halved: an interval becomes 2, a triangle 4, a tetrahedron 8 cells. A triangle, or face
    of a tetrahedron, of which some edge is halved also has its longest edge halved, which keeps angles away from zero when
    this is repeated. Cells are then cut in two at their longest halved edge until none is left.

    Args:
        mesh: intervals, triangles (straight or curved) or tetrahedra. Its nodes keep their numbers, new ones follow;
            middle nodes of curved edges that are halved become corners.
        marked: (c,) bool, or numbers of cells.
        domain: what was meshed: new corners and middle nodes on its curved sides are moved there, except where this
            would spoil a cell. Of a span of time, the shape alone holds for meshes of space.
        periodic: pairs of boundary names whose sides match, and are cut alike.

    Returns:
        The mesh, and for each of its cells the number of the cell that it is, or was cut from.
    """
    cells = _numbers(marked, mesh.cell_count)
    if len(cells) == 0:
        return mesh, np.arange(mesh.cell_count)
    edges = edge_table(mesh)
    classes = _classes(mesh, edges, periodic)
    rank = _ranks(mesh.nodes, edges.ends, classes)
    cut = np.zeros(len(edges.ends), dtype=bool)
    cut[edges.of_cell[cells]] = True
    cut = _closed(cut, edges.of_cell, rank, classes)
    heights = np.where(cut, rank, -1)
    return subdivided(mesh, edges, cut, lambda e, d: split_at_longest(heights[e], d), domain, classes)


def _numbers(marked: np.ndarray, count: int) -> np.ndarray:
    marked = np.asarray(marked)
    if marked.dtype == bool and marked.shape == (count,):
        return np.flatnonzero(marked)
    if marked.ndim != 1 or (marked.size and marked.dtype.kind not in "iu"):
        raise PcpinnError(
            f"the marks have shape {marked.shape} and type {marked.dtype}",
            f"give ({count},) bools, or numbers of cells",
        )
    if marked.size and not 0 <= int(marked.min()) <= int(marked.max()) < count:
        raise PcpinnError(
            f"cells {marked.min()} to {marked.max()} are marked", f"the mesh has the cells 0 to {count - 1}"
        )
    return np.unique(marked.astype(np.int64))


def _classes(mesh: Mesh, edges: EdgeTable, periodic: Sequence[tuple[str, str]]) -> np.ndarray:
    """(e,) equal numbers for edges that are the same in the periodic domain."""
    count = len(edges.ends)
    here, there = [], []
    for name_a, name_b in periodic:
        a, b = match_periodic(mesh, name_a, name_b)
        partner = np.zeros(len(mesh.nodes), dtype=np.int64)
        partner[a] = b
        own = np.unique(edges.of_facet[name_a])
        if len(own):
            _, (_, numbers) = edges_of(
                edges.ends, partner[edges.ends[own]]
            )  # in the order of `ends`, which are all edges
            here.append(own)
            there.append(numbers[:, 0])
    if not here:
        return np.arange(count)
    i, j = np.concatenate(here), np.concatenate(there)
    return connected_components(coo_matrix((np.ones(len(i)), (i, j)), shape=(count, count)), directed=False)[1]


def _ranks(nodes: np.ndarray, ends: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """(e,) higher for longer edges; among equal ones by direction, then by number. Equal only within a class.

    Edges of one class are parallel, so no two of them belong to one cell.
    """
    _, first, label = np.unique(classes, return_index=True, return_inverse=True)
    along = nodes[ends[first, 1]] - nodes[ends[first, 0]]
    length = np.linalg.norm(along, axis=1)
    direction = np.abs(along @ _GENERIC[: nodes.shape[1]]) / length
    order = np.lexsort((np.arange(len(first)), _grouped(direction), _grouped(np.log(length))))
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    return rank[label]


def _grouped(values: np.ndarray) -> np.ndarray:
    """(n,) whole numbers in the order of the values, equal where these differ by round-off."""
    order = np.argsort(values)
    group = np.zeros(len(values), dtype=np.int64)
    group[order[1:]] = np.cumsum(np.diff(values[order]) > _EQUAL)
    return group


def _closed(cut: np.ndarray, of_cell: np.ndarray, rank: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Cut further edges until each triangle with a cut edge has its longest edge cut, and periodic partners agree."""
    if of_cell.shape[1] == 1:
        return cut
    triangles = of_cell if of_cell.shape[1] == 3 else of_cell[:, _FACES].reshape(-1, 3)
    longest = np.take_along_axis(triangles, rank[triangles].argmax(axis=1)[:, None], axis=1)[:, 0]
    by_class = np.zeros(int(classes.max()) + 1, dtype=bool)
    by_class[classes[cut]] = True
    triangles, longest = classes[triangles], classes[longest]
    while True:
        open_ = ~by_class[longest]
        triangles, longest = triangles[open_], longest[open_]
        more = longest[by_class[triangles].any(axis=1)]
        if len(more) == 0:
            return by_class[classes]
        by_class[more] = True


def split_at_longest(heights: np.ndarray, dimension: int) -> Children:
    """Cut k simplices at their highest edge of those that are not negative, then the two halves, until none is left.

    A face shared by two cells is cut by this rule alone, in the same way from both sides.
    """
    corners = dimension + 1
    local = np.tile(np.arange(corners), (len(heights), 1))
    parent = np.arange(len(heights))
    if dimension == 0:
        return Children(local, parent)
    ends = np.array(EDGES[dimension])
    number = np.full((corners + len(ends),) * 2, -1)  # of the parent's edge between two of its corners
    number[ends[:, 0], ends[:, 1]] = number[ends[:, 1], ends[:, 0]] = np.arange(len(ends))
    whole = []
    while len(local):
        edge = number[local[:, ends[:, 0]], local[:, ends[:, 1]]]
        height = np.where(edge >= 0, heights[parent[:, None], edge], -1)
        highest = height.argmax(axis=1)
        rows = np.arange(len(local))
        to_cut = height[rows, highest] >= 0
        whole.append(Children(local[~to_cut], parent[~to_cut]))
        rows, highest, local, parent = rows[to_cut], highest[to_cut], local[to_cut], parent[to_cut]
        middle = corners + edge[rows, highest]
        rows = np.arange(len(local))
        halves = np.stack([local, local])
        halves[0, rows, ends[highest, 1]] = middle
        halves[1, rows, ends[highest, 0]] = middle
        local, parent = halves.reshape(-1, corners), np.tile(parent, 2)
    owner = np.concatenate([part.parent for part in whole])
    order = np.argsort(owner, kind="stable")
    return Children(np.concatenate([part.local for part in whole])[order], owner[order])


def evened_out(mesh: Mesh, ratio: float) -> Mesh:
    """An interval's mesh, cut until no cell is more than `ratio` times as long as one beside it."""
    while True:
        length = np.ptp(mesh.nodes[mesh.vertices, 0], axis=1)
        shortest = np.full(len(mesh.nodes), np.inf)
        np.minimum.at(shortest, mesh.vertices, length[:, None])
        wanted = length > ratio * shortest[mesh.vertices].min(axis=1)
        if not wanted.any():
            return mesh
        mesh = bisected(mesh, wanted)[0]
