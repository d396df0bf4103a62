"""Algorithms 2 and 3: march through time, one network per window, each beginning with the weights of the one before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...clock import Clock
from ...discretize.check import check_boundary, check_pointwise
from ...discretize.step_scheme import SECOND, Layers
from ...discretize.wellposed import refuse_overdetermined
from ...discretize.window import MarchSpace, Window
from ...errors import PcpinnError
from ...mesh.slab_mesh import AnyMesh, SlabMesh
from ...network.dense import DenseNetwork
from ...network.marched import MarchedNetwork, Plan
from ...precondition import Schwarz, Stages
from ...precondition.window_parts import fitted_to_levels
from ...problem.field import component_names
from ...problem.problem import Problem
from ...problem.second_order import by_second_differences
from ...problem.timed import timed_functions
from ...progress import Progress
from ...solution.folder import finish_run
from ...solution.reference import ERRORS, Reference, compare
from ...solution.solution import Solution
from ...train import History, Snapshot
from ..afford import refuse_unaffordable
from ..build import make_mesh, make_network, make_optimiser, refuse_free
from ..conduct import Run
from ..settings import Settings
from ..watching import errors_so_far, known_errors
from .checkpoint import InsideWindow, MarchCheckpoint
from .deadline import Deadline, MarchStopped, OutOfTime
from .descent import DescentSolver
from .errors import MarchErrors
from .kept import KeptP
from .report import WindowReport
from .room import Sizes, divided, forms_of, march_limit, part_of_optimiser
from .start import fit_start, guesses_for, refit_start, space_weights, spread_biases
from .training import WindowTrainer, WindowTraining
from .window import WindowSolver

_PORTIONS = 20  # of the points of a reference, for a display of how far the comparison is


def march(
    problem: Problem,
    settings: Settings,
    *,
    out: Path | None = None,
    reference: Reference | None = None,
    progress: Progress | None = None,
    record: Mapping[str, Any] | None = None,
    resume: bool = False,
    mesh: AnyMesh | None = None,
) -> Solution:
    """Solve a problem over time step by step; the arguments are those of `pcpinn.solve`."""
    refuse_free(problem)
    own = Run(
        settings,
        problem.name,
        problem.unknowns,
        out=out,
        progress=progress,
        record=record,
        resume=resume,
        shared=True,
    )
    recipe, options, clock, progress, device = settings.time, settings.run, own.clock, own.progress, own.device
    if reference is not None:
        reference.check_fits(problem.domain.dimension, problem.components)
    refuse_unaffordable(problem, settings, mesh)
    refuse_overdetermined(problem)
    mesh = own.mesh(mesh, lambda: make_mesh(problem, settings))
    if not isinstance(mesh, SlabMesh):
        raise PcpinnError("a march needs a domain over time", "use shape.over(start, end)")
    plan = Plan(recipe.scheme, recipe.order, recipe.window, problem.components)
    windows = _windows(mesh.times, recipe.window)
    progress.stage("assembly")
    elements, ends = settings.mesh, (mesh.times[0], mesh.times[-1])
    stepped = by_second_differences(problem) if recipe.scheme == SECOND else problem
    space = MarchSpace(stepped, mesh.space, ends, elements.degree, elements.quadrature, device, elements.element)
    _check(space)
    if recipe.scheme == SECOND and not space.form.constant_mass:
        raise PcpinnError(
            "scheme=second-difference needs a density that is u.dt times a function of x",
            "use another scheme, such as gauss, with two fields: u_t = v, v_t = ...",
        )
    network = make_network(problem, mesh.space, settings, problem.components * plan.layers)
    spread_biases(network, options.seed)
    untrained = network.theta.detach().clone()
    initial = space.initial_values()
    solver = _window_solver(space, network, plan, windows[0][0], settings, progress)
    trainer, kept = solver.trainer, solver.kept
    checkpoint, done, training = None, None, Clock()
    if own.folder is not None:
        kept_by_all = MarchCheckpoint(own.folder, options.checkpoint_every, clock, training)
        done = kept_by_all.read(network.theta, len(windows)) if resume else None
        checkpoint = kept_by_all if own.team.first else None
    own.begin(mesh)
    thetas: list[Tensor] = []
    reports: list[WindowReport] = []
    history = History()
    own.ready()
    if done is not None:
        thetas, reports, history = done.thetas, done.reports, done.history
        if not network.output_scale.ndim:
            network.output_scale.fill_(done.scale)
        clock.add(done.elapsed)
        training.add(done.seconds)
    deadline = Deadline(training, own.training_limit(training.seconds), own.team)
    if not thetas:
        progress.stage("initial values")
        try:
            thetas = [fit_start(network, space, plan, initial, settings, progress, deadline, trainer)]
        except OutOfTime:
            raise MarchStopped(options.time_limit, 0, len(windows), training.seconds, kept=False) from None
    errors = MarchErrors(space, plan, mesh.times, reference, recipe.split_errors, recipe.refresh)
    if done is not None:
        errors.restore(done.compared, len(reports))
    if checkpoint is not None:
        checkpoint.compared = errors.arrays
    progress.stage("marching", len(windows))
    known = initial[None].repeat(plan.steps.history, 1)
    every = recipe.refresh
    whole = 1 if isinstance(solver, DescentSolver) else every  # windows between two builds of P
    inside = _inside(checkpoint, thetas, reports, history, network, None if done is None else done.inside)
    built_at: Window | None = None  # where P was last built before a resume
    try:
        for number, (times, first) in enumerate(windows):
            window = Window(space, Layers(plan.steps, times, first), known)
            if number < len(thetas) - 1:  # done before a resume
                with torch.no_grad():
                    network.theta.copy_(thetas[number + 1])
                report = reports[number]
                trainer.damping = report.damping
                built_at = window if report.rebuilt else built_at
            else:
                if built_at is not None:
                    kept.restore(built_at)
                    built_at = None
                if number % every == 0:
                    kept.stale = True
                    if checkpoint is not None and checkpoint.due() and not inside.waits:
                        checkpoint.write(thetas, reports, history, network)
                try:
                    if isinstance(solver, DescentSolver):
                        report = solver.solve(window, thetas[-1] if number else untrained, deadline, inside)
                        if first and recipe.cold_iterations:
                            progress.stage("marching", len(windows))
                    else:
                        report = solver.solve(window, guesses_for(network, thetas[-1], plan, number), deadline)
                except (OutOfTime, PcpinnError) as error:
                    if checkpoint is not None:
                        on_the_way = inside.last if isinstance(error, OutOfTime) else None
                        checkpoint.write(thetas, reports, history, network, whole, on_the_way)  # what is done stays
                    if isinstance(error, OutOfTime):
                        raise MarchStopped(
                            options.time_limit, number, len(windows), training.seconds, checkpoint is not None
                        ) from None
                    raise
                if first and (values := space.first_values(plan.steps, trainer.values())) is not None:
                    thetas[0] = refit_start(network, thetas[0], space, plan, values, settings, trainer)
                reports.append(report)
                thetas.append(network.theta.detach().clone())
            U = trainer.values()
            if number >= errors.windows:  # else it was compared before a resume
                errors.add(window, U, kept)
            known = torch.cat([known, U])[-plan.steps.history :]
            loss = 0.5 * report.final**2
            if len(history.rows) == number:  # else it was done before a resume
                history.add(number + 1, training.seconds, loss)
            progress.update(number + 1, loss)
    except KeyboardInterrupt:
        if checkpoint is not None and inside.last is None:  # else the training of the window has kept itself
            done_by_now = min(len(reports), len(thetas) - 1, len(history.rows))
            checkpoint.write(thetas[: done_by_now + 1], reports[:done_by_now], history, network, whole)
        raise
    train_s = training.seconds

    progress.stage("errors")
    marched = MarchedNetwork(network, plan, mesh.times, torch.stack(thetas))
    names = component_names(problem.unknowns)
    measured: dict[str, Any] = dict.fromkeys(ERRORS)
    if reference is not None:
        with torch.no_grad():
            u = _evaluated(marched, reference.points, progress)
        measured |= compare(u, reference, names)
        errors.finish(u)
        history.errors = errors_so_far(u, reference, np.array([times[-1] for times, _ in windows]))
    measured |= errors.totals()
    result = own.result(
        dofs=space.size * plan.layers,
        parameters=network.parameter_count,
        iterations=sum(r.iterations for r in reports),
        stopped_by="all steps",
        loss=history.rows[-1][2],
        seconds=train_s,
        optimiser=trainer.own.optimiser.label,
        optimiser_reason="as chosen"
        if recipe.linearisation == "none"
        else "after least-squares steps of the last layer",
        discretisation="march",
        mesh=mesh,
        preconditioner={} if kept.operator is None else kept.operator.describe(),
        errors=measured,
        error_history=known_errors(history, measured["l2re"]),
        reference=None if reference is None else reference.describe(),
        march=_describe(reports, plan, windows, errors),
    )
    solution = Solution(marched, problem.unknowns, mesh, result, history, settings.to_dict(), problem)
    if own.out is not None:
        errors.write(own.out / "errors.csv")
        finish_run(own.out, solution.network, solution.history, solution.result)
    if checkpoint is not None:
        checkpoint.remove()
    return solution


def _windows(times: np.ndarray, per_window: int) -> list[tuple[np.ndarray, bool]]:
    """Ends of the steps of each window, and whether it is the first; steps of a window have one length."""
    steps = len(times) - 1
    if steps % per_window:
        raise PcpinnError(
            f"{steps} steps cannot be cut into windows of {per_window}", f"make steps a multiple of {per_window}"
        )
    result = []
    for k in range(0, steps, per_window):
        part = times[k : k + per_window + 1]
        lengths = np.diff(part)
        if np.ptp(lengths) > 1e-9 * lengths.max():
            raise PcpinnError("the steps of a window differ in length", "use window=1 with halvings")
        result.append((part, k == 0))
    return result


def _check(space: MarchSpace) -> None:
    """Flux, source and conditions: shapes, finite values, true derivatives."""
    form = space.form
    check_pointwise(form.pointwise, form.sample_points(space.start_time))
    for flux, x, normals in form.boundary_samples(space.start_time):
        check_boundary(flux, x, normals, form.components)


def _inside(
    checkpoint: MarchCheckpoint | None,
    thetas: list[Tensor],
    reports: list[WindowReport],
    history: History,
    network: DenseNetwork,
    begun: Snapshot | None,
) -> InsideWindow:
    """What keeps the training of a window, beside the windows that are done by then."""
    if checkpoint is None:
        return InsideWindow(None, lambda: False)

    def write(snapshot: Snapshot) -> None:
        checkpoint.write(thetas, reports, history, network, inside=snapshot)

    return InsideWindow(write, checkpoint.due, begun)


def _window_solver(
    space: MarchSpace, network: DenseNetwork, plan: Plan, times: np.ndarray, settings: Settings, progress: Progress
) -> WindowSolver | DescentSolver:
    recipe, P = settings.time, settings.preconditioner
    optimiser, _ = make_optimiser(settings, network, space.size * plan.layers)
    training = WindowTraining(
        optimiser,
        head_steps=recipe.head_steps,
        causality=recipe.causality if plan.per_window > 1 else 0.0,
        stages=plan.layers // plan.per_window,
        seed=settings.run.seed,
    )
    shards = fitted_to_levels(P, space, plan.layers).shards if isinstance(P, Schwarz) else None
    rooms = divided(march_limit(settings.run, space.device), _sizes(space, network, plan, settings))
    trainer = WindowTrainer(space, network, plan.layers, training, shards, rooms)
    if isinstance(P, Stages):
        P = replace(P, room=rooms.inverses)
    weights = np.outer(Layers(plan.steps, times).weights, space_weights(space, settings)).ravel()
    linear_part = recipe.linearisation != "newton"
    timed = timed_functions(space.problem)
    kept = KeptP(P, P.refinement, constant=space.form.constant or linear_part, timed=timed)
    if recipe.linearisation == "none":
        return DescentSolver(trainer, kept, weights, recipe.tolerance, recipe.cold_iterations, progress)
    return WindowSolver(trainer, kept, weights, recipe.tolerance, recipe.newton_iterations, linear_part)


def _sizes(space: MarchSpace, network: DenseNetwork, plan: Plan, settings: Settings) -> Sizes:
    shapes, P, points = network.layer_shapes, settings.preconditioner, space.nodes(1).points
    return Sizes(
        len(points),
        space.size,
        plan.layers,
        space.form.space.mesh.dimension,
        shapes[0][1],
        shapes[-1][1],
        len(shapes) > 1,
        *forms_of(P, space.size, plan.layers // plan.per_window, space.device),
        separated=network.separated(torch.as_tensor(points).to(network.theta)) is not None,
        trained=part_of_optimiser(settings),
    )


def _describe(
    reports: list[WindowReport], plan: Plan, windows: list[tuple[np.ndarray, bool]], errors: MarchErrors
) -> dict[str, Any]:
    reasons: dict[str, int] = {}
    for r in reports:
        reasons[r.reason] = reasons.get(r.reason, 0) + 1
    return {
        **plan.to_dict(),
        "windows": len(windows),
        "newton_iterations": sum(len(r.residuals) for r in reports),
        "preconditioners": sum(r.rebuilt for r in reports),
        "largest_residual": max(r.final for r in reports),
        "ended_by": reasons,
        "errors_by_time": errors.table(40),
    }


def _evaluated(network: MarchedNetwork, points: np.ndarray, progress: Progress) -> np.ndarray:
    """(n, C) values at points (n, d + 1); portions follow each other in time, so that each window is evaluated about once."""
    x = torch.as_tensor(points).to(network.theta)
    values = np.empty((len(points), network.outputs))
    portions = np.array_split(np.argsort(points[:, -1], kind="stable"), min(_PORTIONS, len(points)))
    for k, own in enumerate(portions, start=1):
        values[own] = network(x[own]).double().cpu().numpy()
        progress.count("errors", k, len(portions))
    return values
