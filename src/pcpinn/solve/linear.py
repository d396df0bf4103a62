"""Algorithm 1: train a network on ||P^-1 (A u_theta - b)||^2; nonlinear problems go through Newton's method (newton.py)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..discretize.system import LinearSystem
from ..mesh.slab_mesh import AnyMesh
from ..network.mlp import MLP
from ..precondition import Kept
from ..precondition.operator import PreconditionedResidual
from ..problem.problem import Problem
from ..progress import Progress
from ..solution.reference import Reference
from ..solution.solution import Solution
from ..train import LeastSquares, rescale_outputs
from .build import make_preconditioner
from .march.march import march
from .run import run
from .settings import Settings
from .start import Start


def solve(
    problem: Problem,
    settings: Settings | None = None,
    *,
    out: str | Path | None = None,
    reference: Reference | None = None,
    progress: Progress | None = None,
    record: Mapping[str, Any] | None = None,
    resume: bool = False,
    mesh: AnyMesh | None = None,
    start: Start | None = None,
    **changes: Any,
) -> Solution:
    """Solve a problem: a linear one by Algorithm 1, a nonlinear one by Newton's method around it.

    Args:
        problem: the PDE.
        settings: all choices; keyword arguments (mesh_size=0.02, width=32, ...) change single ones.
        out: a folder to record the run in, with checkpoints on the way; it must not exist, unless resumed.
        reference: to measure errors against.
        progress: told how far the work is.
        record: more facts for run.json and result.json (name of the problem, preset).
        resume: continue the interrupted run in `out` from its last checkpoint, on the mesh that it was begun with.
        mesh: a mesh that is there already, with the boundary names of the problem's domain.
        start: where Newton's method begins: a `Solution` (its network is trained further if it is of the same kind), or a
            function of points (n, d) with values (n, components). By default the solution of the linear part.

    Raises:
        PcpinnError: for anything the user can put right; nothing has been written then.
    """
    settings = (settings or Settings()).updated(changes)
    if settings.march:
        return march(
            problem,
            settings,
            out=Path(out) if out else None,
            reference=reference,
            progress=progress,
            record=record,
            resume=resume,
            mesh=mesh,
        )
    return run(
        "pcpinn",
        preconditioned_loss,
        problem,
        settings,
        out=out,
        reference=reference,
        progress=progress,
        record=record,
        resume=resume,
        mesh=mesh,
        start=start,
        relinearised=preconditioned_loss,
    )


def preconditioned_loss(
    system: LinearSystem, network: MLP, settings: Settings, kept: Kept | None = None, rescale: bool = True
) -> LeastSquares:
    """Build P and with it the loss of Algorithm 1, on the network's device and in its precision.

    Args:
        system: A and b.
        network: u_theta.
        settings: which P.
        kept: an earlier P to take instead.
        rescale: choose the unit of the network's outputs anew.
    """
    operator = PreconditionedResidual(
        system.A,
        system.b,
        kept or make_preconditioner(settings, system.discretisation),
        weights=system.weights if settings.weights == "mass" else np.full(system.size, 1 / system.size),
        dense=_dense(settings),
        dtype=getattr(torch, settings.precision),
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
    if settings.dense == "auto":
        return "auto" if settings.optimiser in ("adam", "soap", "lbfgs") else False
    return settings.dense == "true"
