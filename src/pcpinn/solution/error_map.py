"""Errors at the points of a reference as a surface, so that they are drawn as smoothly as the solution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.tri import Triangulation
from scipy.interpolate import LinearNDInterpolator
from scipy.spatial import QhullError, cKDTree

from ..mesh.slab_mesh import AnyMesh

_MOST = 60_000  # points; more do not fit into a picture

Lattice = tuple[np.ndarray, np.ndarray]  # places (m, 2) and triangles (k, 3)


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


def error_surface(mesh: AnyMesh, points: np.ndarray, error: np.ndarray, lattice: Lattice | None) -> Surface:
    """Errors (n,) at points (n, d) as a surface over the first two coordinates.

    Of points in one place, at several times or along a third axis, the largest error is seen.

    Args:
        mesh: of the solution.
        points, error: of the reference.
        lattice: places (m, 2) and triangles that cover the domain, with its holes; then errors between points are interpolated.
            None where there is none: then the points themselves are the corners of triangles.
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
        between = LinearNDInterpolator(scaled, values)
        triangles = between.tri.simplices
    except (ValueError, QhullError):  # too few, or all on a line
        return Surface(None, places, values, over_time)
    if lattice is None:
        return Surface(Triangulation(places[:, 0], places[:, 1], triangles), places, values, over_time)
    at, triangles = lattice
    found = between((at - lower) / (upper - lower))
    beyond = ~np.isfinite(found)
    if beyond.any():
        found[beyond] = values[cKDTree(scaled).query((at[beyond] - lower) / (upper - lower))[1]]
    return Surface(Triangulation(at[:, 0], at[:, 1], triangles), at, found, over_time)


def _largest(places: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each place once, with the largest of its values."""
    spread = np.ptp(places, axis=0).max() or 1.0
    _, first, which = np.unique(np.round(places / spread, 9), axis=0, return_index=True, return_inverse=True)
    result = np.zeros(len(first))
    np.maximum.at(result, which.ravel(), values)
    return places[first], result
