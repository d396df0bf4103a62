"""Shapes in space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import PcpinnError
from . import shape_checks as checks
from .shape_primitive import Primitive


@dataclass(frozen=True)
class Box(Primitive):
    """Between two corners. Sides "left", "right" (x), "front", "back" (y), "bottom", "top" (z), or all `name`."""

    lower: tuple[float, float, float]
    upper: tuple[float, float, float]
    name: str | None = None

    def __post_init__(self) -> None:
        lower, upper = checks.corners(self.lower, self.upper, 3, "the box")
        self._check_name()
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @property
    def dimension(self) -> int:
        """Three."""
        return 3

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """(3,) lower and (3,) upper corner."""
        return np.array(self.lower), np.array(self.upper)

    @property
    def side_names(self) -> tuple[str, ...]:
        """Names at lower x, upper x, lower y, upper y, lower z, upper z."""
        return (self.name,) * 6 if self.name else ("left", "right", "front", "back", "bottom", "top")

    def level(self, points: np.ndarray) -> np.ndarray:
        """(n, 3) -> (n,): negative inside."""
        lower, upper = self.bounds
        return np.max(np.maximum(lower - points, points - upper), axis=1)


@dataclass(frozen=True)
class Ball(Primitive):
    """Centre and radius. Boundary "boundary" or `name`."""

    centre: tuple[float, float, float]
    radius: float
    name: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", checks.point(self.centre, 3, "centre of the ball"))
        object.__setattr__(self, "radius", checks.positive(self.radius, "radius of the ball"))
        self._check_name()

    @property
    def dimension(self) -> int:
        """Three."""
        return 3

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """(3,) lower and (3,) upper corner."""
        return np.array(self.centre) - self.radius, np.array(self.centre) + self.radius

    def level(self, points: np.ndarray) -> np.ndarray:
        """(n, 3) -> (n,): signed distance to the sphere, negative inside."""
        return np.linalg.norm(points - np.array(self.centre), axis=1) - self.radius


@dataclass(frozen=True)
class Cylinder(Primitive):
    """Centre of the base, vector from there to the centre of the top, radius. Boundary "boundary" or `name`."""

    base: tuple[float, float, float]
    axis: tuple[float, float, float]
    radius: float
    name: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", checks.point(self.base, 3, "base of the cylinder"))
        object.__setattr__(self, "axis", checks.point(self.axis, 3, "axis of the cylinder"))
        object.__setattr__(self, "radius", checks.positive(self.radius, "radius of the cylinder"))
        if self.height == 0.0:
            raise PcpinnError(
                f"the cylinder's axis is {self.axis}, which has no length",
                "give the vector from the centre of the base to the centre of the top",
            )
        self._check_name()

    @property
    def dimension(self) -> int:
        """Three."""
        return 3

    @property
    def height(self) -> float:
        """Length of the axis."""
        return float(np.linalg.norm(self.axis))

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """(3,) lower and (3,) upper corner."""
        base, axis = np.array(self.base), np.array(self.axis)
        reach = self.radius * np.sqrt(np.clip(1.0 - (axis / self.height) ** 2, 0.0, 1.0))  # of a disk across the axis
        return np.minimum(base, base + axis) - reach, np.maximum(base, base + axis) + reach

    def level(self, points: np.ndarray) -> np.ndarray:
        """(n, 3) -> (n,): negative inside."""
        direction = np.array(self.axis) / self.height
        offset = points - np.array(self.base)
        along = offset @ direction
        across = np.linalg.norm(offset - along[:, None] * direction, axis=1)
        return np.max([across - self.radius, -along, along - self.height], axis=0)
