"""Discrete marches side by side, from which errors are estimated: as a network would be trained, and finer ones."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from ...discretize.field_units import units_of
from ...discretize.space import Space
from ...discretize.transfer import by_field, prolongation, squares
from ...discretize.window import MarchSpace
from ...errors import PcpinnError, PcpinnWarning
from ...mesh.mesh import Mesh
from ...problem.problem import Problem
from ...progress import Progress
from .fields import counts
from .level import Elements
from .limits import Limits
from .stepping import DiscreteMarch, march_discrete

PLACES = np.array([0.0694, 0.33, 0.67, 0.9306])  # of a step where solutions are compared
WEIGHTS = np.array([0.1739, 0.3261, 0.3261, 0.1739])
_TO_TRAIN = 4  # times a level's seconds, for those that follow and for the network
_AT_LEAST = 1.5  # times a time limit that was too short


class TooLong(PcpinnError):
    """A level of planning takes more time than there is.

    Args:
        seconds: the time limit.
        done, total: steps that are solved, and steps of the level; these are fewer where steps had to be halved.
        took: seconds that these took.
        before: seconds that had gone by when the level began.
    """

    def __init__(self, seconds: float, done: int, total: int, took: float, before: float = 0.0) -> None:
        each = took / done
        needed = max(before + _TO_TRAIN * each * max(done, total), _AT_LEAST * seconds)
        if done <= total:
            solved, rest = f"{done} of {total} steps", f"so that all of them take about {each * total:.2g} s"
        else:
            solved, rest = f"{done} steps", "and there are more: steps that cannot be solved are halved"
        super().__init__(
            f"choosing mesh and steps does not come to an end within the time limit of {seconds:g} s: {solved} are solved, "
            f"{each:.2g} s each, {rest}",
            f"allow more time (time_limit={rounded_up(needed)}), or ask for less accuracy",
        )


@dataclass(frozen=True)
class Steps:
    """How time is stepped through: scheme, time levels per step, ends of the steps."""

    scheme: str
    order: int
    times: np.ndarray

    def cut(self, counts: np.ndarray) -> Steps:
        """With each step cut into as many equal ones as (S,) counts say."""
        parts = [self.times[:1]]
        for a, b, count in zip(self.times[:-1], self.times[1:], counts.tolist(), strict=True):
            parts.append(np.linspace(a, b, count + 1)[1:])
        return replace(self, times=np.concatenate(parts))


@dataclass(frozen=True)
class MarchPair:
    """Two discrete marches with the same steps: as a network would be trained, and finer in space and in time."""

    base: DiscreteMarch
    finest: DiscreteMarch

    @property
    def space(self) -> Space:
        """The finer space."""
        return self.finest.space.form.space

    @cached_property
    def units(self) -> np.ndarray:
        """(F,) L2 norm over space and time of each field."""
        space, finest = self.space, self.finest
        total = np.zeros(len(space.fields))
        for k, length in enumerate(np.diff(finest.times)):
            for value, weight in zip(finest.within(k, PLACES), WEIGHTS * length, strict=True):
                total += weight * by_field(space, squares(space, value)).sum(axis=0)
        last = self.base.times[-1], torch.from_numpy(self.base.values[-1])
        marched, sizes = self.base.space, np.sqrt(total)
        return units_of(sizes, marched.ratios(*last), lambda: marched.smooth_ratios(*last))

    @cached_property
    def errors(self) -> np.ndarray:
        """(F,) relative error of the base, by field."""
        return self.distances_from(self.base)

    def largest(self, errors: np.ndarray) -> float:
        """The largest of errors by field (F,), those of auxiliary fields left out."""
        return float(errors[counts(self.base.space.problem)].max())

    def distances_from(self, other: DiscreteMarch) -> np.ndarray:
        """(F,) relative distance of the finest solution from a march with fewer cells or steps."""
        space, finest = self.space, self.finest
        carry = prolongation(other.space.form.space, space)
        total = np.zeros(len(space.fields))
        for k, (start, length) in enumerate(zip(finest.times[:-1], np.diff(finest.times), strict=True)):
            theirs = (carry @ other.at(start + length * PLACES).T).T
            ours = finest.within(k, PLACES)
            for j, weight in enumerate(WEIGHTS * length):
                total += weight * by_field(space, squares(space, ours[j] - theirs[j])).sum(axis=0)
        return np.sqrt(total) / self.units


@dataclass(frozen=True)
class MarchLevel(MarchPair):
    """With a third march, finer in space alone, that tells errors by space from errors by time."""

    finer: DiscreteMarch

    @cached_property
    def _measured(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Squares over space and time: of differences in space and in time, by field; by cell, of those in space; by step, of
        what the scheme's polynomial leaves of the finest solution."""
        base, finer, finest, space = self.base, self.finer, self.finest, self.space
        up, fields = prolongation(base.space.form.space, space), len(space.fields)
        total = np.zeros((2, fields))
        cells, steps = np.zeros((len(space.mesh.cells), fields)), np.zeros((len(base.times) - 1, fields))
        nodes = np.concatenate([[0.0], base.scheme.nodes])
        for k, length in enumerate(np.diff(base.times)):
            b = (up @ base.within(k, PLACES).T).T
            f, g = finer.within(k, PLACES), finest.within(k, PLACES)
            resolved = base.scheme.interpolation(PLACES) @ finest.within(k, nodes)
            for j, weight in enumerate(WEIGHTS * length):
                in_space = weight * by_field(space, squares(space, b[j] - f[j]))
                cells += in_space
                total[0] += in_space.sum(axis=0)
                total[1] += weight * by_field(space, squares(space, f[j] - g[j])).sum(axis=0)
                steps[k] += weight * by_field(space, squares(space, resolved[j] - g[j])).sum(axis=0)
        return total, cells, steps

    @property
    def parts(self) -> tuple[float, float]:
        """Relative errors by space and by time, the largest over the fields."""
        in_space, in_time = np.sqrt(self._measured[0]) / self.units
        return self.largest(in_space), self.largest(in_time)

    @property
    def by_cell(self) -> np.ndarray:
        """(c,) contributions of the cells to the squared error in space."""
        return (self._measured[1] / self.units**2)[:, counts(self.base.space.problem)].sum(axis=1)

    @property
    def by_step(self) -> np.ndarray:
        """(S,) contributions of the steps: what their polynomials cannot follow."""
        return (self._measured[2] / self.units**2)[:, counts(self.base.space.problem)].sum(axis=1)


@dataclass(frozen=True)
class Marches:
    """What discrete marches are made of, and who is told of their steps.

    Attributes:
        problem: of first order in time.
        elements: in space.
        progress, limits: what is told of steps, and when they take too long.
    """

    problem: Problem
    elements: Elements
    progress: Progress
    limits: Limits

    def pair(self, mesh: Mesh, steps: Steps) -> MarchPair:
        """Those that an error is estimated with; the same is raised as by `level`."""
        own, finer, told = self._begun(mesh, steps, 2, quiet=True)
        return MarchPair(self._march(own, steps, 0, told), self._march(finer, steps, 1, told))

    def level(self, mesh: Mesh, steps: Steps, quiet: bool) -> MarchLevel:
        """Those of a level of planning.

        Raises:
            TooLong: when hardly any time would be left.
            PcpinnError: when a step cannot be solved.
        """
        own, finer, told = self._begun(mesh, steps, 3, quiet)
        base, in_space = self._march(own, steps, 0, told), self._march(finer, steps, 0, told)
        return MarchLevel(base, self._march(finer, steps, 1, told), in_space)

    def solvable(self, mesh: Mesh, steps: Steps) -> Steps:
        """Steps, those of them halved that the marches of a level could not make; the same is raised as by `level`."""
        own, finer, told = self._begun(mesh, steps, 3, quiet=True)
        for space, more in ((own, 0), (finer, 0), (finer, 1)):
            times = march_discrete(space, steps.scheme, steps.order + more, steps.times, told, halving=True).times
            steps = replace(steps, times=times)
        return steps

    def _begun(
        self, mesh: Mesh, steps: Steps, marches: int, quiet: bool
    ) -> tuple[MarchSpace, MarchSpace, Callable[[int], None]]:
        """The problem in space, as trained and finer, and who is told of each step."""
        limits, done, began, total = self.limits, 0, self.limits.clock.seconds, marches * (len(steps.times) - 1)

        def told(_: int) -> None:
            nonlocal done
            done += 1
            if limits.overdue:
                raise TooLong(limits.seconds, done, total, limits.clock.seconds - began, began)
            self.progress.count("steps", done, total)

        with warnings.catch_warnings():
            if quiet:
                warnings.simplefilter("ignore", PcpinnWarning)
            own = space_of(self.problem, mesh, self.elements, steps.times)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PcpinnWarning)
            finer = space_of(*self.elements.raised(self.problem, mesh), steps.times)
        return own, finer, told

    def _march(self, space: MarchSpace, steps: Steps, more: int, told: Callable[[int], None]) -> DiscreteMarch:
        return march_discrete(space, steps.scheme, steps.order + more, steps.times, told)


def rounded_up(seconds: float) -> int:
    """Seconds of a time limit, to one digit, at least 10."""
    unit = 10 ** max(1, math.floor(math.log10(max(seconds, 10))))
    return math.ceil(seconds / unit) * unit


def space_of(problem: Problem, mesh: Mesh, elements: Elements, times: np.ndarray) -> MarchSpace:
    """The problem in space."""
    ends = (float(times[0]), float(times[-1]))
    return MarchSpace(problem, mesh, ends, elements.degree, elements.quadrature, element=elements.element)
