"""The sides of shapes as formulas: every side of every shape is part of the zeros of a polynomial of degree two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .shape_base import Domain, Shape, SpaceTime
from .shape_primitive import Primitive
from .shapes import Ball, Box, Cylinder, Disk, Ellipse, Interval, Polygon, Rectangle


@dataclass(frozen=True)
class Wall:
    """Where x . quadratic x + linear . x + constant = 0; near there its values are about distances, of either sign."""

    name: str
    quadratic: np.ndarray  # (d, d)
    linear: np.ndarray  # (d,)
    constant: float

    def level(self, x: np.ndarray) -> np.ndarray:
        """(..., d) -> (...,)."""
        return np.einsum("...i,ij,...j->...", x, self.quadratic, x) + x @ self.linear + self.constant


def walls_of(domain: Domain) -> list[Wall]:
    """The sides of all shapes that a domain is built from, even those that are cut away."""
    if not isinstance(domain, SpaceTime):
        return [wall for part in domain.primitives for wall in _sides(part)] if isinstance(domain, Shape) else []
    d = domain.dimension
    later = np.eye(d)[-1]
    in_space = [
        Wall(w.name, np.pad(w.quadratic, (0, 1)), np.append(w.linear, 0.0), w.constant) for w in walls_of(domain.shape)
    ]
    ends = [_plane("initial", later, domain.start * later), _plane("final", -later, domain.end * later)]
    return in_space + ends


def _sides(shape: Shape) -> list[Wall]:
    assert isinstance(shape, Primitive)
    names = shape.side_names
    if isinstance(shape, Interval | Rectangle | Box):
        lower, upper = shape.bounds
        axes = np.eye(shape.dimension)
        pairs = [plane for e in axes for plane in ((e, lower), (-e, upper))]
        return [_plane(name, normal, point) for name, (normal, point) in zip(names, pairs, strict=True)]
    if isinstance(shape, Disk | Ball):
        return [_ellipsoid(names[0], np.array(shape.centre), np.full(shape.dimension, shape.radius))]
    if isinstance(shape, Ellipse):
        return [_ellipsoid(names[0], np.array(shape.centre), np.array(shape.semi_axes))]
    if isinstance(shape, Polygon):
        corners = np.array(shape.points)
        along = np.roll(corners, -1, axis=0) - corners
        normals = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1, keepdims=True)
        return [_plane(name, n, a) for name, n, a in zip(names, normals, corners, strict=True)]
    if isinstance(shape, Cylinder):
        base, axis = np.array(shape.base), np.array(shape.axis) / shape.height
        across = (np.eye(3) - np.outer(axis, axis)) / (2 * shape.radius)
        mantle = _quadric(names[0], across, base, shape.radius / 2)
        return [mantle, _plane(names[0], axis, base), _plane(names[0], -axis, base + np.array(shape.axis))]
    return []


def _plane(name: str, normal: np.ndarray, point: np.ndarray) -> Wall:
    return Wall(name, np.zeros((len(point), len(point))), normal, -float(normal @ point))


def _ellipsoid(name: str, centre: np.ndarray, semi_axes: np.ndarray) -> Wall:
    size = float(semi_axes.min()) / 2
    return _quadric(name, np.diag(size / semi_axes**2), centre, size)


def _quadric(name: str, quadratic: np.ndarray, centre: np.ndarray, size: float) -> Wall:
    """(x - centre) . quadratic (x - centre) = size."""
    pull = quadratic @ centre
    return Wall(name, quadratic, -2 * pull, float(centre @ pull) - size)
