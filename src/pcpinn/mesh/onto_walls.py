"""Curved sides of a domain: which edges of a mesh lie on them, and how new nodes of these edges get there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import PcpinnError
from ..problem.shapes import Domain, SpaceTime
from ..problem.walls import Wall, walls_of
from .mesh import Mesh
from .topology import edges_of, facets_of, rows_in

_ON = 1e-8  # distance from a wall, relative to the mesh, up to which a vertex lies on it
_ARC = 1e-3  # the same for the middle node of a curved edge, relative to the edge
_STEPS = 8  # of Newton's method; quadratic convergence needs about four
_ALIGNED = 0.5  # cosine between a facet's normal and its wall's


@dataclass(frozen=True)
class CurvedEdges:
    """Edges on curved walls, with the walls and planes that nodes on them must keep to.

    Attributes:
        ends: (p, 2) vertices of each edge, ascending.
        quadratic: (p, k, d, d) of the polynomials of `Wall`, one for each boundary facet at the edge.
        linear: (p, k, d).
        constant: (p, k).
    """

    ends: np.ndarray
    quadratic: np.ndarray
    linear: np.ndarray
    constant: np.ndarray

    def projected(self, rows: np.ndarray, x: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Move points (q, d) near the edges `rows` (q,) onto their walls; those that would go further than `size` stay."""
        Q, b, c = self.quadratic[rows], self.linear[rows], self.constant[rows]
        y = x.copy()
        for _ in range(_STEPS):
            pull = np.einsum("qkij,qj->qki", Q, y)
            level = np.einsum("qki,qi->qk", pull + b, y) + c
            # The shortest step that meets all levels: facets on one wall give the same row twice.
            y = y - np.einsum("qik,qk->qi", np.linalg.pinv(2 * pull + b, rcond=1e-6), level)
        there = np.abs(np.einsum("qki,qi->qk", np.einsum("qkij,qj->qki", Q, y) + b, y) + c).max(axis=1) < _ON * size
        return np.where((there & (np.linalg.norm(y - x, axis=1) < size))[:, None], y, x)


def curved_edges(mesh: Mesh, domain: Domain | None) -> CurvedEdges | None:
    """The edges of the mesh's boundary that lie on curved walls of the domain; None where there are none."""
    if domain is None:
        return None
    if isinstance(domain, SpaceTime) and not mesh.has_time and domain.shape.dimension == mesh.dimension:
        domain = domain.shape
    if domain.dimension != mesh.dimension:
        raise PcpinnError(
            f"the domain has {domain.dimension} coordinates and the mesh {mesh.dimension}",
            "give the domain that was meshed",
        )
    walls = walls_of(domain)
    bent = [wall for wall in walls if np.any(wall.quadratic)]
    if mesh.dimension == 1 or not bent:
        return None
    facets = facets_of(mesh.vertices).boundary
    wall_of = walls_of_facets(mesh, facets, bent, [wall for wall in walls if not np.any(wall.quadratic)])
    if np.all(wall_of < 0):
        return None
    normal = _normals(mesh.nodes[facets])
    flat = -np.einsum("fi,fi->f", normal, mesh.nodes[facets[:, 0]])
    on = wall_of >= 0
    quadratic = np.where(on[:, None, None], np.stack([w.quadratic for w in bent])[wall_of], 0.0)
    linear = np.where(on[:, None], np.stack([w.linear for w in bent])[wall_of], normal)
    constant = np.where(on, np.array([w.constant for w in bent])[wall_of], flat)
    # Every edge with the facets that share it: one in two dimensions, two in three unless surfaces touch.
    ends, (of_facet,) = edges_of(facets)
    owner = np.repeat(np.arange(len(facets)), of_facet.shape[1])
    by_edge = np.argsort(of_facet.ravel(), kind="stable")
    edge, owner = of_facet.ravel()[by_edge], owner[by_edge]
    place = np.arange(len(edge)) - np.searchsorted(edge, edge)
    table = np.full((len(ends), int(place.max()) + 1), -1)
    table[edge, place] = owner
    table = np.where(table < 0, table[:, :1], table)
    kept = np.flatnonzero(on[table].any(axis=1))
    table = table[kept]
    return CurvedEdges(ends[kept], quadratic[table], linear[table], constant[table])


def walls_of_facets(mesh: Mesh, facets: np.ndarray, bent: list[Wall], flat: list[Wall]) -> np.ndarray:
    """(f,) number of the curved wall that each boundary facet lies on, or -1.

    Corners may lie on several walls: two on the rim of a cylinder's end are on its mantle, too. So flat walls are tried
    first, a wall's name must be the facet's where the mesh has that name, and normals must agree.
    """
    points = mesh.nodes[facets]
    extent = float(np.max(mesh.bounds[1] - mesh.bounds[0]))
    size = np.linalg.norm(points[:, 1] - points[:, 0], axis=1)
    middle = _middles(mesh, facets) if mesh.curved and mesh.dimension == 2 else None
    normal = _normals(points)
    named = {name: rows_in(facets, np.asarray(rows)) for name, rows in mesh.boundaries.items()}
    found = np.full(len(facets), -1)
    open_ = np.ones(len(facets), dtype=bool)
    for wall, number in [*((w, -1) for w in flat), *((w, k) for k, w in enumerate(bent))]:
        hit = open_ & (np.abs(wall.level(points)) <= _ON * extent).all(axis=1)
        hit &= named.get(wall.name, np.ones(len(facets), dtype=bool))
        if middle is not None:
            hit &= np.abs(wall.level(middle)) <= (_ON * extent if number < 0 else _ARC * size)
        if number >= 0:
            slope = 2 * points.mean(axis=1) @ wall.quadratic + wall.linear
            hit &= np.abs(np.einsum("fi,fi->f", slope, normal)) >= _ALIGNED * np.linalg.norm(slope, axis=1)
        found[hit] = number
        open_ &= ~hit
    return found


def _middles(mesh: Mesh, edges: np.ndarray) -> np.ndarray:
    """(f, 2) place of the middle node of edges of curved triangles."""
    ends, (of_cell, of_edge) = edges_of(mesh.vertices, edges)
    number = np.zeros(len(ends), dtype=np.int64)
    number[of_cell] = mesh.cells[:, 3:]
    return mesh.nodes[number[of_edge[:, 0]]]


def _normals(points: np.ndarray) -> np.ndarray:
    """(f, d, d) corners of facets -> (f, d) unit normals, of either sign."""
    along = points[:, 1:] - points[:, :1]
    if points.shape[2] == 2:
        normal = np.stack([-along[:, 0, 1], along[:, 0, 0]], axis=1)
    else:
        normal = np.cross(along[:, 0], along[:, 1])
    return normal / np.linalg.norm(normal, axis=1, keepdims=True)
