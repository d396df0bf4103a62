"""Algorithm 1: train a network on ||P^-1 (A u_theta - b)||^2; nonlinear problems go through Newton's method (newton.py)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from ..discretize.saddle import with_stable_degrees
from ..errors import AccuracyWarning, PcpinnError
from ..files import write_json
from ..mesh.mesh import Mesh
from ..mesh.meshing import Meshing
from ..mesh.slab_mesh import AnyMesh, SlabMesh
from ..problem.problem import Problem
from ..progress import Callback, Progress
from ..solution.reference import Reference
from ..solution.solution import Solution
from ..solution.verdict import USUAL_ACCURACY, judge
from ..team import present_team
from ..terminal import shown
from .adapt.march_error import estimate_march
from .adapt.solve import solve_adaptively
from .adapt.wish import Wish
from .loss import preconditioned_loss
from .march.march import march
from .method import METHODS, Method, offer_preconditioned
from .quantity.wanted import Wanted
from .run import run
from .settings import Settings, problem_is_over_time, resolve
from .shared import refuse_unshared
from .solvable import solver_of
from .start import Start

_KINDS: dict[str, tuple[Any, str]] = {
    "problem": (
        Problem,
        "a pcpinn.Problem; files and problems of the catalog are for the command line, pcpinn solve NAME",
    ),
    "reference": (Reference, "a pcpinn.Reference"),
    "on": ((Mesh, SlabMesh), "a mesh"),
    "progress": (Progress, "a pcpinn.Progress"),
    "start": (Callable, "a pcpinn.Solution, or a function of points (n, d)"),
    "out": ((str, PathLike), "the name of a folder"),
}


def solve(
    problem: Problem,
    settings: Settings | Mapping[str, Any] | None = None,
    *,
    out: str | Path | None = None,
    reference: Reference | None = None,
    progress: Progress | None = None,
    callbacks: Callback | Iterable[Callback] | None = None,
    record: Mapping[str, Any] | None = None,
    resume: bool = False,
    on: AnyMesh | None = None,
    start: Start | None = None,
    quantity: Wanted | None = None,
    **choices: Any,
) -> Solution:
    """Solve a problem to an accuracy, or with given settings; linear or not, steady or over time.

    What is not given is chosen: mesh, steps in time and network are adapted until the estimated relative L2 error is within
    `accuracy` (0.01 if not given), or a limit is met; `solution.verdict` tells which, and a warning if it was not reached.
    A given mesh, or a given treatment of time, is kept as it is: then the answer is only judged. With complete `Settings`,
    or accuracy=None, everything is fixed and nothing judged.

    Args:
        problem: the PDE; or a `Family` of them, for a `Surrogate` (docs/families.md).
        settings: all choices by key, as in presets and `--set`, where they come as one mapping.
        out: a folder to record the run in, with checkpoints on the way; it must not exist, unless resumed.
        reference: to measure errors against.
        progress: receives progress reports; by default a bar for people, silence for programs.
        callbacks: one function, or several, of an `Event` (stage, iteration, total, loss, residual, error, seconds), called after
            every iteration; `pcpinn.TensorBoard(folder)` and `pcpinn.WeightsAndBiases(project=...)` are such functions.
        record: more facts for run.json and result.json (name of the problem, preset).
        resume: continue the interrupted run in `out` from its last checkpoint, on the mesh that it was begun with.
        on: an existing mesh, with the boundary names of the problem's domain; to an accuracy, the first one, of space alone.
        start: where Newton's method begins: a `Solution` (its network is trained further if it is of the same kind), or a
            function of points (n, d) with values (n, components). By default the solution of the linear part. Not for a
            march, which begins with the initial values.
        quantity: `Integral(f, on=...)` or `Flux(on, field)`, over time with `t=`: then the mesh is refined for it, `accuracy` is
            its relative error, and `solution.result["quantity"]` has it.
        choices: recipes by slot (mesh=Meshing(size=0.05, degree=3), network=MLP(width=32), preconditioner=ILU(1e-4) or "ilu",
            optimiser=GaussNewton(iterations=60), time=March(steps=100), newton=...), single keys of theirs (size=0.05), and
            accuracy, seed, device, precision, time_limit, memory, certify, checkpoint_every. `pcpinn settings` lists them all.

    At its time limit (of the whole run, what was before a resume included) a solve returns what it has. A march with given steps,
    which has no answer before its end, raises and keeps the finished windows for `resume`.

    Raises:
        NoAnswer: to an accuracy, where a march cannot be done in time, or at all; with a verdict. The folder can be resumed.
        PcpinnError: for anything the user can correct; nothing has been written then, except by a march that reaches its time
            limit or diverges on the way.
    """
    other = solver_of(problem)
    if other is None:
        _refuse_other_kinds(problem=problem)
    _refuse_other_kinds(reference=reference, on=on, progress=progress, start=start, out=out)
    with shown(progress, callbacks) as told:
        if other is not None:
            more = {"reference": reference, "start": start, "quantity": quantity}
            refused = [key for key, value in more.items() if value is not None]
            if refused:
                raise PcpinnError(f"{refused[0]}= is for single problems", f"leave {refused[0]} out")
            common: dict[str, Any] = {"out": out, "progress": told, "record": record}
            return other(problem, settings, **common, resume=resume, on=on, **choices)
        given = settings if isinstance(settings, Settings) else {"accuracy": USUAL_ACCURACY, **(settings or {})}
        chosen = settings_of("pcpinn", problem, given, choices)
        if isinstance(chosen.mesh, Meshing):
            problem, lowered = with_stable_degrees(problem)
            if lowered:
                told.note(f"elements of {', '.join(lowered)}: one degree less than the others', as a pressure needs")
        options: dict[str, Any] = {
            "out": Path(out) if out else None,
            "reference": reference,
            "progress": told,
            "record": record,
        }
        judged = chosen.run.accuracy is not None
        first = None if isinstance(on, SlabMesh) else on
        adaptable = judged and first is on and Wish(chosen).adaptable
        refuse_unshared(chosen, adaptable)
        if quantity is not None and not adaptable:
            raise PcpinnError(
                "quantity= is for problems whose mesh and steps are left to the solver",
                "leave mesh, size and time out, or ask the solution: solution.integrate(f), solution.flux(on)",
            )
        if adaptable:
            solution = solve_adaptively(
                problem, chosen, **options, resume=resume, first=first, start=start, quantity=quantity
            )
        elif chosen.marches:
            if start is not None:
                raise PcpinnError(
                    "start= is for problems that are solved at once; a march begins with the initial values",
                    "leave start= out, or time=march",
                )
            solution = march(problem, chosen, **options, resume=resume, mesh=on)
            if judged:
                _judge_march(solution, chosen, options)
        else:
            solution = run(
                preconditioned_loss,
                problem,
                chosen,
                **options,
                resume=resume,
                mesh=on,
                start=start,
                relinearised=preconditioned_loss,
            )
    if solution.verdict.reached is False:
        warnings.warn(solution.verdict.message, AccuracyWarning, stacklevel=2)
    return solution


def _refuse_other_kinds(**given: Any) -> None:
    """Refuse arguments that are of another kind than they have to be."""
    for key, value in given.items():
        kinds, words = _KINDS[key]
        if not isinstance(value, kinds) and (value is not None or key == "problem"):
            raise PcpinnError(f"{key}={value!r:.80} is of type {type(value).__name__}", f"give {words}")


def solve_with(
    runner: Callable[..., Solution],
    method: str,
    problem: Problem,
    settings: Settings | Mapping[str, Any] | None = None,
    *,
    on: AnyMesh | None = None,
    out: str | Path | None = None,
    reference: Reference | None = None,
    progress: Progress | None = None,
    record: Mapping[str, Any] | None = None,
    resume: bool = False,
    **choices: Any,
) -> Solution:
    """Train a network by a runner and the recipes of another method; the other arguments as of `solve`."""
    chosen = settings_of(method, problem, settings, choices)
    options: dict[str, Any] = {"out": out, "reference": reference, "progress": progress, "record": record}
    return runner(problem, chosen, **options, resume=resume, mesh=on)


def _judge_march(solution: Solution, settings: Settings, options: Mapping[str, Any]) -> None:
    """Estimate the error of a march whose settings were given, and put the verdict into its record."""
    assert solution.problem is not None
    assert isinstance(solution.mesh, SlabMesh)
    team, fields = present_team(), None
    try:
        if team.first:
            limit, progress = settings.run.time_limit, options["progress"]
            fields, _ = estimate_march(solution.problem, solution.mesh, settings, solution.network, limit, progress)
    except PcpinnError as error:  # the answer stands without its estimate
        options["progress"].note(f"no error estimate: {error.problem}")
    fields = team.lead_object(fields)
    if fields is None:
        return
    verdict = judge(
        settings.run.accuracy, fields, "time step", "leave mesh and time out and they are adapted, or give finer ones"
    )
    solution.result["errors"]["estimate"] = verdict.estimate
    solution.result["verdict"] = verdict.to_dict()
    if options["out"] is not None and team.first:
        write_json(options["out"] / "result.json", solution.result)


def settings_of(
    method: str, problem: Problem, settings: Settings | Mapping[str, Any] | None, choices: Mapping[str, Any]
) -> Settings:
    """What a method is to be run with: settings that are complete already, or choices that complete its defaults."""
    if isinstance(settings, Settings):
        return settings.updated(choices)
    return resolve(METHODS.find(method), problem_is_over_time(problem), {**(settings or {}), **choices})


METHODS.register(Method("pcpinn", offer_preconditioned, solve))
