"""Algorithm 1: train a network on ||P^-1 (A u_theta - b)||^2 for a linear problem."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..discretize.slab_mesh import AnyMesh
from ..discretize.system import LinearSystem
from ..network.mlp import MLP
from ..precondition.operator import PreconditionedResidual
from ..problem.problem import Problem
from ..progress import Progress
from ..train import LeastSquares
from .build import make_preconditioner
from .march import march
from .reference import Reference
from .run import run
from .settings import Settings
from .solution import Solution


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
    **changes: Any,
) -> Solution:
    """Solve a linear problem.

    Args:
        problem: the PDE.
        settings: all choices; keyword arguments (mesh_size=0.02, width=32, ...) change single ones.
        out: a folder to record the run in, with checkpoints on the way; it must not exist, unless resumed.
        reference: to measure errors against.
        progress: told how far the work is.
        record: more facts for run.json and result.json (name of the problem, preset).
        resume: continue the interrupted run in `out` from its last checkpoint, on the mesh that it was begun with.
        mesh: a mesh that is there already, with the boundary names of the problem's domain.

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
    )


def preconditioned_loss(system: LinearSystem, network: MLP, settings: Settings) -> LeastSquares:
    """Build P and with it the loss of Algorithm 1, on the network's device and in its precision."""
    operator = PreconditionedResidual(
        system.A,
        system.b,
        make_preconditioner(settings, system.discretisation),
        weights=system.weights if settings.weights == "mass" else np.full(system.size, 1 / system.size),
        dense=_dense(settings),
        dtype=getattr(torch, settings.precision),
        device=network.theta.device,
        nodes=system.discretisation.unknown_nodes,
        components=system.discretisation.unknown_components,
    )
    return LeastSquares(network, system, operator)


def _dense(settings: Settings) -> bool | str:
    """A dense P^-1 A pays for itself over thousands of cheap steps, not over tens of expensive ones."""
    if settings.dense == "auto":
        return "auto" if settings.optimiser in ("adam", "soap", "lbfgs") else False
    return settings.dense == "true"
