"""One run of any method: mesh, system, loss, training, errors, record. Methods differ in the loss alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..discretize.discrete_equation import DiscreteEquation
from ..discretize.discretisation import Discretisation, check_functions
from ..discretize.equation import Matrix
from ..discretize.finite_elements import FiniteElements
from ..discretize.linear_solves import solve_krylov
from ..discretize.newton import Solve
from ..discretize.newton import direct as by_factors
from ..discretize.nonlinear import Linearisation, first_linearisation, linearised_system, solve_newton
from ..errors import PcpinnError
from ..mesh.slab_mesh import AnyMesh
from ..network.protocol import Network
from ..problem.field import component_names
from ..problem.problem import Problem
from ..progress import Progress
from ..solution.folder import keep_network
from ..solution.reference import ERRORS, Reference, compare
from ..solution.solution import Solution
from ..train import LeastSquares, Loss, Stopping, train
from .build import make_discretisation, make_mesh, make_network, make_optimiser
from .certify import affordable_estimate
from .conclude import conclude
from .conduct import Run, check_training
from .cost import MARGIN, judging_seconds, setup_seconds
from .newton import NotConverged
from .settings import Settings
from .start import Start, nodal_start, take_over
from .watching import evaluate, watch_error
from .whole import MakeStep, WholeNewton

MakeLoss = Callable[[Linearisation, Network, Settings], Loss]

_FINER = 2.0  # times as many degrees of freedom has what answers are judged on, about
_DIRECT_UNKNOWNS = {1: 10**7, 2: 200_000, 3: 30_000}  # beyond these a direct solve costs more than the training


def run(
    make_loss: MakeLoss,
    problem: Problem,
    settings: Settings,
    *,
    out: str | Path | None = None,
    reference: Reference | None = None,
    progress: Progress | None = None,
    record: Mapping[str, Any] | None = None,
    resume: bool = False,
    mesh: AnyMesh | None = None,
    start: Start | None = None,
    relinearised: MakeStep | None = None,
) -> Solution:
    """Discretise, make the loss, train, measure, record. A resumed run takes mesh and weights from its folder.

    `relinearised` makes the losses of Newton's steps; without it a nonlinear problem is trained in one go. All but this and
    the first are arguments of `pcpinn.solve`.
    """
    own = Run(
        settings,
        problem.name,
        problem.unknowns,
        out=out,
        progress=progress,
        record=record,
        resume=resume,
        shared=relinearised is not None,
    )
    options, progress = settings.run, own.progress
    check_training(problem, settings, reference, mesh)
    mesh = own.mesh_of(problem, mesh, lambda: make_mesh(problem, settings))
    progress.stage("assembly")
    discretisation = make_discretisation(problem, mesh, settings)
    if isinstance(discretisation, FiniteElements):
        discretisation.team = own.team
    system = _first_system(discretisation, start)
    progress.stage("preconditioner")
    network = make_network(problem, mesh, settings)
    if start is not None and take_over(network, start) and relinearised is not None:
        loss: Loss = relinearised(system, network, settings, rescale=False)
    else:
        loss = make_loss(system, network, settings)
    optimiser, why = make_optimiser(settings, network, loss.size if isinstance(loss, LeastSquares) else None)
    if why != "asked for":
        progress.note(f"optimiser: {optimiser.label} ({why})")
    state = optimiser.start(loss, options.seed)
    own.ready()
    own.begin(mesh)
    checkpoints, snapshot = own.checkpoints(network.theta, state)
    patience = optimiser.usual_patience if optimiser.patience is None else optimiser.patience
    watch = watch_error(network, reference, optimiser.iterations)
    later = judging_seconds(_FINER * system.size, mesh.dimension) if options.certify else 0.0
    limit = own.training_limit(0.0 if snapshot is None else snapshot.seconds, later)
    newton = None
    if relinearised is not None and isinstance(loss, LeastSquares):
        newton = WholeNewton(
            loss, system, settings, optimiser, state, relinearised, patience, progress, checkpoints, watch, limit
        )
        try:
            training = newton.run(snapshot)
        except NotConverged as error:
            if own.out is not None:
                kept = keep_network(own.out, network)
                raise NotConverged(error.problem, f"{error.remedy}; the last good network is in {kept}") from error
            raise
        loss = newton.loss
    else:
        stopping = Stopping(optimiser.iterations, settings.newton.tolerance, limit, patience)
        training = train(loss, optimiser, stopping, state, progress, checkpoints, snapshot, watch=watch)

    progress.stage("errors")
    errors = measure(loss, system, reference, options.time_limit)
    certificate = own.team.lead_object(
        affordable_estimate(network, problem, mesh, settings, progress) if own.team.first else None
    )
    if certificate is not None:
        errors["estimate"] = certificate.estimate
        if network.parameter_count > system.size and certificate.estimate > 5 * (errors["training"] or math.inf):
            progress.note(
                f"{network.parameter_count} weights on {system.size} degrees of freedom: the network fits the nodes better than "
                "the space between them; take a finer mesh or a smaller network"
            )
    more: dict[str, Any] = {} if newton is None or newton.linear else {"newton": newton.describe()}
    return conclude(
        own, problem, mesh, network, loss, training, errors, certificate, reference,
        optimiser=optimiser, why=why, dofs=system.size, discretisation=system.discretisation.name, **more,
    )  # fmt: skip


def _first_system(discretisation: Discretisation, start: Start | None) -> Linearisation:
    """The linear part of a problem, unless it starts elsewhere."""
    check_functions(discretisation)
    equation = DiscreteEquation(discretisation)
    if start is None:
        return first_linearisation(equation)
    return linearised_system(equation, nodal_start(start, discretisation))


def measure(
    loss: Loss, system: Linearisation, reference: Reference | None, seconds: float = math.inf
) -> dict[str, Any]:
    """Errors by part. `training`: u_theta against the discrete solution; `discretisation`: that against the reference.

    Without the discrete solution, which both need, where that is going to take longer than the given seconds.
    """
    network = loss.network
    errors: dict[str, Any] = dict.fromkeys(ERRORS)
    names = component_names(system.discretisation.problem.unknowns)
    if reference is not None:
        errors |= compare(evaluate(network, reference.points), reference, names)
    u = evaluate(network, system.nodes.points)[system.nodes.point_of, system.nodes.component_of]
    u_h = _discrete_solution(loss, system, u, seconds)
    if u_h is not None:
        errors["training"] = system.norm(u - u_h) / (system.norm(u_h) or 1.0)
        if reference is not None:
            interpolated = system.discretisation.interpolate(u_h, reference.points)
            errors["discretisation"] = compare(interpolated, reference, names)["l2re"]
    return errors


def _discrete_solution(loss: Loss, system: Linearisation, u: np.ndarray, seconds: float) -> np.ndarray | None:
    """u_h by direct solves (where the system is not exact at the network's values u, by Newton's method from these).

    Of large systems by an iteration with the present preconditioner, if it converges.
    """
    if "solution" in vars(system):  # it was solved for already, to be fitted
        return system.solution
    d = system.discretisation.mesh.dimension
    direct = system.size <= _DIRECT_UNKNOWNS[d] and setup_seconds(system.size, d, complete=True) <= MARGIN * seconds
    if not direct and not isinstance(loss, LeastSquares):
        return None

    def iterated(A: sp.csr_matrix, r: np.ndarray) -> np.ndarray | None:
        P = loss.operator  # type: ignore[attr-defined]
        return solve_krylov(A, r, lambda r: P.preconditioner.apply(P.state, r), tolerance=1e-8)

    def inverse(A: Matrix[np.ndarray]) -> Solve[np.ndarray]:
        def solve(r: np.ndarray) -> np.ndarray:
            x = iterated(A.to_scipy(), r)
            return np.full(len(r), np.nan) if x is None else x

        return solve

    if system.exact_at(u):
        return system.solution if direct else iterated(system.A, system.b)
    try:
        return solve_newton(system.equation, u, by_factors if direct else inverse)
    except PcpinnError:
        return None
