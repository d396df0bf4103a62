"""Solve, estimate, mark, refine: a mesh on which the discrete solution of a steady problem is as accurate as asked."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ...discretize.balance import refuse_unbalanced
from ...discretize.discrete_equation import DiscreteEquation
from ...discretize.finite_elements import FiniteElements
from ...discretize.nonlinear import NotSolved, solve_newton
from ...discretize.pseudo_time import solve_pseudo_time
from ...discretize.transfer import by_field, prolongation, squares
from ...errors import PcpinnError, PcpinnWarning
from ...mesh.mesh import Mesh
from ...problem.problem import Problem
from ...progress import Progress
from ..refinement import refined_where
from ..start import Start, nodal_start
from .inverses import Inverses
from .level import Elements, Level, marked
from .lifted import WORTH, left, lifted
from .limits import Limits
from .measure import Measure, OfFields
from .pins import marked_but_for_pins
from .trust import LEAST_TRUST, trust

_BULK = 0.7
_GAP = 0.2  # of the target: a larger error by walls is worth cells of its own
_GROWS = {1: 1.0, 2: 1.35, 3: 1.7}  # power of the number of cells with which the time of a level grows: with factors
_ITERATED = 1.2  # and with multigrid
_AWAY = 3.0  # times as large: a finer solution that grows so much, level by level, has no limit
_DEGREE = 2.5  # times as many unknowns have elements of degree 4 as those of degree 3 on the same tetrahedra


@dataclass(frozen=True)
class Adapted:
    """The outcome of an adaptive loop.

    Attributes:
        level: the last level.
        first: a discrete solution of the first level, as a function of points: where Newton's method may begin.
        trust: how much of the error the estimate saw one level earlier, in (0, 1]; errors are divided by it.
        limited_by: what ended the loop before the target; None if it was reached.
        history: (degrees of freedom, estimated error) by level.
        rest: relative error of the last level's finer solution, where networks are trained on its space; else 0.
        gap: relative error for what lies between tetrahedra and curved walls, which no degree sees.
    """

    level: Level
    first: FiniteElements
    first_u: np.ndarray
    trust: float
    limited_by: str | None
    history: list[tuple[int, float]] = field(default_factory=list)
    rest: float = 0.0
    gap: float = 0.0

    @property
    def estimate(self) -> float:
        """Relative error of the discrete solution, the largest over the fields."""
        return self.level.largest(self.level.errors) / self.trust + self.rest + self.gap


def adapt(
    problem: Problem,
    mesh: Mesh,
    elements: Elements,
    target: float,
    limits: Limits,
    progress: Progress,
    start: Start | None = None,
    measure: Measure | None = None,
    settled: Callable[[Mesh], Mesh] | None = None,
    raised: Elements | None = None,
) -> Adapted:
    """Refine a mesh until the error of the discrete solution is within the target, as two levels agree.

    Args:
        problem: steady, or with time as a coordinate.
        mesh: to begin with.
        elements: degree and kind.
        target: of the error.
        limits: of size and time.
        progress: told of each level.
        start: where Newton's method begins on the first level.
        measure: of errors; by default the relative L2 error, the largest over the fields.
        settled: moves new nodes of a refined mesh to where they belong, such as onto interfaces.
        raised: elements to go on with after the first level where multigrid inverts the matrices. Then networks may be trained
            on the finer space of the last level, if that takes fewer meshes.

    Raises:
        PcpinnError: when not even the first level can be solved.
    """
    of = measure or OfFields()
    levels: list[Level] = []
    history: list[tuple[int, float]] = []
    part, limited, rest = LEAST_TRUST, None, math.inf
    while True:
        progress.stage(f"mesh {len(levels) + 1}: {mesh.cell_count} cells")
        limits.mark()
        try:
            level = _level(problem, mesh, elements, levels[-1] if levels else None, start)
        except (PcpinnError, MemoryError) as failure:
            if not levels:
                raise
            limited = "memory" if isinstance(failure, MemoryError) else "newton"
            limited = "ill-posedness" if isinstance(failure, NotSolved) and failure.sensitive else limited
            break
        levels.append(level)
        one_mesh = all(earlier.mesh is mesh for earlier in levels)  # of which degrees alone prove nothing
        part = LEAST_TRUST if one_mesh else _trust(levels, of)
        estimate = of.seen(level)
        gap = level.gap
        error = estimate / part + gap
        kept = left(levels) if measure is None and elements is raised else None
        rest = math.inf if kept is None else kept * estimate / part
        history.append((level.coarse.size, error))
        seen = f"error {estimate:.1e}" + ("" if one_mesh else f", trust {part:.2f}")
        seen += f", of degree {elements.degree + 1} {rest:.1e}" if math.isfinite(rest) else ""
        seen += f", of walls {gap:.1e}" if gap else ""
        progress.note(f"mesh {len(levels)}: {mesh.cell_count} cells, {level.coarse.size} degrees of freedom, {seen}")
        if min(error, rest + gap) <= target and not one_mesh:
            break
        if raised is not None and len(levels) == 1 and estimate > target and _affords_degree(level, limits):
            level.inverses.drop()
            elements = raised  # on the same mesh
            continue
        chosen = marked_but_for_pins(of.indicators(level), mesh, problem, _BULK)
        level.inverses.drop()
        if gap > _GAP * target:
            chosen |= marked(level.gaps, _BULK)
        if problem.pins and len(levels) > 1 and estimate > of.seen(levels[-2]):
            chosen[:] = True  # finer cells have made it worse, as they do where a pin shows the error
        if len(levels) == 1 and estimate <= target:
            chosen[:] = True  # a single level proves nothing: see whether a finer one agrees
        finer = refined_where(mesh, chosen, problem)
        finer = finer if settled is None else settled(finer)
        more, d = finer.cell_count / mesh.cell_count, mesh.dimension
        limited = limits.exceeded(level.fine.size * more, d, iterated=level.iterated)
        grows = more ** (_ITERATED if level.iterated else _GROWS[d])
        if limited is None and len(levels) > 1 and limits.would_exceed(grows):
            limited = "time"  # a level cannot be interrupted; the first one also waits for things that are made once
        if limited is not None:
            break
        mesh = finer
    last = levels[-1]
    last.inverses.drop()
    gap = last.gap
    if error > target and len(levels) > 1 and all(_runs_away(level) for level in levels[-2:]):
        limited = "ill-posedness"
    if error > target and rest + gap < WORTH * error:
        return Adapted(lifted(last), levels[0].coarse, levels[0].u, part, limited, history, rest, gap)
    return Adapted(last, levels[0].coarse, levels[0].u, part, limited, history, gap=gap)


def _runs_away(level: Level) -> bool:
    """Whether the finer solution is far larger than the discrete one, as it is at a resonance."""
    own = by_field(level.coarse.space, squares(level.coarse.space, level.u)).sum(axis=0)
    return bool((level.sizes > _AWAY * np.sqrt(own)).any())


def _affords_degree(level: Level, limits: Limits) -> bool:
    """Whether multigrid serves, and there are memory and time for one degree more on the same mesh."""
    d = level.mesh.dimension
    return (
        level.iterated
        and limits.exceeded(_DEGREE * level.fine.size, d, iterated=True) is None
        and not limits.would_exceed(_DEGREE**_ITERATED)
    )


def _level(problem: Problem, mesh: Mesh, elements: Elements, before: Level | None, begin: Start | None) -> Level:
    with warnings.catch_warnings():
        if before is not None:
            warnings.simplefilter("ignore", PcpinnWarning)  # said once, on the first level
        coarse = elements.on(problem, mesh)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PcpinnWarning)
        fine = elements.finer(problem, mesh)
    if before is not None:
        start = prolongation(before.fine.space, coarse.space) @ before.better
    else:
        refuse_unbalanced(fine)  # here, since what follows tries other ways where one fails
        start = None if begin is None else nodal_start(begin, coarse)
    u, inverses = discrete_solution(coarse, start), Inverses(fine)
    better = discrete_solution(fine, prolongation(coarse.space, fine.space) @ u, inverses)
    return Level(coarse, u, fine, better, inverses)


def discrete_solution(
    discretisation: FiniteElements, start: np.ndarray | None, inverses: Inverses | None = None
) -> np.ndarray:
    """The discrete solution (N,): Newton's method from a start or the linear part, else pseudo-time.

    Raises:
        PcpinnError: when neither converges.
    """
    equation = DiscreteEquation(discretisation)
    try:
        return solve_newton(equation, start, (inverses or Inverses(discretisation)).for_newton)
    except PcpinnError as failure:
        if isinstance(failure, NotSolved) and failure.sensitive:
            raise  # a flow has the same end
        found = solve_pseudo_time(equation, start)
        if found is None:
            raise
        return found


def _trust(levels: list[Level], of: Measure) -> float:
    return trust(levels, lambda level: level.coarse.size, of.seen, lambda level: of.found(level, levels[-1]))
