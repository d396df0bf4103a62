"""Polygons in the plane."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import PcpinnError
from . import shape_checks as checks
from .shape_primitive import Primitive


@dataclass(frozen=True)
class Polygon(Primitive):
    """Corner points in either direction. `names`: none, one for all edges, or one per edge.

    Edge i goes from point i to point i + 1, the last one back to point 0. The first point is not repeated.
    """

    points: tuple[tuple[float, float], ...]
    names: str | tuple[str, ...] | None = None

    dimension: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if not isinstance(self.points, Iterable):
            raise PcpinnError(f"the polygon's points are {self.points!r}", "give a list of (x, y) points")
        points = tuple(checks.point(p, 2, f"point {i} of the polygon") for i, p in enumerate(self.points))
        if len(points) < 3:
            raise PcpinnError(f"the polygon has {len(points)} points", "give at least 3 corner points")
        object.__setattr__(self, "points", points)
        if self.names is not None and not isinstance(self.names, str):
            object.__setattr__(self, "names", _edge_names(self.names, len(points)))
        elif self.names is not None:
            checks.name(self.names, "Polygon")
        _check_simple(np.array(points))

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """(2,) lower and (2,) upper corner."""
        return np.min(self.points, axis=0), np.max(self.points, axis=0)

    @property
    def side_names(self) -> tuple[str, ...]:
        """One name per edge."""
        if isinstance(self.names, tuple):
            return self.names
        return (self.names or "boundary",) * len(self.points)

    @property
    def area(self) -> float:
        """Enclosed area."""
        return abs(_signed_area(np.array(self.points)))

    def level(self, points: np.ndarray) -> np.ndarray:
        """(n, 2) -> (n,): signed distance to the edges, negative inside."""
        distance = np.full(len(points), np.inf)
        inside = np.zeros(len(points), dtype=bool)
        corners = np.array(self.points)
        for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            along = b - a
            fraction = np.clip((points - a) @ along / (along @ along), 0.0, 1.0)
            distance = np.minimum(distance, np.linalg.norm(points - a - fraction[:, None] * along, axis=1))
            # a ray to the right crosses the edge: an odd number of crossings means inside
            straddles = (a[1] > points[:, 1]) != (b[1] > points[:, 1])
            rise = along[1] if along[1] != 0.0 else 1.0  # a level edge straddles nothing
            inside ^= straddles & (points[:, 0] < a[0] + (points[:, 1] - a[1]) * along[0] / rise)
        return np.where(inside, -distance, distance)


def _edge_names(names: Iterable[str], edges: int) -> tuple[str, ...]:
    if not isinstance(names, Iterable):
        raise PcpinnError(f"the polygon's edge names are {names!r}", "give one name, or a list with one name per edge")
    result = tuple(checks.name(name, f"polygon edge {i}") for i, name in enumerate(names))
    if len(result) != edges:
        raise PcpinnError(
            f"the polygon has {edges} edges but {len(result)} edge names", f"give one name, or exactly {edges} names"
        )
    return result


def _signed_area(p: np.ndarray) -> float:
    q = np.roll(p, -1, axis=0)
    return float(0.5 * np.sum(p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]))


def _check_simple(p: np.ndarray) -> None:
    """Refuse repeated corners, spikes, edges that cross or touch, and polygons without area. p is (n, 2)."""
    p = p - p.mean(axis=0)
    size = float(np.max(np.ptp(p, axis=0)))
    q = np.roll(p, -1, axis=0)
    short = np.flatnonzero(np.linalg.norm(q - p, axis=1) <= 1e-10 * size)
    if len(short):
        i = int(short[0])
        raise PcpinnError(
            f"points {i} and {(i + 1) % len(p)} of the polygon coincide", "list each corner once, also the first"
        )
    if np.linalg.svd(p, compute_uv=False)[-1] <= 1e-10 * size:
        raise PcpinnError("the polygon's corners lie on a line, so it has no area", "move a corner off the line")
    for i in range(len(p)):  # one row at a time keeps memory linear for outlines with thousands of corners
        j = np.arange(i + 1, len(p))
        a, b = _side(p[i], q[i], p[j]), _side(p[i], q[i], q[j])
        c, d = _side(p[j], q[j], p[i]), _side(p[j], q[j], q[i])
        adjacent = (j == i + 1) | ((i == 0) & (j == len(p) - 1))
        crossing = (a * b <= 0) & (c * d <= 0) & ~adjacent & _boxes_meet(p[i], q[i], p[j], q[j])
        ahead = (q[i] - p[i]) @ (q[j] - p[j]).T
        spike = adjacent & (a == 0) & (b == 0) & (ahead < 0)  # the next edge runs straight back along this one
        bad = np.flatnonzero(crossing | spike)
        if len(bad):
            raise PcpinnError(
                f"edges {i} and {int(j[bad[0]])} of the polygon cross or touch",
                "list the corners in order around the outline, so that no two edges meet except at shared corners",
            )


def _side(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Sign of the area of the triangle abc: on which side of the line ab the point c lies."""
    u, v = b - a, c - a
    area = u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]
    slack = 1e-12 * np.linalg.norm(u, axis=-1) * np.maximum(np.linalg.norm(v, axis=-1), np.linalg.norm(u, axis=-1))
    return np.where(np.abs(area) <= slack, 0.0, np.sign(area))


def _boxes_meet(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Whether the boxes around the segments ab and cd meet; tells collinear neighbours from overlapping ones."""
    return np.all((np.minimum(a, b) <= np.maximum(c, d)) & (np.minimum(c, d) <= np.maximum(a, b)), axis=-1)
