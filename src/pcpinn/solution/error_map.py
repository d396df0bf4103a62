"""Errors at the points of a reference as a surface, so that they are drawn as smoothly as the solution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.tri import Triangulation
from scipy.spatial import QhullError

from ..discretize.outside import outside_of
from ..mesh.slab_mesh import AnyMesh, SlabMesh

_MOST = 60_000  # points; more do not fit into a picture


@dataclass(frozen=True)
class Surface:
    """Values at places of the plane, with triangles between them.

    Attributes:
        shape: places and triangles; None where too few places, or all on a line, make no surface.
        places: (n, 2).
        values: (n,).
        over_time: whether a value is the largest at its place over all times.
    """

    shape: Triangulation | None
    places: np.ndarray
    values: np.ndarray
    over_time: bool


def error_surface(mesh: AnyMesh, points: np.ndarray, error: np.ndarray) -> Surface:
    """Errors (n,) at points (n, d) as a surface over the first two coordinates.

    Of points in one place, at several times or along a third axis, the largest error is seen. No triangle
    crosses a hole.
    """
    places, values = points[:, :2], error
    over_time = mesh.has_time and points.shape[1] == 3
    if points.shape[1] == 3:
        places, values = _largest(places, values)
    if len(values) > _MOST:
        step = -(-len(values) // _MOST)
        places, values = places[::step], values[::step]
    lower, upper = (corner[:2] for corner in mesh.bounds)
    scaled = (places - lower) / (upper - lower)  # x and t have no common scale
    try:
        triangles = Triangulation(scaled[:, 0], scaled[:, 1]).triangles
    except (ValueError, RuntimeError, QhullError):
        return Surface(None, places, values, over_time)
    space = mesh.space if isinstance(mesh, SlabMesh) and points.shape[1] == 3 else mesh
    if space.dimension == 2 and len(triangles):
        triangles = triangles[~outside_of(space, places[triangles].mean(axis=1), 0.2)]
    if not len(triangles):
        return Surface(None, places, values, over_time)
    return Surface(Triangulation(places[:, 0], places[:, 1], triangles), places, values, over_time)


def _largest(places: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each place once, with the largest of its values."""
    spread = np.ptp(places, axis=0).max() or 1.0
    _, first, which = np.unique(np.round(places / spread, 9), axis=0, return_index=True, return_inverse=True)
    result = np.zeros(len(first))
    np.maximum.at(result, which.ravel(), values)
    return places[first], result
