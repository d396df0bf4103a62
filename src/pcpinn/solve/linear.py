"""Algorithm 1: train a network on ||P^-1 (A u_theta - b)||^2 for a linear problem."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..discretize.mesh import Mesh
from ..discretize.system import LinearSystem, linear_system
from ..environment import describe_environment
from ..network.mlp import MLP
from ..precondition.operator import PreconditionedResidual
from ..problem.problem import Problem
from ..progress import Progress
from ..train import Checkpoints, LeastSquares, Snapshot, Stopping, Training, train
from .build import make_device, make_discretisation, make_mesh, make_network, make_optimiser, make_preconditioner
from .reference import Reference, compare
from .run_folder import create_run, finish_run
from .settings import Settings
from .solution import Solution, component_names

_MEASURED_UNKNOWNS = {1: 10**7, 2: 400_000, 3: 80_000}  # beyond these a direct solve costs more than the training


def solve(
    problem: Problem,
    settings: Settings | None = None,
    *,
    out: str | Path | None = None,
    reference: Reference | None = None,
    progress: Progress | None = None,
    record: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Solution:
    """Solve a linear problem.

    Args:
        problem: the PDE.
        settings: all choices; keyword arguments (mesh_size=0.02, width=32, ...) change single ones.
        out: a folder to record the run in, with checkpoints on the way; it must not exist.
        reference: to measure errors against.
        progress: told how far the work is.
        record: more facts for run.json and result.json (name of the problem, preset).

    Raises:
        PcpinnError: for anything the user can put right; nothing has been written then.
    """
    settings = (settings or Settings()).updated(changes)
    facts = {"problem": problem.name, "preset": None, **(record or {})}
    return _run(
        problem, settings, facts, Path(out) if out else None, reference, progress or Progress(), mesh=None, resume=False
    )


def resume(
    problem: Problem,
    settings: Settings,
    folder: Path,
    mesh: Mesh,
    *,
    reference: Reference | None = None,
    progress: Progress | None = None,
    record: Mapping[str, Any],
) -> Solution:
    """Continue an interrupted run from its last checkpoint, on the mesh that it was begun with."""
    return _run(problem, settings, dict(record), folder, reference, progress or Progress(), mesh=mesh, resume=True)


def _run(
    problem: Problem,
    settings: Settings,
    facts: dict[str, Any],
    out: Path | None,
    reference: Reference | None,
    progress: Progress,
    mesh: Mesh | None,
    resume: bool,
) -> Solution:
    started = time.perf_counter()
    device = make_device(settings.device)
    optimiser = make_optimiser(settings)
    progress.stage("mesh")
    mesh = mesh or make_mesh(problem, settings)
    progress.stage("assembly")
    system = linear_system(make_discretisation(problem, mesh, settings))
    progress.stage("preconditioner")
    operator = PreconditionedResidual(
        system.A,
        system.b,
        make_preconditioner(settings),
        weights=system.weights if settings.weights == "mass" else np.full(system.size, 1 / system.size),
        dense={"true": True, "false": False}.get(settings.dense, "auto"),
        dtype=getattr(torch, settings.precision),
        device=device,
    )
    network = make_network(problem, mesh, settings)
    task = LeastSquares(network, system, operator)
    setup_s = time.perf_counter() - started

    checkpoints, snapshot = None, None
    if out is not None:
        checkpoints = Checkpoints(out, settings.checkpoint_every)
        if resume:
            snapshot = _last_snapshot(checkpoints, network)
        else:
            fields = [asdict(f) for f in problem.unknowns]
            create_run(out, {**facts, "fields": fields, "settings": settings.to_dict()}, mesh)
    stopping = Stopping(settings.iterations, settings.tolerance, settings.time_limit)
    training = train(task, optimiser, stopping, settings.seed, progress, checkpoints, snapshot)

    progress.stage("errors")
    result = {
        **facts,
        "seed": settings.seed,
        "device": device.type,
        "dofs": system.size,
        "parameters": network.parameter_count,
        "iterations": training.iterations,
        "stopped_by": training.reason,
        "loss": training.loss if math.isfinite(training.loss) else None,
        "optimiser": optimiser.name,
        "discretisation": {"name": settings.discretisation, "degree": settings.degree, "cells": len(mesh.cells)},
        "preconditioner": operator.describe(),
        "errors": measure(network, system, reference),
        "reference": None if reference is None else _describe_reference(reference),
    }
    result["time"] = _times(started, setup_s, training)
    result["environment"] = describe_environment(device)
    solution = Solution(network, problem.unknowns, mesh, result, training.history, settings.to_dict())
    if out is not None:
        finish_run(out, solution)
    return solution


def measure(network: MLP, system: LinearSystem, reference: Reference | None) -> dict[str, Any]:
    """Errors by part. `training`: u_theta against the discrete solution; `discretisation`: that against the reference."""
    errors: dict[str, Any] = dict.fromkeys(("l2re", "l1re", "mse", "mae", "max", "field", "training", "discretisation"))
    names = component_names(system.discretisation.problem.unknowns)
    if reference is not None:
        with torch.no_grad():
            values = network(torch.as_tensor(reference.points).to(network.theta)).double().cpu().numpy()
        errors |= compare(values, reference, names)
    if system.size <= _MEASURED_UNKNOWNS[system.discretisation.mesh.dimension]:
        u_h = system.solution
        with torch.no_grad():
            at_points = network(torch.as_tensor(system.points).to(network.theta)).double().cpu().numpy()
        u = at_points[system.point_of, system.component_of]
        errors["training"] = system.norm(u - u_h) / (system.norm(u_h) or 1.0)
        if reference is not None:
            errors["discretisation"] = compare(
                system.discretisation.interpolate(u_h, reference.points), reference, names
            )["l2re"]
    return errors


def _last_snapshot(checkpoints: Checkpoints, network: MLP) -> Snapshot | None:
    return checkpoints.read(network.theta) if checkpoints.path.exists() else None


def _describe_reference(reference: Reference) -> dict[str, Any]:
    return {"kind": reference.kind, "error": reference.error, "points": len(reference.points), "note": reference.note}


def _times(started: float, setup_s: float, training: Training) -> dict[str, float]:
    total = time.perf_counter() - started
    return {"setup_s": round(setup_s, 3), "train_s": round(training.seconds, 3), "total_s": round(total, 3)}
