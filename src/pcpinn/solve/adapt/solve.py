"""Solving to an accuracy: what the user left open is chosen, and the answer is judged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...discretize.wellposed import refuse_ill_posed
from ...errors import PcpinnError
from ...mesh.mesh import Mesh
from ...problem.problem import Problem
from ...progress import Progress
from ...solution.folder import finish_run
from ...solution.reference import Reference, compare
from ...solution.solution import Solution
from ..conduct import Run
from ..quantity.wanted import Wanted
from ..settings import Settings
from ..start import Start
from .accuracy import solve_steady
from .limits import Limits
from .marched import solve_over_time
from .wish import Wish

USUAL_LIMIT = 600.0  # seconds
_NOT_READ = {
    "certify": "to an accuracy the error is always estimated",
    "checkpoint_every": "a run to an accuracy writes its folder at the end",
}


def solve_adaptively(
    problem: Problem,
    settings: Settings,
    *,
    out: Path | None = None,
    reference: Reference | None = None,
    progress: Progress | None = None,
    record: Mapping[str, Any] | None = None,
    first: Mesh | None = None,
    start: Start | None = None,
    quantity: Wanted | None = None,
) -> Solution:
    """Solve a problem to the accuracy of the settings; arguments as of `pcpinn.solve`. The folder is written at the end.

    `first` is the mesh of space to begin with; by default a coarse one is made.
    """
    for key, why in _NOT_READ.items():
        if f"run.{key}" in settings.asked:
            raise PcpinnError(f"{key} has no effect here: {why}", f"leave {key} out, or fix everything: accuracy=None")
    refuse_ill_posed(problem)
    own = Run(settings, problem.name, problem.unknowns, out=out, progress=progress, record=record)
    if reference is not None:
        reference.check_fits(problem.domain.dimension, problem.components)
    if problem.over_time and start is not None:
        raise PcpinnError(
            "start= is for problems without a time of their own; this one begins with its initial values",
            "leave start= out",
        )
    seconds = settings.run.time_limit
    limits = Limits(seconds if math.isfinite(seconds) else USUAL_LIMIT, settings.run.memory, own.clock)
    wish = Wish(settings, start, first, quantity)
    solution = (solve_over_time if problem.over_time else solve_steady)(problem, wish, limits, own.progress)
    result = solution.result
    result.update(own.facts)
    if reference is not None:  # only now: the verdict knows nothing of it
        errors = compare(solution(reference.points).reshape(len(reference.points), -1), reference, solution.names)
        result["errors"] |= errors
        result["reference"] = reference.describe()
    result["time"] = own.clock.times(result["time"]["setup_s"], result["time"]["train_s"])
    if out is not None:
        own.settings = Settings.from_dict(solution.settings)
        own.begin(solution.mesh)
        finish_run(out, solution.network, solution.history, result)
    return solution
