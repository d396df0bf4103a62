"""A run of a method that needs no discrete system: points of a mesh, a loss on them, training, errors, record.

The mesh says where the domain is, for random points and for pictures. Nothing is assembled on it, so over time it is no more
than a mesh of space with times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..discretize.in_time import Simplices
from ..discretize.time_scheme import slab_times
from ..mesh.generate import generate_mesh
from ..mesh.slab_mesh import AnyMesh, SlabMesh
from ..network.protocol import Network
from ..problem.field import component_names
from ..problem.problem import Problem
from ..problem.shape_base import SpaceTime
from ..progress import Progress
from ..solution.reference import ERRORS, Reference, compare
from ..solution.solution import Solution
from ..train import Loss, Stopping, train
from .build import make_mesh, make_network, make_optimiser, refuse_free
from .certify import affordable_estimate
from .conclude import conclude
from .conduct import Run, check_training
from .settings import Settings
from .watching import evaluate, watch_error

MakePointLoss = Callable[[Problem, AnyMesh, Network, Settings], Loss]

_SHOWN_STEPS = 40  # times of a mesh that is there for points and pictures, at most


def run_without_system(
    make_loss: MakePointLoss,
    problem: Problem,
    settings: Settings,
    *,
    out: str | Path | None = None,
    reference: Reference | None = None,
    progress: Progress | None = None,
    record: Mapping[str, Any] | None = None,
    resume: bool = False,
    mesh: AnyMesh | None = None,
) -> Solution:
    """Make the loss, train, measure, record; arguments as of `pcpinn.solve`.

    A resumed run takes mesh and weights from its folder.
    """
    own = Run(settings, problem.name, problem.unknowns, out=out, progress=progress, record=record, resume=resume)
    options, progress = settings.run, own.progress
    check_training(problem, settings, reference, mesh)
    refuse_free(problem)
    mesh = own.mesh_of(problem, mesh, lambda: mesh_for_points(problem, settings))
    network = make_network(problem, mesh, settings)
    progress.stage("points")
    loss = make_loss(problem, mesh, network, settings)
    optimiser, why = make_optimiser(settings, network, None)
    if why != "asked for":
        progress.note(f"optimiser: {optimiser.label} ({why})")
    state = optimiser.start(loss, options.seed)
    own.ready()
    own.begin(mesh)
    checkpoints, snapshot = own.checkpoints(network.theta, state)
    patience = optimiser.usual_patience if optimiser.patience is None else optimiser.patience
    watch = watch_error(network, reference, optimiser.iterations)
    limit = own.training_limit(0.0 if snapshot is None else snapshot.seconds)
    stopping = Stopping(optimiser.iterations, settings.newton.tolerance, limit, patience)
    training = train(loss, optimiser, stopping, state, progress, checkpoints, snapshot, watch=watch)

    progress.stage("errors")
    errors: dict[str, Any] = dict.fromkeys(ERRORS)
    if reference is not None:
        errors |= compare(evaluate(network, reference.points), reference, component_names(problem.unknowns))
    certificate = affordable_estimate(network, problem, mesh, settings, progress)
    if certificate is not None:
        errors["estimate"] = certificate.estimate
    return conclude(
        own, problem, mesh, network, loss, training, errors, certificate, reference,
        optimiser=optimiser, why=why, dofs=0, discretisation="points",
    )  # fmt: skip


def mesh_for_points(problem: Problem, settings: Settings) -> AnyMesh:
    """Where the domain is. Over time, with more than one dimension of space, a mesh of space with a few times."""
    domain, time, recipe = problem.domain, settings.time, settings.mesh
    if not (isinstance(domain, SpaceTime) and isinstance(time, Simplices) and domain.shape.dimension > 1):
        return make_mesh(problem, settings)
    options = {**recipe.options(), "periodic": problem.periodic_pairs}
    space = generate_mesh(domain.shape, kinks=(recipe.kinks or ())[:-1], **options)
    steps = min(time.steps or _SHOWN_STEPS, _SHOWN_STEPS)
    return SlabMesh(space, slab_times(domain.start, domain.end, steps))
