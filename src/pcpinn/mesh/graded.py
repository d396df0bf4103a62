"""Points that a mesh is graded towards: where adaptive refinement has found the solution to be singular."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from .corners import angles_about_nodes
from .mesh import Mesh

_RINGS = 5  # each twice as wide as the one inside it, so that sizes grow at least 32-fold
_STEEP = 0.15  # least median of size / distance in a ring: about a line, or a layer, it falls with the distance
_NEAR = 8.0  # sizes of the smallest cells around it within which the point itself is looked for
_CORNER = np.radians(30.0)
_MOST = 16  # points
_TRIED = 200  # vertices


@dataclass(frozen=True)
class Graded:
    """A point, the size of the cells at it, and how far from it sizes still grow with the distance."""

    at: tuple[float, ...]
    size: float
    reach: float


def graded_points(mesh: Mesh, likely: np.ndarray | None = None) -> list[Graded]:
    """Vertices about which cells grow in proportion to their distance, in all directions and 32-fold or more.

    Those with the smallest cells come first. Cells that are small along a line, as in a layer, have no such point.

    Args:
        mesh: adapted to a solution.
        likely: (n,) bool, vertices that are taken rather than those beside them, such as crossings of interfaces; corners of
            the domain are, too.
    """
    d = mesh.dimension
    if d == 1 or mesh.has_time:
        return []
    corners = mesh.nodes[mesh.vertices]
    middle = corners.mean(axis=1)
    size = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])) ** (1 / d)
    at_vertex = np.full(len(mesh.nodes), np.inf)
    np.minimum.at(at_vertex, mesh.vertices, size[:, None])
    turns = _turns(mesh) if likely is None else _turns(mesh) | likely
    cells, vertices = cKDTree(middle), cKDTree(mesh.nodes)
    widest = float(np.quantile(size, 0.9))
    open_ = at_vertex < widest / 2**_RINGS
    found: list[Graded] = []
    for _ in range(_TRIED):
        if not open_.any() or len(found) == _MOST:
            break
        first = int(np.where(open_, at_vertex, np.inf).argmin())
        small = float(at_vertex[first])
        near = np.array(vertices.query_ball_point(mesh.nodes[first], _NEAR * small))
        near = near[np.isfinite(at_vertex[near])]
        if turns[near].any():
            near = near[turns[near]]  # a corner of the domain rather than a vertex beside it
        centre = mesh.nodes[min(near.tolist(), key=lambda v: _spread(mesh.nodes[v], small, cells, size))]
        reach = _reach(centre, small, cells, size)
        rings = np.log2(reach / small)
        if rings > _RINGS:
            found.append(Graded(tuple(centre.tolist()), small, reach))
        open_[vertices.query_ball_point(mesh.nodes[first], max(_NEAR * small, reach if rings > _RINGS else 0.0))] = (
            False
        )
    return found


def _turns(mesh: Mesh) -> np.ndarray:
    """(n,) bool: vertices at which a plane domain has a corner."""
    if mesh.dimension != 2:
        return np.zeros(len(mesh.nodes), dtype=bool)
    angle = angles_about_nodes(mesh)
    return np.minimum(np.abs(angle - np.pi), np.abs(angle - 2 * np.pi)) > _CORNER


def _spread(point: np.ndarray, small: float, cells: cKDTree, size: np.ndarray) -> float:
    """How far sizes around a point are from growing as the distance."""
    around = np.array(cells.query_ball_point(point, 4 * _NEAR * small), dtype=np.int64)
    if not len(around):  # thin cells, whose middles are far from their corners
        return np.inf
    r = np.linalg.norm(cells.data[around] - point, axis=1)
    return float(np.std(np.log(size[around] / np.maximum(r, small))))


def _reach(point: np.ndarray, small: float, cells: cKDTree, size: np.ndarray) -> float:
    """The radius of the widest ring up to which sizes keep up with the distance."""
    r = np.linalg.norm(cells.data - point, axis=1)
    outer = 4 * small
    while True:
        ring = (r < outer) & (r >= outer / 2)
        if not ring.any() or np.median(size[ring] / r[ring]) < _STEEP:
            return outer / 2
        outer *= 2
