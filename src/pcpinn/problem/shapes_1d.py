"""Shapes on the line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import PcpinnError
from . import shape_checks as checks
from .shape_primitive import Primitive


@dataclass(frozen=True)
class Interval(Primitive):
    """Points between a and b. Ends "left" and "right", or both `name`."""

    a: float
    b: float
    name: str | None = None

    dimension: ClassVar[int] = 1

    def __post_init__(self) -> None:
        a, b = checks.number(self.a, "left end"), checks.number(self.b, "right end")
        if not a < b:
            raise PcpinnError(f"the interval from {a:g} to {b:g} is empty", "make the left end smaller than the right")
        self._check_name()
        object.__setattr__(self, "a", a)
        object.__setattr__(self, "b", b)

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """(1,) lower and (1,) upper."""
        return np.array([self.a]), np.array([self.b])

    @property
    def side_names(self) -> tuple[str, ...]:
        """Names at a and at b."""
        return (self.name, self.name) if self.name else ("left", "right")

    def level(self, points: np.ndarray) -> np.ndarray:
        """(n, 1) -> (n,): negative inside."""
        return np.maximum(self.a - points[:, 0], points[:, 0] - self.b)
