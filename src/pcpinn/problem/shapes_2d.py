"""Shapes in the plane, except polygons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import shape_checks as checks
from .shape_primitive import Primitive


@dataclass(frozen=True)
class Rectangle(Primitive):
    """The rectangle between two corners. Sides "left", "right", "bottom", "top", or all `name`."""

    lower: tuple[float, float]
    upper: tuple[float, float]
    name: str | None = None

    def __post_init__(self) -> None:
        lower, upper = checks.corners(self.lower, self.upper, 2, "the rectangle")
        self._check_name()
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @property
    def dimension(self) -> int:
        """Two."""
        return 2

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """(2,) lower and (2,) upper corner."""
        return np.array(self.lower), np.array(self.upper)

    @property
    def side_names(self) -> tuple[str, ...]:
        """Names at lower x, upper x, lower y, upper y."""
        return (self.name,) * 4 if self.name else ("left", "right", "bottom", "top")

    def level(self, points: np.ndarray) -> np.ndarray:
        """(n, 2) -> (n,): negative inside."""
        lower, upper = self.bounds
        return np.max(np.maximum(lower - points, points - upper), axis=1)


@dataclass(frozen=True)
class Ellipse(Primitive):
    """Centre and half the axes along x and y. Boundary "boundary" or `name`."""

    centre: tuple[float, float]
    semi_axes: tuple[float, float]
    name: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", checks.point(self.centre, 2, "centre of the ellipse"))
        axes = checks.point(self.semi_axes, 2, "semi-axes of the ellipse")
        object.__setattr__(self, "semi_axes", tuple(checks.positive(axis, "semi-axis") for axis in axes))
        self._check_name()

    @property
    def dimension(self) -> int:
        """Two."""
        return 2

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """(2,) lower and (2,) upper corner."""
        centre, axes = np.array(self.centre), np.array(self.semi_axes)
        return centre - axes, centre + axes

    def level(self, points: np.ndarray) -> np.ndarray:
        """(n, 2) -> (n,): negative inside."""
        scaled = (points - np.array(self.centre)) / np.array(self.semi_axes)
        return (np.linalg.norm(scaled, axis=1) - 1.0) * min(self.semi_axes)


@dataclass(frozen=True)
class Disk(Primitive):
    """Centre and radius. Boundary "boundary" or `name`."""

    centre: tuple[float, float]
    radius: float
    name: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", checks.point(self.centre, 2, "centre of the disk"))
        object.__setattr__(self, "radius", checks.positive(self.radius, "radius of the disk"))
        self._check_name()

    @property
    def dimension(self) -> int:
        """Two."""
        return 2

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """(2,) lower and (2,) upper corner."""
        return np.array(self.centre) - self.radius, np.array(self.centre) + self.radius

    def level(self, points: np.ndarray) -> np.ndarray:
        """(n, 2) -> (n,): signed distance to the circle, negative inside."""
        return np.linalg.norm(points - np.array(self.centre), axis=1) - self.radius
