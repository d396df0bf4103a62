"""The first march of networks of a run to an accuracy: on the plan, or on a coarser one where that cannot be done."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from ...discretize.wellposed import below_zero
from ...errors import PcpinnError
from ...progress import Progress
from ...solution.no_answer import NoAnswer
from ...solution.solution import Solution
from ..afford import TooLarge
from ..march.deadline import MarchStopped
from ..newton import NotConverged
from .limits import Limits
from .pace import Pace, TooSlow
from .stepping import tried
from .steps import AdaptedMarch

Train = Callable[[AdaptedMarch, Progress], Solution]


def first_march(
    asked: float, adapted: AdaptedMarch, train: Train, limits: Limits, progress: Progress
) -> tuple[Solution, AdaptedMarch, str | None]:
    """A march of networks, with the plan that it is on, and what limits it, if that is not the finest.

    A march that would not end in time, does not fit into memory, or whose steps cannot be solved, is tried on earlier, coarser
    plans; whoever judges it compares it with the finest.

    Raises:
        NoAnswer: when none can be done; it says what was tried, and how much time would be needed.
    """
    slow: list[TooSlow] = []
    failed: list[tuple[int, PcpinnError]] = []
    large: list[TooLarge] = []
    for mesh, steps in ((adapted.mesh, adapted.steps), *reversed(adapted.coarser)):
        count, plan = len(steps.times) - 1, replace(adapted, mesh=mesh, steps=steps)
        try:
            solution = train(plan, Pace(progress, limits.left))
        except TooSlow as error:
            slow.append(error)
            progress.note(f"network on {mesh.cell_count} cells: {error.problem}")
        except TooLarge as error:
            large.append(error)
            progress.note(f"network on {mesh.cell_count} cells: {error.problem}")
        except NotConverged as error:
            failed.append((count, error))
            progress.note(f"network on {mesh.cell_count} cells, {count} steps: {error.problem}")
        except MarchStopped as error:
            raise _too_slow(asked, [*slow, TooSlow(error.each, error.windows, 0.0)], limits) from error
        else:
            reasons = [reason for reason, those in (("time", slow), ("memory", large), ("time step", failed)) if those]
            return solution, plan, reasons[0] if reasons else None
    if slow:
        raise _too_slow(asked, slow, limits)
    if large:
        least = large[-1]  # of the coarsest
        raise NoAnswer(asked, "memory", f"a march of networks: {least.problem}", least.remedy) from least
    _, first = failed[0]
    discrete = f"; discrete marches: {tried(adapted.failed)}" if adapted.failed else ""
    usual = "allow more time for shorter steps (time_limit=...), or shorten the span"
    base = adapted.level.base
    raise NoAnswer(
        asked,
        "time step",
        f"steps cannot be solved: a network with {', '.join(str(n) for n, _ in failed)} steps: {first.problem}{discrete}",
        below_zero(base.space.problem, base.lowest) or f"check signs and conditions; if they are right, {usual}",
    ) from first


def _too_slow(asked: float, slow: list[TooSlow], limits: Limits) -> NoAnswer:
    """By the march that would be the quickest."""
    least = min(slow, key=lambda march: march.needed)
    limit = math.ceil(1.5 * (limits.seconds + least.needed))
    return NoAnswer(
        asked,
        "time",
        f"the time limit of {limits.seconds:g} s is too short for a march of networks: {least.windows} steps of "
        f"{least.each:.2g} s each take about {least.needed:.2g} s",
        f"allow more time (time_limit={limit}); a run with a folder goes on with it: pcpinn resume DIR --set time_limit={limit}",
    )
