"""The error of a quantity as what an adaptive loop makes small."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ...discretize.finite_elements import FiniteElements
from ...errors import PcpinnError
from ...problem.problem import Problem
from ...problem.shape_base import SpaceTime
from ...solution.quantity import Quantity
from ...solution.solution import Solution
from ..adapt.level import Level
from ..adapt.marches import MarchLevel
from ..adapt.stepping import DiscreteMarch
from .dual import Duals
from .functional import Functional
from .ground import ground_of
from .marched import OverTime, compared, march_ground
from .network import within
from .wanted import Wanted

_CELLS = 0.1  # part of the cells' contributions without signs that an error is at least
_CANCELLED = (
    1e-3  # of what is added up: the mesh is not refined for the relative error of a smaller number, which may be zero
)


@dataclass(frozen=True)
class Goal:
    """The relative error of a quantity; of several numbers, the largest relative to the largest of them."""

    functional: Functional
    label: str

    @staticmethod
    def of(wanted: Wanted, problem: Problem) -> Goal:
        """From what the user asks for."""
        return Goal(wanted.functional(problem), wanted.label)

    def seen(self, level: Level) -> float:
        """The difference between the two discretisations of a level, or a tenth of the cells' contributions."""
        (value, sizes), (own, _) = self._values(level.fine, level.better), self._values(level.coarse, level.u)
        least = _CELLS * float(self.indicators(level).sum()) / len(value)
        return max(float(np.abs(value - own).max()), least) / _unit(value, sizes)

    def found(self, level: Level, now: Level) -> float:
        """The difference between an earlier level and a later, better one."""
        value, sizes = self._values(now.fine, now.better)
        return float(np.abs(value - self._values(level.coarse, level.u)[0]).max()) / _unit(value, sizes)

    def indicators(self, level: Level) -> np.ndarray:
        """(c,) what each cell contributes to the difference, by the adjoint problem."""
        return np.abs(Duals(level).contributions(self.functional)).sum(axis=0)

    def answer(self, solution: Solution, problem: Problem) -> tuple[list[Quantity], float]:
        """The quantity of a solution, and its relative error."""
        found = ground_of(solution, problem).quantities(self.functional, self.label)
        return found, _relative(found)

    def _values(self, fe: FiniteElements, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with torch.no_grad():
            value, sizes = (part.numpy() for part in self.functional(fe, torch.from_numpy(u)))
        if not np.isfinite(value).all():
            raise PcpinnError("the quantity is not finite", "check its function at the points of the domain")
        return value, sizes


@dataclass(frozen=True)
class MarchGoal:
    """The same of a problem over time, at a moment or over a span.

    Contributions are not weighted by an adjoint march: mesh and steps are refined for the fields, until the quantity is right.
    """

    functional: Functional
    label: str
    time: tuple[float, ...]

    @staticmethod
    def of(wanted: Wanted, problem: Problem) -> MarchGoal:
        """From what the user asks for."""
        assert isinstance(problem.domain, SpaceTime)
        time = within(wanted.t, problem.domain.start, problem.domain.end)
        return MarchGoal(wanted.functional(problem), wanted.label, time)

    def parts(self, level: MarchLevel) -> tuple[float, float]:
        """Differences of the quantity by space and by time."""
        return self._between(level.base, level.finer), self._between(level.finer, level.finest)

    def seen(self, level: MarchLevel) -> float:
        """The difference of a level's coarsest march from its finest."""
        return self._between(level.base, level.finest)

    def found(self, level: MarchLevel, now: MarchLevel) -> float:
        """That of an earlier level from the finest march of a later one."""
        return self._between(level.base, now.finest)

    def by_step(self, level: MarchLevel) -> np.ndarray:
        """(S,) of steps that begin before the quantity's end, what they contribute to the error of the fields."""
        return np.where(level.base.times[:-1] < self.time[-1], level.by_step, 0.0)

    def answer(self, solution: Solution, problem: Problem) -> tuple[list[Quantity], float]:
        """The quantity of a solution, and its relative error."""
        found = OverTime(march_ground(solution, problem), self.time).quantities(self.functional, self.label)
        return found, _relative(found)

    def _between(self, own: DiscreteMarch, finest: DiscreteMarch) -> float:
        found = compared(own, finest, self.functional, self.time)
        return float(np.maximum(found.apart, _CELLS * found.by_places).max()) / _unit(found.value, found.sizes)


def _unit(value: np.ndarray, sizes: np.ndarray) -> float:
    """What errors are divided by while the mesh is refined: the size of the numbers; at least a part of what is added up."""
    return max(float(np.abs(value).max()), _CANCELLED * float(sizes.max())) or 1.0


def _relative(found: list[Quantity]) -> float:
    """The largest error, relative to the largest number; of numbers that are zero but for their errors it is one."""
    largest, error = max(abs(q.value) for q in found), max(q.error or 0.0 for q in found)
    return error / largest if largest > 0 else float(error > 0)
