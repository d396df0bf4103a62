"""Meshes without a jump of coefficients inside a cell: nodes move onto it, edges are cut at it and bent along it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..mesh.bisect import split_at_longest
from ..mesh.mesh import Mesh
from ..mesh.onto_walls import curved_edges
from ..mesh.quadratic import lowest_determinants
from ..mesh.subdivide import edge_table, subdivided
from ..mesh.topology import edges_of, facets_of
from ..problem.shape_base import Domain
from .jumps import Values, jumps_between

_OFF = 1e-6  # of an edge: so far from its ends jumps along it are looked for
_MOVED = 0.35  # of an edge: nodes that are closer to the jump move there, others stay and the edge is cut
_KEPT = 0.2  # of its area that a cell must keep
_ACROSS = 1e-4  # of an edge: a jump within this distance of both ends runs along the edge
_BULGE = 0.2  # of an edge: how far its middle may move
_FLAT = 0.04  # of an edge: with a larger bulge it is cut
_DEEP = (
    0.15  # of the way from a side of a cell to its middle: slivers along sides that a jump was fitted to are thinner
)
_ROUNDS = 3
_LEFT = 0.2  # of the edges that a jump crosses: with more of them left the mesh is not fitted
_MOST_CROSSED = 0.35  # of all edges: more are a pattern that the mesh is too coarse for
_BENT = 1e-8  # of an edge: less is rounding


@dataclass(frozen=True)
class OntoJumps:
    """Fits meshes to the jumps of functions of points, (m, 2) -> (m, v)."""

    values: Values

    def fitted(self, mesh: Mesh, domain: Domain | None = None) -> Mesh:
        """A mesh of triangles, nodes moved and edges cut so that jumps run along edges; of intervals, cut at jumps.

        Curved triangles are fitted as straight ones, and then bent along the walls of the domain again, which must be given.
        """
        if mesh.dimension == 1 and not mesh.has_time:
            rows, at, _ = self._crossings(mesh, edge_table(mesh).ends)
            return _cut(mesh, rows, at) if len(rows) else mesh
        if mesh.dimension != 2 or mesh.has_time or (mesh.curved and domain is None):
            return mesh
        before, mesh = mesh, _straight(mesh)
        rows, at, part = self._crossings(mesh, edge_table(mesh).ends)
        first = len(rows)
        if not 0 < len(rows) < _MOST_CROSSED * len(edge_table(mesh).ends):
            return before
        mesh = _with_nodes_moved(mesh, edge_table(mesh).ends[rows], at, part)
        rows, at, _ = self._crossings(mesh, edge_table(mesh).ends)
        mesh = _cut(mesh, rows, at)
        for _ in range(_ROUNDS):
            rows, at, bulge = self._along(mesh)
            if not np.any(bulge > _FLAT):
                break
            mesh = _cut(mesh, rows[bulge > _FLAT], at[bulge > _FLAT])
        if len(self._crossings(mesh, edge_table(mesh).ends)[0]) > _LEFT * first:
            return before
        return self.settled(mesh, domain if before.curved else None)

    def crossed(self, mesh: Mesh) -> bool:
        """Whether jumps cross edges of the mesh between their ends."""
        return len(self._crossings(mesh, edge_table(mesh).ends)[0]) > 0

    def mixed(self, mesh: Mesh) -> np.ndarray:
        """(c,) bool: cells of a plane mesh with a jump between their middles and points beside the middles of their sides."""
        result = np.zeros(mesh.cell_count, dtype=bool)
        if mesh.dimension != 2 or mesh.has_time:
            return result
        middle = np.full((2, 1), 1 / 3)
        sides = (1 - _DEEP) * np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]) + _DEEP * middle
        x = np.moveaxis(mesh.skfem.mapping().F(np.hstack([middle, sides])), 0, -1)  # (c, 4, 2)
        found = jumps_between(self.values, np.repeat(x[:, :1], 3, axis=1).reshape(-1, 2), x[:, 1:].reshape(-1, 2))
        if found is not None:
            result[found.rows // 3] = True
        return result

    def settled(self, mesh: Mesh, domain: Domain | None = None) -> Mesh:
        """The mesh with the middles of edges along a jump moved onto it, which makes its triangles curved ones.

        With a domain, the middles of edges on its curved walls are moved there, too.
        """
        if mesh.dimension != 2 or mesh.has_time:
            return mesh
        rows, at, bulge = self._along(mesh)
        on_walls, there = _on_walls(mesh, domain)
        if not len(on_walls) and (not len(rows) or (not mesh.curved and np.all(bulge < _BENT))):
            return mesh
        return _bent(mesh, np.concatenate([rows, on_walls]), np.concatenate([at, there]))

    def _along(self, mesh: Mesh) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Inner edges with a jump through both ends; where it passes their middles, and how far off, relative to their length."""
        ends, (of_cell,) = edges_of(mesh.vertices)
        a, b = mesh.nodes[ends[:, 0]], mesh.nodes[ends[:, 1]]
        normal = np.column_stack([a[:, 1] - b[:, 1], b[:, 0] - a[:, 0]])
        inner = np.bincount(of_cell.ravel(), minlength=len(ends)) == 2
        for end in (a, b):
            rows = np.flatnonzero(inner)
            inner[rows] = self._across(end[rows], _ACROSS * normal[rows])[0]
        around = inner[of_cell].all(axis=1)  # a cell whose corners are all on the jump: its longest edge is a chord
        inner[of_cell[around, np.linalg.norm(normal, axis=1)[of_cell[around]].argmax(axis=1)]] = False
        rows = np.flatnonzero(inner)
        middle = ((a + b) / 2)[rows]
        there, at = self._across(middle, _BULGE * normal[rows])
        bulge = np.linalg.norm(at - middle, axis=1) / np.linalg.norm(normal[rows], axis=1)
        return rows[there], at[there], bulge[there]

    def _crossings(self, mesh: Mesh, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Numbers of the edges that a jump crosses between their ends; where, and at which part of the edge."""
        a, b = mesh.nodes[ends[:, 0]], mesh.nodes[ends[:, 1]]
        along = b - a
        found = jumps_between(self.values, a + _OFF * along, b - _OFF * along)
        if found is None:
            return np.zeros(0, dtype=np.int64), np.zeros((0, 2)), np.zeros(0)
        rows = found.rows
        part = np.einsum("ei,ei->e", found.at - a[rows], along[rows]) / (along[rows] ** 2).sum(axis=1)
        inside = (part > 10 * _OFF) & (part < 1 - 10 * _OFF)
        if mesh.dimension == 2:
            inside &= ~self._lies_along(a[rows], b[rows])
        return rows[inside], found.at[inside], part[inside]

    def _lies_along(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(m,) whether edges from a to b (m, 2) have a jump through both ends: points between are beside it by rounding alone."""
        reach = _ACROSS * np.column_stack([a[:, 1] - b[:, 1], b[:, 0] - a[:, 0]])
        return np.asarray(self._across(a, reach)[0] & self._across(b, reach)[0])

    def _across(self, x: np.ndarray, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(m,) whether there is a jump between x - reach and x + reach; and (m, 2) where, else x."""
        there, at = np.zeros(len(x), dtype=bool), x.copy()
        found = jumps_between(self.values, x - reach, x + reach)
        if found is not None:
            there[found.rows] = True
            at[found.rows] = found.at
        return there, at


def _straight(mesh: Mesh) -> Mesh:
    """With straight cells and the same corners, whose numbers may change."""
    if not mesh.curved:
        return mesh
    used, cells = np.unique(mesh.vertices, return_inverse=True)
    sides = {name: np.searchsorted(used, facets) for name, facets in mesh.boundaries.items()}
    return Mesh(mesh.nodes[used], cells.reshape(mesh.vertices.shape), sides)


def _on_walls(mesh: Mesh, domain: Domain | None) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the edges on curved walls, and the places (k, 2) there that their middles belong to."""
    on = curved_edges(mesh, domain)
    if on is None:
        return np.zeros(0, dtype=np.int64), np.zeros((0, 2))
    _, (_, rows) = edges_of(mesh.vertices, on.ends)
    corners = mesh.nodes[on.ends]
    length = np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1)
    return rows[:, 0], on.projected(np.arange(len(on.ends)), corners.mean(axis=1), length / 2)


def _with_nodes_moved(mesh: Mesh, ends: np.ndarray, at: np.ndarray, part: np.ndarray) -> Mesh:
    """Nodes that are close to a jump, by the part of an edge, moved onto it; those on the boundary along it alone."""
    node = np.where(part < 0.5, ends[:, 0], ends[:, 1])
    close = np.minimum(part, 1 - part)
    order = np.argsort(close)
    sides = facets_of(mesh.vertices).boundary
    fixed = np.zeros(len(mesh.nodes), dtype=bool)
    fixed[sides] = True
    placed, moves = mesh.nodes.copy(), np.zeros(len(mesh.nodes), dtype=bool)
    for k in order.tolist():
        v = node[k]
        if close[k] < _MOVED and not moves[v] and not fixed[v]:
            placed[v], moves[v] = at[k], True
    before = _areas(mesh.nodes, mesh.vertices)
    sign = np.sign(before)
    while True:
        nodes = np.where(moves[:, None], placed, mesh.nodes)
        spoilt = np.zeros(len(nodes), dtype=bool)
        spoilt[mesh.vertices[_areas(nodes, mesh.vertices) * sign < _KEPT * before * sign]] = True
        if not np.any(moves & spoilt):
            return Mesh(nodes, mesh.cells, mesh.boundaries, mesh.has_time)
        moves &= ~spoilt


def _cut(mesh: Mesh, rows: np.ndarray, at: np.ndarray) -> Mesh:
    """The mesh with nodes at places on some of its edges, by their numbers, and its cells cut there."""
    edges = edge_table(mesh)
    cut = np.zeros(len(edges.ends), dtype=bool)
    cut[rows] = True
    length = np.linalg.norm(mesh.nodes[edges.ends[:, 1]] - mesh.nodes[edges.ends[:, 0]], axis=1)
    height = np.where(cut, length, -1.0)
    finer, _ = subdivided(mesh, edges, cut, lambda e, d: split_at_longest(height[e], d))
    nodes = finer.nodes.copy()
    nodes[len(mesh.nodes) :] = at[np.argsort(rows)]
    return Mesh(nodes, finer.cells, finer.boundaries)


def _bent(mesh: Mesh, chosen: np.ndarray, at: np.ndarray) -> Mesh:
    """Curved triangles; the middles of chosen edges are moved to given places where cells allow it."""
    ends, (of_cell,) = edges_of(mesh.vertices)
    middle = mesh.nodes[ends].mean(axis=1)
    if mesh.curved:
        middle[of_cell] = mesh.nodes[mesh.cells[:, 3:]]
    sign = np.sign(_areas(mesh.nodes, mesh.vertices))
    plain, moved = middle.copy(), np.zeros(len(middle), dtype=bool)
    moved[chosen] = True
    least = _KEPT * np.abs(_areas(mesh.nodes, mesh.vertices))
    target = middle.copy()
    target[chosen] = at
    while True:
        now = np.where(moved[:, None], target, plain)
        points = np.concatenate([mesh.nodes[mesh.vertices], now[of_cell]], axis=1)
        spoilt = np.zeros(len(middle), dtype=bool)
        spoilt[of_cell[lowest_determinants(points, sign) < least]] = True
        if not np.any(moved & spoilt):
            break
        moved &= ~spoilt
    if mesh.curved:
        nodes = mesh.nodes.copy()
        nodes[mesh.cells[:, 3:]] = now[of_cell]
        return Mesh(nodes, mesh.cells, mesh.boundaries)
    cells = np.hstack([mesh.vertices, len(mesh.nodes) + of_cell])
    return Mesh(np.vstack([mesh.nodes, now]), cells, mesh.boundaries)


def _areas(nodes: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(c,) twice the area, with the sign of the order of corners."""
    corners = nodes[triangles]
    return np.linalg.det(corners[:, 1:] - corners[:, :1])
