"""Shapes in the plane, except polygons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from . import shape_checks as checks
from .shape_primitive import Brick, Primitive, Round


@dataclass(frozen=True)
class Rectangle(Brick):
    """The rectangle between two corners. Sides "left", "right", "bottom", "top", or all `name`."""

    dimension: ClassVar[int] = 2

    @property
    def side_names(self) -> tuple[str, ...]:
        """Names at lower x, upper x, lower y, upper y."""
        return (self.name,) * 4 if self.name else ("left", "right", "bottom", "top")


@dataclass(frozen=True)
class Ellipse(Primitive):
    """Centre and half the axes along x and y. Boundary "boundary" or `name`."""

    centre: tuple[float, float]
    semi_axes: tuple[float, float]
    name: str | None = None

    dimension: ClassVar[int] = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", checks.point(self.centre, 2, "centre of the ellipse"))
        axes = checks.point(self.semi_axes, 2, "semi-axes of the ellipse")
        object.__setattr__(self, "semi_axes", tuple(checks.positive(axis, "semi-axis") for axis in axes))
        self._check_extent()
        self._check_name()

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
class Disk(Round):
    """Centre and radius. Boundary "boundary" or `name`."""

    dimension: ClassVar[int] = 2
