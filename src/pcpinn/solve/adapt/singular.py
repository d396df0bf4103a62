"""Where a solution is singular, as the domain and the adapted mesh say: the network is told of these points."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...mesh.corners import corners_of
from ...mesh.graded import graded_points
from ...mesh.mesh import Mesh
from ...problem.problem import Problem
from ...recipes import PerAxis

_SINGULAR = 0.8  # exponents of r below which a corner counts
_MOST = 16  # points; each adds inputs to the network
_INNER = 0.25  # of the cells at a point: within this distance its inputs are smoothed


def singular_points(problem: Problem, mesh: Mesh, kinks: PerAxis = ()) -> dict[str, Any]:
    """Settings `corners` and `corner_size` of an adapted mesh; none where there is no such point.

    Points are corners of the domain by their angles and conditions, and those that the mesh is graded towards, whatever the
    reason: values on two sides that do not fit together, crossings of the interfaces `kinks`.
    """
    if mesh.dimension == 1 or mesh.has_time:
        return {}
    points = [c.at for c in sorted(_corners(problem, mesh), key=lambda c: c.exponent) if c.exponent < _SINGULAR]
    known = np.array(points).reshape(-1, mesh.dimension)
    for graded in graded_points(mesh, _crossings(mesh, kinks)):
        if not np.any(np.linalg.norm(known - graded.at, axis=1) < graded.reach / 2):
            points.append(graded.at)
    if not points:
        return {}
    points = points[:_MOST]
    return {"corners": tuple(points), "corner_size": _INNER * _smallest(mesh, np.array(points))}


def _corners(problem: Problem, mesh: Mesh) -> list[Any]:
    return corners_of(problem, mesh) if mesh.dimension == 2 else []


def _crossings(mesh: Mesh, kinks: PerAxis) -> np.ndarray:
    """(n,) bool: nodes that lie on planes across two axes or more."""
    extent = float(np.max(mesh.bounds[1] - mesh.bounds[0]))
    on = [
        np.any([np.abs(mesh.nodes[:, k] - c) < 1e-9 * extent for c in line], axis=0)
        for k, line in enumerate(kinks)
        if line
    ]
    return np.asarray(np.sum(on, axis=0) > 1) if on else np.zeros(len(mesh.nodes), dtype=bool)


def _smallest(mesh: Mesh, points: np.ndarray) -> float:
    """Of the cells about these vertices."""
    corners = mesh.nodes[mesh.vertices]
    size = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])) ** (1 / mesh.dimension)
    at = np.array([np.linalg.norm(mesh.nodes - p, axis=1).argmin() for p in points])
    return float(size[np.isin(mesh.vertices, at).any(axis=1)].min())
