"""Solving to an accuracy: what the user left open is chosen, and the answer is judged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ...discretize.check import check_pointwise
from ...discretize.nonlinear import NotSolved
from ...discretize.pointwise import Pointwise
from ...discretize.samples import sample_points
from ...discretize.signs import doubtful
from ...discretize.time_orders import check_start
from ...discretize.wellposed import refuse_ill_posed
from ...environment import available_memory
from ...errors import PcpinnError
from ...mesh.mesh import Mesh
from ...problem.problem import Problem
from ...problem.shape_base import SpaceTime
from ...progress import Progress
from ...solution.folder import discard_run, finish_run, missing_parents, read_mesh_arrays, settle_run
from ...solution.no_answer import NoAnswer
from ...solution.reference import Reference, compare
from ...solution.solution import Solution
from ..afford import refuse_unaffordable
from ..conduct import Run
from ..newton import NotConverged
from ..quantity.usable import refuse_unusable
from ..quantity.wanted import Wanted
from ..settings import Settings
from ..start import Start
from .accuracy import solve_steady
from .limits import Limits
from .marched import solve_over_time
from .stepping import StepFailed
from .steps import TooLong
from .unfinished import ASKED, Unfinished, as_asked, require_same
from .wish import Wish

USUAL_LIMIT = 600.0  # seconds
_POINTS = 40  # at which orders in time are looked at
_NOT_READ = {
    "certify": "to an accuracy the error is always estimated",
}


def solve_adaptively(
    problem: Problem,
    settings: Settings,
    *,
    out: Path | None = None,
    reference: Reference | None = None,
    progress: Progress | None = None,
    record: Mapping[str, Any] | None = None,
    resume: bool = False,
    first: Mesh | None = None,
    start: Start | None = None,
    quantity: Wanted | None = None,
) -> Solution:
    """Solve a problem to the accuracy of the settings; arguments as of `pcpinn.solve`.

    The folder begins at once: with what was asked, then the plan, then each network, so that a killed run can be resumed.
    `first` is the mesh of space to begin with; by default a coarse one is made.
    """
    for key, why in _NOT_READ.items():
        if f"run.{key}" in settings.asked:
            raise PcpinnError(f"{key} has no effect here: {why}", f"leave {key} out, or fix everything: accuracy=None")
    problem.refuse_unknown([*problem.domain.boundary_names, *([] if first is None else first.boundary_names)])
    refuse_ill_posed(problem)
    x = sample_points(problem, _POINTS)
    check_start(problem, x)
    if (
        isinstance(problem.domain, SpaceTime) and problem.over_time and len(x)
    ):  # a march would find it when its plan is made
        check_pointwise(
            Pointwise(problem), torch.cat([x[:, :-1], torch.full_like(x[:, -1:], problem.domain.start)], dim=1)
        )
    if quantity is not None:
        refuse_unusable(quantity, problem, x)
    own = Run(settings, problem.name, problem.unknowns, out=out, progress=progress, record=record, resume=resume)
    asked = as_asked(problem, settings.to_dict(), None if quantity is None else quantity.label)
    own.facts[ASKED] = asked
    if resume and out is not None:
        require_same(out, asked)
    if reference is not None:
        reference.check_fits(problem.domain.dimension, problem.components)
    if problem.over_time and start is not None:
        raise PcpinnError(
            "start= is for problems without a time of their own; this one begins with its initial values",
            "leave start= out",
        )
    seconds = settings.run.time_limit
    free = (available_memory() or 0.0) if settings.run.memory is None else 0.0
    limits = Limits(seconds if math.isfinite(seconds) else USUAL_LIMIT, settings.run.planned, own.clock, free=free)
    marched = problem.over_time and "time" not in {key.partition(".")[0] for key in settings.asked}
    usual = Wish(settings).settings(problem.dimension, {"time": "march"}) if marched else settings
    refuse_unaffordable(problem, usual, first)
    doubt = doubtful(problem)
    if doubt is not None:
        own.progress.note(f"this may have no answer: {doubt.sentence}; {doubt.remedy}")
    made = missing_parents(out)
    own.begin(first)
    if resume and out is not None and (out / "mesh.safetensors").exists():
        begun = read_mesh_arrays(out / "mesh.safetensors")
        first = begun if isinstance(begun, Mesh) else first
    unfinished = Unfinished(out, own.clock, own.device, getattr(settings.network, "given", None))
    wish = Wish(settings, start, first, quantity)
    try:
        solution = _solve(problem, wish, limits, own.progress, unfinished)
    except NoAnswer:
        raise  # what there is stays, to be resumed with more time
    except PcpinnError as error:
        if out is not None and not resume:
            discard_run(out, made)
        if isinstance(error, NotSolved | NotConverged):
            ill_posed = doubt is not None or (isinstance(error, NotSolved) and error.sensitive)
            found = (error.problem, error.remedy)
            if doubt is not None:
                found = (f"{error.problem}; {doubt.sentence}", doubt.remedy)
            raise NoAnswer(wish.accuracy, "ill-posedness" if ill_posed else "newton", *found) from error
        raise
    result = solution.result
    if doubt is not None and solution.verdict.reached is False:
        result["verdict"] = solution.verdict.blaming("ill-posedness", f"{doubt.sentence}; {doubt.remedy}").to_dict()
    result.update({k: v for k, v in own.facts.items() if k != ASKED})
    if reference is not None:  # only now: the verdict knows nothing of it
        errors = compare(solution(reference.points).reshape(len(reference.points), -1), reference, solution.names)
        result["errors"] |= errors
        result["reference"] = reference.describe()
    result["time"] = own.clock.times(result["time"]["setup_s"], result["time"]["train_s"])
    if out is not None:
        own.settings = Settings.from_dict(solution.settings)
        settle_run(out, own.record, solution.mesh)
        finish_run(out, solution.network, solution.history, result)
        unfinished.remove()
    return solution


def _solve(problem: Problem, wish: Wish, limits: Limits, progress: Progress, unfinished: Unfinished) -> Solution:
    """Raises: NoAnswer where steps of a discrete march already take too long, or cannot be solved."""
    try:
        way = solve_over_time if problem.over_time else solve_steady
        return way(problem, wish, limits, progress, unfinished)
    except TooLong as error:
        raise NoAnswer(wish.accuracy, "time", error.problem, error.remedy) from error
    except StepFailed as error:
        raise NoAnswer(wish.accuracy, "time step", error.problem, error.remedy) from error
