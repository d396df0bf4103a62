"""Shapes in space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import PcpinnError
from . import shape_checks as checks
from .shape_primitive import Brick, Primitive, Round


@dataclass(frozen=True)
class Box(Brick):
    """Between two corners. Sides "left", "right" (x), "front", "back" (y), "bottom", "top" (z), or all `name`."""

    dimension: ClassVar[int] = 3

    @property
    def side_names(self) -> tuple[str, ...]:
        """Names at lower x, upper x, lower y, upper y, lower z, upper z."""
        return (self.name,) * 6 if self.name else ("left", "right", "front", "back", "bottom", "top")


@dataclass(frozen=True)
class Ball(Round):
    """Centre and radius. Boundary "boundary" or `name`."""

    dimension: ClassVar[int] = 3


@dataclass(frozen=True)
class Cylinder(Primitive):
    """Centre of the base, vector from there to the centre of the top, radius. Boundary "boundary" or `name`."""

    base: tuple[float, float, float]
    axis: tuple[float, float, float]
    radius: float
    name: str | None = None

    dimension: ClassVar[int] = 3

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
