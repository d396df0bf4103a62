"""Vertices at given points: a value that is held at a point (`Pin`) is held at a node, so one has to be there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from .mesh import Mesh
from .topology import EDGES, facets_of

_TRIED = 6  # vertices near a point, the nearest first
_THERE = 1e-9  # of the extent of the mesh
_LEFT = 0.25  # of a cell's volume that has to be left of it


def with_vertices_at(mesh: Mesh, points: Iterable[Sequence[float]], periodic: bool = False) -> Mesh:
    """The mesh with a vertex near each point moved onto it, inside or along a straight side, where its cells stay good ones.

    Args:
        mesh: any.
        points: of the domain, (d,) each.
        periodic: sides have partners, and stay as they are.
    """
    for point in points:
        mesh = _with_vertex_at(mesh, np.asarray(point, dtype=float), periodic)
    return mesh


def _with_vertex_at(mesh: Mesh, point: np.ndarray, periodic: bool) -> Mesh:
    vertices = np.unique(mesh.vertices)
    distance = np.linalg.norm(mesh.nodes[vertices] - point, axis=1)
    near = vertices[np.argsort(distance, kind="stable")[:_TRIED]]
    if distance.min() <= _THERE * np.ptp(mesh.nodes, axis=0).max():
        return mesh
    sides = facets_of(mesh.vertices).boundary
    for vertex in near.tolist():
        own = sides[(sides == vertex).any(axis=1)]
        if len(own) and (periodic or mesh.curved or not _slides(mesh, vertex, own, point)):
            continue
        moved = _moved(mesh, vertex, point)
        cells = (mesh.vertices == vertex).any(axis=1)
        before, after = (_volumes(m, cells) for m in (mesh, moved))
        if (after / before >= _LEFT).all():
            return moved
    return mesh


def _slides(mesh: Mesh, vertex: int, facets: np.ndarray, point: np.ndarray) -> bool:
    """Whether a vertex of the boundary may be moved to a point: its facets lie in one plane with it, and have the same names."""
    if mesh.dimension == 1:
        return False
    way, spread = point - mesh.nodes[vertex], mesh.nodes[facets].reshape(-1, mesh.dimension) - mesh.nodes[vertex]
    heights = np.linalg.svd(np.vstack([spread, way]))[1]
    if heights[-1] > _THERE * heights[0]:
        return False
    ours = {frozenset(row) for row in facets.tolist()}
    shares = [len(ours & {frozenset(row) for row in rows.tolist()}) for rows in mesh.boundaries.values()]
    return all(share in (0, len(ours)) for share in shares)


def _moved(mesh: Mesh, vertex: int, point: np.ndarray) -> Mesh:
    nodes, corners = mesh.nodes.copy(), mesh.dimension + 1
    nodes[vertex] = point
    if mesh.curved:  # edges inside are straight
        for k, (a, b) in enumerate(EDGES[mesh.dimension]):
            own = (mesh.cells[:, [a, b]] == vertex).any(axis=1)
            nodes[mesh.cells[own, corners + k]] = nodes[mesh.cells[own][:, [a, b]]].mean(axis=1)
    return replace(mesh, nodes=nodes)


def _volumes(mesh: Mesh, cells: np.ndarray) -> np.ndarray:
    """Of some cells, with signs, but for a factor."""
    corners = mesh.nodes[mesh.vertices[cells]]
    return np.asarray(np.linalg.det(corners[:, 1:] - corners[:, :1]))
