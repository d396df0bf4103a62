"""Solve, estimate, mark, refine for problems over time: cells where space, steps where time is the larger error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ...mesh.mesh import Mesh
from ...problem.problem import Problem
from ...progress import Progress
from ..refinement import refined_where
from .aspect import stretched_mesh
from .level import Elements, marked
from .limits import Limits
from .marches import Marches, MarchLevel, Steps, TooLong
from .measure import MarchMeasure, OfMarchedFields
from .stepping import StepFailed
from .trust import FIRST_TRUST, LEAST_TRUST, trust

_BULK = 0.7
_FEW = 0.4  # and where that is too much
_MOST_HALVINGS = 3
_TRIES = 6  # of marches in which a step cannot be solved
_TINY = 1e-14
_VALUES = 2e8  # of a march, with 4 GiB
# Relative errors above these say that nothing is resolved yet, and not where: all cells, all steps are cut. Cells of an
# interval are cheap.
FAR, _FAR_IN_SPACE = 0.2, {1: 0.03, 2: 0.2, 3: 0.2}
HELPED = (
    0.8  # and so they are where the last cuts left more than this of an error: it comes from elsewhere, or from before
)


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
        needed: seconds of a time limit that one more level would fit into, where time ended the loop and that is known.
    """

    level: MarchLevel
    mesh: Mesh
    steps: Steps
    trust: float
    limited_by: str | None
    history: list[tuple[int, int, float, float]] = field(default_factory=list)
    coarser: list[tuple[Mesh, Steps]] = field(default_factory=list)
    failed: list[tuple[int, float]] = field(default_factory=list)
    needed: float | None = None


def adapt_march(
    problem: Problem,
    mesh: Mesh,
    elements: Elements,
    steps: Steps,
    targets: tuple[float, float],
    limits: Limits,
    progress: Progress,
    stretch: bool = True,
    settled: Callable[[Mesh], Mesh] = lambda mesh: mesh,
    measure: MarchMeasure | None = None,
) -> AdaptedMarch:
    """Refine mesh and steps until errors by space and by time are within their targets, as two levels agree.

    They are relative L2 errors of the fields, if `measure` does not say otherwise.

    With `stretch` the first mesh of a box may be replaced by one that is stretched as the solution is: not where its cells follow
    something already. `settled` puts new nodes where they belong.

    Raises:
        PcpinnError: when not even the first level can be solved.
    """
    history: list[tuple[int, int, float, float]] = []
    levels: list[MarchLevel] = []
    part, limited, needed, last_parts = LEAST_TRUST, None, None, (np.inf, np.inf)
    failed: list[tuple[int, float]] = []
    marches, of = Marches(problem, elements, progress, limits), measure or OfMarchedFields()
    while True:
        count = len(steps.times) - 1
        progress.stage(f"plan {len(history) + 1}: {mesh.cell_count} cells, {count} steps", 3 * count)
        try:
            level = marches.level(mesh, steps, quiet=bool(history) or bool(failed))
        except TooLong:
            if not levels:
                raise
            limited = "time"
            break
        except StepFailed as failure:
            failed.append((count, failure.t))
            try:
                if len(failed) > _TRIES:
                    raise
                steps = marches.solvable(mesh, steps)
            except TooLong:
                if not levels:
                    raise
                limited = "time"
                break
            except StepFailed:
                if not levels:
                    raise
                limited = "time step"
                break
            continue
        levels.append(level)
        part = _trust(levels, of)
        in_space, in_time = of.parts(level)
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
        helped = [first or now <= HELPED * before for now, before in zip((in_space, in_time), last_parts, strict=True)]
        last_parts = (in_space, in_time)
        done = (space_done and not first, time_done and not first)
        wishes = _refinements(problem, level, steps, targets, done, helped, settled, of)
        confirming = first and in_space <= targets[0] and in_time <= targets[1]
        refusals = [_too_much(level, wish, limits, confirming) for wish in wishes]
        if None not in refusals:
            limited = refusals[0]
            if limited == "time":
                needed = min(limits.needed(_more(level, wish), confirming) for wish in wishes)
            break
        limits.mark()
        mesh, steps = wishes[refusals.index(None)]
    if len(levels) == 1 and of.seen(levels[0]) > 2 * sum(targets):
        part = FIRST_TRUST  # so far off that nothing is claimed: a likely estimate is worth more than a cautious one
    last = levels[-1].base  # of the last level that was solved
    coarser = [(m.base.space.mesh, replace(steps, times=m.base.times)) for m in levels[:-1]]
    return AdaptedMarch(
        levels[-1], last.space.mesh, replace(steps, times=last.times), part, limited, history, coarser, failed, needed
    )


def _refinements(
    problem: Problem,
    level: MarchLevel,
    steps: Steps,
    targets: tuple[float, float],
    done: tuple[bool, bool],
    helped: list[bool],
    settled: Callable[[Mesh], Mesh],
    of: MarchMeasure,
) -> list[tuple[Mesh, Steps]]:
    """Meshes and steps that would be next: all that is wanted first, then less of it, for the larger error alone.

    Args:
        targets: of the errors by space and by time.
        done: whether space and time need nothing more.
        helped: whether what was done for them last brought their errors down.
        settled: puts new nodes where they belong.
        of: what the errors are of.
    """
    in_space, in_time = of.parts(level)
    mesh, twice = level.base.space.mesh, np.full(len(steps.times) - 1, 2)
    in_cells, in_steps = [], []
    if not done[0]:
        everywhere = in_space > _FAR_IN_SPACE[mesh.dimension] or in_space <= LEAST_TRUST * targets[0] or not helped[0]
        for bulk in (1.0 if everywhere else _BULK, *((_FEW,) if helped[0] else ())):
            chosen = np.ones(len(mesh.cells), dtype=bool) if bulk == 1 else marked(level.by_cell, bulk)
            in_cells.append(settled(refined_where(mesh, chosen, problem)))
    if not done[1]:
        far = in_time > FAR or not helped[1]
        in_steps = [shortened(steps, of.by_step(level), in_time / targets[1], far), steps.cut(twice)]
    both = (in_cells[0] if in_cells else mesh, in_steps[0] if in_steps else steps)
    if in_steps and (not in_cells or in_time / targets[1] > in_space / targets[0]):
        return [both, *((mesh, shorter) for shorter in in_steps)]
    return [both, *((finer, steps) for finer in in_cells)]


def _too_much(level: MarchLevel, new: tuple[Mesh, Steps], limits: Limits, confirming: bool) -> str | None:
    """What a level with this mesh and these steps would exceed, memory or time; None if it is affordable.

    The more may be taken where the level before is within its targets and needs to be confirmed, no more (`confirming`).
    """
    mesh, _ = new
    cells, more = mesh.cell_count / level.base.space.mesh.cell_count, _more(level, new)
    if level.finest.values.size * more > _VALUES * limits.memory / 4:
        return "memory"
    return limits.exceeded(level.finer.space.size * cells, mesh.dimension) or (
        "time" if limits.would_exceed(more, confirming) else None
    )


def _more(level: MarchLevel, new: tuple[Mesh, Steps]) -> float:
    """How many times the work of a level one with this mesh and these steps would be."""
    mesh, steps = new
    return mesh.cell_count / level.base.space.mesh.cell_count * (len(steps.times) - 1) / (len(level.base.times) - 1)


def shortened(steps: Steps, by_step: np.ndarray, too_large: float, far: bool) -> Steps:
    """Steps with large contributions cut, more often where they are far too large; all of them if the error is still `far`."""
    lengths = np.diff(steps.times)
    share = by_step.sum() * lengths / lengths.sum()  # if all moments counted the same
    chosen = marked(by_step, 0.9) if too_large > 1 and not far else np.ones(len(lengths), dtype=bool)
    if lengths[chosen].sum() > 0.5 * lengths.sum():
        chosen[:] = True
    power = 2 * (steps.order + 1)
    with np.errstate(all="ignore"):
        wanted = np.log2(np.maximum(by_step / np.maximum(share, _TINY), 1.0) * max(too_large, 1.0) ** 2) / power
    often = np.clip(np.ceil(np.nan_to_num(wanted, nan=1.0)), 1, 1 if far else _MOST_HALVINGS).astype(int)
    return steps.cut(np.where(chosen, 2**often, 1))


def _trust(levels: list[MarchLevel], of: MarchMeasure) -> float:
    now = levels[-1]
    return trust(levels, lambda level: level.base.values.size, of.seen, lambda level: of.found(level, now))
