"""The error of a quantity as what an adaptive loop makes small."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ...discretize.finite_elements import FiniteElements
from ...errors import PcpinnError
from ...problem.problem import Problem
from ...solution.quantity import Quantity
from ...solution.solution import Solution
from ..adapt.level import Level
from .dual import Duals
from .functional import Functional
from .ground import ground_of
from .wanted import Wanted

_CELLS = 0.1  # part of the cells' contributions without signs that an error is at least


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
        value, own = self._values(level.fine, level.better), self._values(level.coarse, level.u)
        least = _CELLS * float(self.indicators(level).sum()) / len(value)
        return max(float(np.abs(value - own).max()), least) / _unit(value)

    def found(self, level: Level, now: Level) -> float:
        """The difference between an earlier level and a later, better one."""
        value = self._values(now.fine, now.better)
        return float(np.abs(value - self._values(level.coarse, level.u)).max()) / _unit(value)

    def indicators(self, level: Level) -> np.ndarray:
        """(c,) what each cell contributes to the difference, by the adjoint problem."""
        return np.abs(Duals(level).contributions(self.functional)).sum(axis=0)

    def answer(self, solution: Solution, problem: Problem) -> tuple[list[Quantity], float]:
        """The quantity of a solution, and its relative error."""
        found = ground_of(solution, problem).quantities(self.functional, self.label)
        unit = _unit(np.array([q.value for q in found]))
        return found, max(q.error or 0.0 for q in found) / unit

    def _values(self, fe: FiniteElements, u: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            value = self.functional(fe, torch.from_numpy(u))[0].numpy()
        if not np.isfinite(value).all():
            raise PcpinnError("the quantity is not finite", "check its function at the points of the domain")
        return value


def _unit(value: np.ndarray) -> float:
    """What errors are divided by: the size of the quantity, in whatever units; nothing where it is zero."""
    return float(np.abs(value).max()) or 1.0
