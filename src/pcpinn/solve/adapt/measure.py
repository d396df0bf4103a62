"""What an adaptive loop makes small: the error of the fields, or that of a quantity."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from .level import Level
from .marches import MarchLevel


class Measure(Protocol):
    """An error of discrete solutions, and what cells contribute to it."""

    def seen(self, level: Level) -> float:
        """The error of a level's discrete solution, as far as its finer space sees it."""

    def found(self, level: Level, now: Level) -> float:
        """The error of an earlier level's discrete solution, measured with the better one of a later level."""

    def indicators(self, level: Level) -> np.ndarray:
        """(c,) what each cell contributes."""


class OfFields:
    """The relative L2 error, the largest over the fields."""

    def seen(self, level: Level) -> float:  # noqa: D102
        return level.largest(level.errors)

    def found(self, level: Level, now: Level) -> float:  # noqa: D102
        return now.largest(now.distances_from(level.coarse, level.u))

    def indicators(self, level: Level) -> np.ndarray:  # noqa: D102
        return level.indicators()


class MarchMeasure(Protocol):
    """The same of discrete marches."""

    def parts(self, level: MarchLevel) -> tuple[float, float]:
        """Errors by space and by time."""

    def seen(self, level: MarchLevel) -> float:
        """The error of a level's coarsest march."""

    def found(self, level: MarchLevel, now: MarchLevel) -> float:
        """That of an earlier level, measured with the finest march of a later one."""

    def by_step(self, level: MarchLevel) -> np.ndarray:
        """(S,) what each step contributes."""


class OfMarchedFields:
    """The relative L2 error over space and time, the largest over the fields."""

    def parts(self, level: MarchLevel) -> tuple[float, float]:  # noqa: D102
        return level.parts

    def seen(self, level: MarchLevel) -> float:  # noqa: D102
        return level.largest(level.errors)

    def found(self, level: MarchLevel, now: MarchLevel) -> float:  # noqa: D102
        return now.largest(now.distances_from(level.base))

    def by_step(self, level: MarchLevel) -> np.ndarray:  # noqa: D102
        return level.by_step
