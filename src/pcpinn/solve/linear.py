"""Algorithm 1: train a network on ||P^-1 (A u_theta - b)||^2; nonlinear problems go through Newton's method (newton.py)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..discretize.system import LinearSystem
from ..errors import PcpinnError
from ..mesh.slab_mesh import AnyMesh
from ..network.protocol import Network
from ..precondition import Kept
from ..precondition.operator import PreconditionedResidual
from ..problem.problem import Problem
from ..progress import Progress
from ..solution.reference import Reference
from ..solution.solution import Solution
from ..train import GaussNewton, LeastSquares, rescale_outputs
from .build import make_preconditioner
from .march.march import march
from .method import METHODS, Method, offer_preconditioned
from .run import MakeLoss, run
from .settings import Settings, problem_is_over_time, resolve
from .start import Start


def solve(
    problem: Problem,
    settings: Settings | Mapping[str, Any] | None = None,
    *,
    out: str | Path | None = None,
    reference: Reference | None = None,
    progress: Progress | None = None,
    record: Mapping[str, Any] | None = None,
    resume: bool = False,
    on: AnyMesh | None = None,
    start: Start | None = None,
    **choices: Any,
) -> Solution:
    """Solve a problem: a linear one by Algorithm 1, a nonlinear one by Newton's method around it, or march through time.

    Args:
        problem: the PDE.
        settings: all choices by key, as in presets and `--set`, where they come as one mapping.
        out: a folder to record the run in, with checkpoints on the way; it must not exist, unless resumed.
        reference: to measure errors against.
        progress: receives progress reports.
        record: more facts for run.json and result.json (name of the problem, preset).
        resume: continue the interrupted run in `out` from its last checkpoint, on the mesh that it was begun with.
        on: an existing mesh, with the boundary names of the problem's domain.
        start: where Newton's method begins: a `Solution` (its network is trained further if it is of the same kind), or a
            function of points (n, d) with values (n, components). By default the solution of the linear part. Not for a
            march, which begins with the initial values.
        choices: recipes by slot (mesh=Meshing(size=0.05, degree=3), network=MLP(width=32), preconditioner=ILU(1e-4) or "ilu",
            optimiser=GaussNewton(iterations=60), time=March(steps=100), newton=...), single keys of theirs (size=0.05), and
            seed, device, precision, time_limit, memory, certify, checkpoint_every. `pcpinn settings` lists them all.

    At its time limit (seconds of training, those before a resume included) a solve returns what it has; a march, which has no
    answer before its end, raises and keeps the finished windows for `resume`.

    Raises:
        PcpinnError: for anything the user can correct; nothing has been written then, except by a march that reaches its time
            limit or diverges on the way.
    """
    chosen = settings_of("pcpinn", problem, settings, choices)
    options: dict[str, Any] = {
        "out": Path(out) if out else None,
        "reference": reference,
        "progress": progress,
        "record": record,
    }
    if chosen.marches:
        if start is not None:
            raise PcpinnError(
                "start= is for problems that are solved at once; a march begins with the initial values",
                "leave start= out, or time=march",
            )
        return march(problem, chosen, **options, resume=resume, mesh=on)
    return run(
        preconditioned_loss,
        problem,
        chosen,
        **options,
        resume=resume,
        mesh=on,
        start=start,
        relinearised=preconditioned_loss,
    )


def solve_with(
    loss: MakeLoss,
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
    """Train a network on another loss, by the recipes of another method; the other arguments as of `solve`."""
    chosen = settings_of(method, problem, settings, choices)
    options: dict[str, Any] = {"out": out, "reference": reference, "progress": progress, "record": record}
    return run(loss, problem, chosen, **options, resume=resume, mesh=on)


def settings_of(
    method: str, problem: Problem, settings: Settings | Mapping[str, Any] | None, choices: Mapping[str, Any]
) -> Settings:
    """What a method is to be run with: settings that are complete already, or choices that complete its defaults."""
    if isinstance(settings, Settings):
        return settings.updated(choices)
    return resolve(METHODS.find(method), problem_is_over_time(problem), {**(settings or {}), **choices})


METHODS.register(Method("pcpinn", offer_preconditioned, solve))


def preconditioned_loss(
    system: LinearSystem, network: Network, settings: Settings, kept: Kept | None = None, rescale: bool = True
) -> LeastSquares:
    """Build P and with it the loss of Algorithm 1, on the network's device and in its precision.

    Args:
        system: A and b.
        network: u_theta.
        settings: which P.
        kept: an earlier P to take instead.
        rescale: choose the unit of the network's outputs again.
    """
    operator = PreconditionedResidual(
        system.A,
        system.b,
        kept or make_preconditioner(settings, system.discretisation),
        weights=system.weights if settings.loss.norm == "mass" else np.full(system.size, 1 / system.size),
        dense=_dense(settings),
        dtype=getattr(torch, settings.run.precision),
        device=network.theta.device,
        nodes=system.discretisation.unknown_nodes if kept is None else None,
        components=system.discretisation.unknown_components,
    )
    if kept is not None:
        operator.quality = kept.quality
    if rescale:
        rescale_outputs(network, operator)
    return LeastSquares(network, system.nodes, operator)


def _dense(settings: Settings) -> bool | str:
    """A dense P^-1 A pays for itself over thousands of cheap steps, not over tens of expensive ones."""
    dense: str = settings.preconditioner.dense
    if dense == "auto":
        return False if isinstance(settings.optimiser, GaussNewton) else "auto"
    return dense == "true"
