"""What the shapes that are not made from others have in common."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import PcpinnError
from . import shape_checks as checks
from .shape_base import Shape


class Primitive(Shape):
    """A shape that is not made from others."""

    @property
    def primitives(self) -> tuple[Shape, ...]:
        """Itself."""
        return (self,)

    @property
    def side_names(self) -> tuple[str, ...]:
        """One name per side, in the shape's own order of sides."""
        return (getattr(self, "name", None) or "boundary",)

    @property
    def boundary_names(self) -> tuple[str, ...]:
        """Sorted, each once."""
        return tuple(sorted(set(self.side_names)))

    def _check_extent(self) -> None:
        """Far from the origin a small shape has no extent in floating-point numbers."""
        lower, upper = self.bounds
        if not (lower < upper).all() or not np.isfinite([lower, upper]).all():
            raise PcpinnError(
                f"{type(self).__name__} is too small for its place: numbers that large are too coarse to tell its ends apart",
                "move it towards the origin, or use other units",
            )

    def _check_name(self) -> None:
        name = getattr(self, "name", None)
        if name is not None:
            checks.name(name, type(self).__name__)


@dataclass(frozen=True)
class Brick(Primitive):
    """All points between two corners."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    name: str | None = None

    def __post_init__(self) -> None:
        what = f"the {type(self).__name__.lower()}"
        lower, upper = checks.corners(self.lower, self.upper, self.dimension, what)
        self._check_name()
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """(d,) lower and (d,) upper corner."""
        return np.array(self.lower), np.array(self.upper)

    def level(self, points: np.ndarray) -> np.ndarray:
        """(n, d) -> (n,): negative inside."""
        lower, upper = self.bounds
        return np.max(np.maximum(lower - points, points - upper), axis=1)


@dataclass(frozen=True)
class Round(Primitive):
    """All points no farther from a centre than a radius. Boundary "boundary" or `name`."""

    centre: tuple[float, ...]
    radius: float
    name: str | None = None

    def __post_init__(self) -> None:
        what = f"the {type(self).__name__.lower()}"
        object.__setattr__(self, "centre", checks.point(self.centre, self.dimension, f"centre of {what}"))
        object.__setattr__(self, "radius", checks.positive(self.radius, f"radius of {what}"))
        self._check_extent()
        self._check_name()

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """(d,) lower and (d,) upper corner."""
        return np.array(self.centre) - self.radius, np.array(self.centre) + self.radius

    def level(self, points: np.ndarray) -> np.ndarray:
        """(n, d) -> (n,): signed distance to the boundary, negative inside."""
        return np.linalg.norm(points - np.array(self.centre), axis=1) - self.radius
