"""What every domain can do, and the shapes made from others: union, difference, intersection, space-time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import PcpinnError
from . import shape_checks as checks

_EDGE = 1e-12  # points this close to the boundary, relative to the extent, count as inside


class Domain(ABC):
    """Where a problem is posed: a shape in space, or a shape over a span of time.

    Attributes:
        has_time: whether the last coordinate of its points is time.
    """

    has_time: bool = False

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Number of coordinates d."""

    @property
    @abstractmethod
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """(d,) lower and (d,) upper corner of a box around the domain; for booleans not always the smallest one."""

    @property
    @abstractmethod
    def boundary_names(self) -> tuple[str, ...]:
        """Sorted names that the boundary of a mesh may have; a boolean may cut some of them away."""

    @abstractmethod
    def contains(self, points: Any) -> np.ndarray:
        """(n, d) points -> (n,) bool, true inside and on the boundary."""


class Shape(Domain):
    """A bounded region of space, as pure data. `a + b` or `a | b` unites, `a - b` cuts away, `a & b` intersects.

    The right-hand side may be a list of shapes: `rectangle - [disk_1, disk_2]`.
    """

    @abstractmethod
    def level(self, points: np.ndarray) -> np.ndarray:
        """(n, d) points -> (n,): negative inside, zero on the boundary, positive outside (not a distance)."""

    @property
    @abstractmethod
    def primitives(self) -> tuple[Shape, ...]:
        """The shapes that this one is built from, in the order written; itself if it is not a boolean."""

    @property
    def boundary_names(self) -> tuple[str, ...]:
        """Sorted names that the boundary of a mesh may have; a boolean may cut some of them away."""
        return tuple(sorted({name for part in self.primitives for name in part.boundary_names}))

    @property
    def extent(self) -> float:
        """Longest side of the box around the shape."""
        lower, upper = self.bounds
        return float(np.max(upper - lower))

    def contains(self, points: Any) -> np.ndarray:
        """(n, d) points -> (n,) bool, true inside and on the boundary."""
        return self.level(checks.points_array(points, self.dimension)) <= _EDGE * self.extent

    def over(self, start: float, end: float, coordinate: bool = False) -> SpaceTime:
        """This shape from time `start` to time `end`.

        Args:
            start, end: of time.
            coordinate: whether problems on it take time as one more coordinate of space: the last component of x and of
                gradients, with ordinary boundaries "initial" and "final".
        """
        return SpaceTime(self, start, end, coordinate)

    def __add__(self, other: Shape | Iterable[Shape]) -> Shape:
        others = self._others(other, "+")
        return Union(_flat(Union, (self, *others))) if others else self

    def __or__(self, other: Shape | Iterable[Shape]) -> Shape:
        return self + other

    def __sub__(self, other: Shape | Iterable[Shape]) -> Shape:
        others = self._others(other, "-")
        if not others:
            return self
        if isinstance(self, Difference):
            return Difference(self.base, (*self.removed, *others))
        return Difference(self, others)

    def __and__(self, other: Shape | Iterable[Shape]) -> Shape:
        others = self._others(other, "&")
        return Intersection(_flat(Intersection, (self, *others))) if others else self

    def _others(self, other: Any, symbol: str) -> tuple[Shape, ...]:
        """The right-hand side of an operator as a tuple of shapes of this dimension."""
        others = (other,) if isinstance(other, Domain) or not isinstance(other, Iterable) else tuple(other)
        for shape in others:
            if not isinstance(shape, Shape):
                hint = "combine the shapes first and call .over(start, end) last"
                raise PcpinnError(
                    f"the right side of {symbol!r} is {shape!r}, which is not a shape in space",
                    hint if isinstance(shape, Domain) else "put a shape, or a list of shapes, there",
                )
            if shape.dimension != self.dimension:
                raise PcpinnError(
                    f"{type(self).__name__} has {self.dimension} dimensions and {type(shape).__name__} has "
                    f"{shape.dimension}, so {symbol!r} cannot combine them",
                    "combine shapes of equal dimension",
                )
        return others


def _flat(kind: type, parts: tuple[Shape, ...]) -> tuple[Shape, ...]:
    """a + b + c as one union of three rather than a nest; keeps the recursion shallow for hundreds of shapes."""
    return tuple(
        leaf
        for part in parts
        for leaf in (part.parts if isinstance(part, _Boolean) and isinstance(part, kind) else (part,))
    )


@dataclass(frozen=True)
class _Boolean(Shape):
    """Several shapes of one dimension combined."""

    parts: tuple[Shape, ...]

    @property
    def dimension(self) -> int:
        """Number of coordinates d."""
        return self.parts[0].dimension

    @property
    def primitives(self) -> tuple[Shape, ...]:
        """The shapes that this one is built from, in the order written."""
        return tuple(leaf for part in self.parts for leaf in part.primitives)


@dataclass(frozen=True)
class Union(_Boolean):
    """Points in at least one of the parts."""

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of the box around all parts."""
        lowers, uppers = zip(*(part.bounds for part in self.parts), strict=True)
        return np.min(lowers, axis=0), np.max(uppers, axis=0)

    def level(self, points: np.ndarray) -> np.ndarray:
        """(n,): negative inside."""
        return np.min([part.level(points) for part in self.parts], axis=0)


@dataclass(frozen=True)
class Intersection(_Boolean):
    """Points in all of the parts."""

    def __post_init__(self) -> None:
        lower, upper = self.bounds
        if not np.all(lower < upper):
            raise PcpinnError(
                "the shapes joined by '&' have no area in common: " + " & ".join(map(repr, self.parts)),
                "move or enlarge them so that they overlap",
            )

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of the box common to all parts' boxes."""
        lowers, uppers = zip(*(part.bounds for part in self.parts), strict=True)
        return np.max(lowers, axis=0), np.min(uppers, axis=0)

    def level(self, points: np.ndarray) -> np.ndarray:
        """(n,): negative inside."""
        return np.max([part.level(points) for part in self.parts], axis=0)


@dataclass(frozen=True)
class Difference(Shape):
    """Points of `base` that are in none of `removed`."""

    base: Shape
    removed: tuple[Shape, ...]

    @property
    def dimension(self) -> int:
        """Number of coordinates d."""
        return self.base.dimension

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of the box around the base."""
        return self.base.bounds

    @property
    def primitives(self) -> tuple[Shape, ...]:
        """The shapes that this one is built from, in the order written."""
        return tuple(leaf for part in (self.base, *self.removed) for leaf in part.primitives)

    def level(self, points: np.ndarray) -> np.ndarray:
        """(n,): negative inside."""
        return np.max([self.base.level(points), *(-part.level(points) for part in self.removed)], axis=0)


@dataclass(frozen=True)
class SpaceTime(Domain):
    """A shape over a span of time; points are (x, ..., t). Its boundary adds "initial" and "final".

    Attributes:
        shape: in space.
        start, end: of time.
        coordinate: whether problems on it take time as a coordinate of space (see `Shape.over`).
    """

    shape: Shape
    start: float
    end: float
    coordinate: bool = False

    has_time = True  # not a field: every span of time has it

    def __post_init__(self) -> None:
        if not isinstance(self.shape, Shape):
            raise PcpinnError(
                f"a space-time domain needs a shape in space, not {self.shape!r}", "write shape.over(start, end) once"
            )
        start, end = checks.number(self.start, "start time"), checks.number(self.end, "end time")
        if not start < end:
            raise PcpinnError(f"the time span from {start:g} to {end:g} is empty", "make the end later than the start")
        reserved = {"initial", "final"} & set(self.shape.boundary_names)
        if reserved:
            raise PcpinnError(
                f"the shape already calls a boundary {sorted(reserved)[0]!r}, the name of an end of time",
                "rename that boundary of the shape",
            )
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "end", end)

    @property
    def dimension(self) -> int:
        """Number of coordinates d, time included."""
        return self.shape.dimension + 1

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner, time last."""
        lower, upper = self.shape.bounds
        return np.append(lower, self.start), np.append(upper, self.end)

    @property
    def boundary_names(self) -> tuple[str, ...]:
        """The shape's names, "initial" and "final", sorted."""
        return tuple(sorted({*self.shape.boundary_names, "initial", "final"}))

    def contains(self, points: Any) -> np.ndarray:
        """(n, d) points -> (n,) bool, true inside and on the boundary."""
        points = checks.points_array(points, self.dimension)
        edge = _EDGE * (self.end - self.start)
        inside_time = (points[:, -1] >= self.start - edge) & (points[:, -1] <= self.end + edge)
        return inside_time & self.shape.contains(points[:, :-1])
