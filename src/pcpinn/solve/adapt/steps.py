"""Solve, estimate, mark, refine for problems over time: cells where space, steps where time is the larger error."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...discretize.space import Space
from ...discretize.transfer import by_field, prolongation, squares
from ...discretize.window import MarchSpace
from ...errors import PcpinnError, PcpinnWarning
from ...mesh.mesh import Mesh
from ...problem.problem import Problem
from ...progress import Progress
from ..refinement import refined_where
from .aspect import stretched_mesh
from .fields import counts
from .level import TINY, Elements, marked
from .limits import Limits
from .stepping import DiscreteMarch, StepFailed, march_discrete
from .trust import LEAST_TRUST, trust

_BULK = 0.7
PLACES = np.array([0.0694, 0.33, 0.67, 0.9306])  # of a step where solutions are compared
WEIGHTS = np.array([0.1739, 0.3261, 0.3261, 0.1739])
_FEW = 0.4  # and where that is too much
_MOST_HALVINGS = 3
_VALUES = 2e8  # of a march, with 4 GiB
# Relative errors above these say that nothing is resolved yet, and not where: all cells, all steps are cut. Cells of an
# interval are cheap.
_FAR, _FAR_IN_SPACE = 0.2, {1: 0.03, 2: 0.2, 3: 0.2}
_HELPED = (
    0.8  # and so they are where the last cuts left more than this of an error: it comes from elsewhere, or from before
)


class TooLong(PcpinnError):
    """A level of planning takes more time than there is.

    Args:
        seconds: the time limit.
        done, total: steps that are solved, and steps of the level.
        took: seconds that these took.
    """

    def __init__(self, seconds: float, done: int, total: int, took: float) -> None:
        each = took / done
        super().__init__(
            f"choosing mesh and steps does not come to an end within the time limit of {seconds:g} s: {done} of {total} steps "
            f"are solved, {each:.2g} s each, so that all of them take about {each * total:.2g} s",
            f"allow more time (time_limit={_round_up(4 * each * total)}), or ask for less accuracy",
        )


@dataclass(frozen=True)
class Steps:
    """How time is stepped through: scheme, time levels per step, ends of the steps."""

    scheme: str
    order: int
    times: np.ndarray

    def halved(self, chosen: np.ndarray, often: np.ndarray) -> Steps:
        """With the chosen steps cut into 2^often equal ones."""
        parts = [self.times[:1]]
        for k, (a, b) in enumerate(zip(self.times[:-1], self.times[1:], strict=True)):
            count = 2 ** int(often[k]) if chosen[k] else 1
            parts.append(np.linspace(a, b, count + 1)[1:])
        return replace(self, times=np.concatenate(parts))


@dataclass(frozen=True)
class MarchLevel:
    """Three discrete marches with the same steps: as a network would be trained, on a finer space, and finer in time too."""

    base: DiscreteMarch
    finer: DiscreteMarch
    finest: DiscreteMarch

    @cached_property
    def up(self):  # type: ignore[no-untyped-def]
        """From the space of the base to the finer one."""
        return prolongation(self.base.space.form.space, self.finer.space.form.space)

    @property
    def space(self) -> Space:
        """The finer space."""
        return self.finer.space.form.space

    @cached_property
    def _measured(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Squares over space and time: of the finest solution, by field; of differences in space, in time, in all, by
        field; by cell, of those in space; by step, of what the scheme's polynomial leaves of the finest solution."""
        base, finer, finest, space = self.base, self.finer, self.finest, self.space
        fields = len(space.fields)
        size, total = np.zeros(fields), np.zeros((3, fields))
        cells, steps = np.zeros((len(space.mesh.cells), fields)), np.zeros((len(base.times) - 1, fields))
        nodes = np.concatenate([[0.0], base.scheme.nodes])
        for k, length in enumerate(np.diff(base.times)):
            b = (self.up @ base.within(k, PLACES).T).T
            f, g = finer.within(k, PLACES), finest.within(k, PLACES)
            resolved = base.scheme.interpolation(PLACES) @ finest.within(k, nodes)
            for j, weight in enumerate(WEIGHTS * length):
                size += weight * by_field(space, squares(space, g[j])).sum(axis=0)
                in_space = weight * by_field(space, squares(space, b[j] - f[j]))
                cells += in_space
                total[0] += in_space.sum(axis=0)
                total[1] += weight * by_field(space, squares(space, f[j] - g[j])).sum(axis=0)
                total[2] += weight * by_field(space, squares(space, b[j] - g[j])).sum(axis=0)
                steps[k] += weight * by_field(space, squares(space, resolved[j] - g[j])).sum(axis=0)
        return size, total, cells, steps

    @cached_property
    def units(self) -> np.ndarray:
        """(F,) L2 norm over space and time of each field."""
        sizes = np.sqrt(self._measured[0])
        return np.maximum(sizes, TINY * (float(sizes.max()) or 1.0))

    @property
    def errors(self) -> np.ndarray:
        """(F,) relative error of the base, by field."""
        return np.sqrt(self._measured[1][2]) / self.units

    @property
    def parts(self) -> tuple[float, float]:
        """Relative errors by space and by time, the largest over the fields."""
        in_space, in_time = np.sqrt(self._measured[1][:2]) / self.units
        return self.largest(in_space), self.largest(in_time)

    def largest(self, errors: np.ndarray) -> float:
        """The largest of errors by field (F,), those of auxiliary fields left out."""
        return float(errors[counts(self.base.space.problem)].max())

    @property
    def by_cell(self) -> np.ndarray:
        """(c,) contributions of the cells to the squared error in space."""
        return (self._measured[2] / self.units**2)[:, counts(self.base.space.problem)].sum(axis=1)

    @property
    def by_step(self) -> np.ndarray:
        """(S,) contributions of the steps: what their polynomials cannot follow."""
        return (self._measured[3] / self.units**2)[:, counts(self.base.space.problem)].sum(axis=1)

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
class AdaptedMarch:
    """The outcome of planning.

    Attributes:
        level: the last level.
        mesh, steps: to train on.
        trust: how far the estimate of the last level can be trusted.
        limited_by: what ended the loop early, if something did.
        history: degrees of freedom, steps, and errors by space and by time, by level.
        coarser: meshes and steps of earlier levels, the coarsest first.
        failed: (steps, moment) of marches in which a step could not be solved.
    """

    level: MarchLevel
    mesh: Mesh
    steps: Steps
    trust: float
    limited_by: str | None
    history: list[tuple[int, int, float, float]] = field(default_factory=list)
    coarser: list[tuple[Mesh, Steps]] = field(default_factory=list)
    failed: list[tuple[int, float]] = field(default_factory=list)


def adapt_march(
    problem: Problem,
    mesh: Mesh,
    elements: Elements,
    steps: Steps,
    targets: tuple[float, float],
    limits: Limits,
    progress: Progress,
) -> AdaptedMarch:
    """Refine mesh and steps until the relative L2 errors by space and by time are within their targets, as two levels agree.

    The first mesh of a box may be replaced by one that is stretched as the solution is.

    Raises:
        PcpinnError: when not even the first level can be solved.
    """
    history: list[tuple[int, int, float, float]] = []
    levels: list[MarchLevel] = []
    part, limited, last_parts = LEAST_TRUST, None, (np.inf, np.inf)
    failed: list[tuple[int, float]] = []
    stretch = True
    while True:
        count = len(steps.times) - 1
        progress.stage(f"plan {len(history) + 1}: {mesh.cell_count} cells, {count} steps", 3 * count)
        try:
            level = march_level(problem, mesh, elements, steps, progress, limits, quiet=bool(history) or bool(failed))
        except TooLong:
            if not levels:
                raise
            limited = "time"
            break
        except StepFailed as failure:
            failed.append((count, failure.t))
            if len(failed) > 6 or limits.exceeded(0, mesh.dimension) is not None:
                if not levels:
                    raise failure.after(failed) from None
                limited = "time step"
                break
            often = np.ones(count, dtype=int)
            steps = steps.halved(np.arange(count) >= max(0, failure.step - 1), often)
            continue
        levels.append(level)
        part = _trust(levels)
        in_space, in_time = level.parts
        history.append((level.base.space.size, count, in_space, in_time))
        progress.note(
            f"plan {len(history)}: {level.base.space.size} degrees of freedom, {count} steps, error by space {in_space:.1e}, "
            f"by time {in_time:.1e}" + (f", trust {part:.2f}" if len(levels) > 1 else "")
        )
        first = len(levels) == 1
        stretched = stretched_mesh(problem, mesh, level.finest) if stretch else None
        if stretched is not None:
            stretch, levels, mesh = False, [], stretched
            limits.mark()
            continue
        space_done, time_done = in_space <= part * targets[0], in_time <= part * targets[1]
        if space_done and time_done and not first:
            break
        helped = [first or now <= _HELPED * before for now, before in zip((in_space, in_time), last_parts, strict=True)]
        last_parts = (in_space, in_time)
        wishes = _refinements(
            problem, level, steps, targets, (space_done and not first, time_done and not first), helped
        )
        refusals = [_too_much(level, wish, limits) for wish in wishes]
        if None not in refusals:
            limited = refusals[0]
            break
        limits.mark()
        mesh, steps = wishes[refusals.index(None)]
    last = levels[-1].base  # of the last level that was solved
    coarser = [(m.base.space.mesh, replace(steps, times=m.base.times)) for m in levels[:-1]]
    return AdaptedMarch(
        levels[-1], last.space.mesh, replace(steps, times=last.times), part, limited, history, coarser, failed
    )


def _refinements(
    problem: Problem,
    level: MarchLevel,
    steps: Steps,
    targets: tuple[float, float],
    done: tuple[bool, bool],
    helped: list[bool],
) -> list[tuple[Mesh, Steps]]:
    """Meshes and steps that would be next: all that is wanted first, then less of it, for the larger error alone.

    Args:
        targets: of the errors by space and by time.
        done: whether space and time need nothing more.
        helped: whether what was done for them last brought their errors down.
    """
    in_space, in_time = level.parts
    mesh, every = level.base.space.mesh, np.ones(len(steps.times) - 1, dtype=bool)
    in_cells, in_steps = [], []
    if not done[0]:
        everywhere = in_space > _FAR_IN_SPACE[mesh.dimension] or in_space <= LEAST_TRUST * targets[0] or not helped[0]
        for bulk in (1.0 if everywhere else _BULK, *((_FEW,) if helped[0] else ())):
            chosen = np.ones(len(mesh.cells), dtype=bool) if bulk == 1 else marked(level.by_cell, bulk)
            in_cells.append(refined_where(mesh, chosen, problem))
    if not done[1]:
        far = in_time > _FAR or not helped[1]
        in_steps = [_shortened(steps, level.by_step, in_time / targets[1], far), steps.halved(every, every.astype(int))]
    both = (in_cells[0] if in_cells else mesh, in_steps[0] if in_steps else steps)
    if in_steps and (not in_cells or in_time / targets[1] > in_space / targets[0]):
        return [both, *((mesh, shorter) for shorter in in_steps)]
    return [both, *((finer, steps) for finer in in_cells)]


def _too_much(level: MarchLevel, new: tuple[Mesh, Steps], limits: Limits) -> str | None:
    """What a level with this mesh and these steps would exceed, memory or time; None if it is affordable."""
    mesh, steps = new
    cells = mesh.cell_count / level.base.space.mesh.cell_count
    more = cells * (len(steps.times) - 1) / (len(level.base.times) - 1)
    if level.finest.values.size * more > _VALUES * limits.memory / 4:
        return "memory"
    return limits.exceeded(level.finer.space.size * cells, mesh.dimension) or (
        "time" if limits.would_exceed(more) else None
    )


def march_level(
    problem: Problem, mesh: Mesh, elements: Elements, steps: Steps, progress: Progress, limits: Limits, quiet: bool
) -> MarchLevel:
    """The three marches of a level.

    Raises:
        TooLong: when hardly any time would be left.
        PcpinnError: when a step cannot be solved.
    """
    done, began = 0, limits.clock.seconds

    def told(_: int) -> None:
        nonlocal done
        done += 1
        if limits.overdue:
            raise TooLong(limits.seconds, done, total, limits.clock.seconds - began)
        progress.count("steps", done, total)

    total = 3 * (len(steps.times) - 1)
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", PcpinnWarning)
        base_space = space_of(problem, mesh, elements, steps.times)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PcpinnWarning)
        finer_space = space_of(*elements.raised(problem, mesh), steps.times)
    base = march_discrete(base_space, steps.scheme, steps.order, steps.times, told)
    finer = march_discrete(finer_space, steps.scheme, steps.order, steps.times, told)
    finest = march_discrete(finer_space, steps.scheme, steps.order + 1, steps.times, told)
    return MarchLevel(base, finer, finest)


def _round_up(seconds: float) -> int:
    """To one digit, at least 10."""
    unit = 10 ** max(1, math.floor(math.log10(max(seconds, 10))))
    return math.ceil(seconds / unit) * unit


def space_of(problem: Problem, mesh: Mesh, elements: Elements, times: np.ndarray) -> MarchSpace:
    """The problem in space."""
    ends = (float(times[0]), float(times[-1]))
    return MarchSpace(problem, mesh, ends, elements.degree, elements.quadrature, element=elements.element)


def _shortened(steps: Steps, by_step: np.ndarray, too_large: float, far: bool) -> Steps:
    """Steps with large contributions cut, more often where they are far too large; all of them if the error is still `far`."""
    lengths = np.diff(steps.times)
    share = by_step.sum() * lengths / lengths.sum()  # if all moments counted the same
    chosen = marked(by_step, 0.9) if too_large > 1 and not far else np.ones(len(lengths), dtype=bool)
    if lengths[chosen].sum() > 0.5 * lengths.sum():
        chosen[:] = True
    power = 2 * (steps.order + 1)
    with np.errstate(all="ignore"):
        wanted = np.log2(np.maximum(by_step / np.maximum(share, TINY), 1.0) * max(too_large, 1.0) ** 2) / power
    often = np.clip(np.ceil(np.nan_to_num(wanted, nan=1.0)), 1, 1 if far else _MOST_HALVINGS).astype(int)
    return steps.halved(chosen, often)


def _trust(levels: list[MarchLevel]) -> float:
    now = levels[-1]
    return trust(
        levels,
        lambda level: level.base.values.size,
        lambda level: level.largest(level.errors),
        lambda level: now.largest(now.distances_from(level.base)),
    )
