"""The training loop: steps, history, checkpoints, stopping; the same for every optimiser."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import torch

from ..progress import Progress
from .checkpoint import Checkpoints, Snapshot
from .history import History
from .loss import Loss
from .optimiser import Optimiser


@dataclass(frozen=True)
class Stopping:
    """When to stop: after `iterations`, when the relative residual is at most `tolerance`, or after `time_limit` seconds."""

    iterations: int = 100
    tolerance: float = 0.0
    time_limit: float = math.inf


@dataclass(frozen=True)
class Training:
    """How a training ended."""

    iterations: int
    loss: float
    seconds: float
    reason: str
    history: History


def train(
    problem: Loss,
    optimiser: Optimiser,
    stopping: Stopping,
    seed: int = 0,
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
    resume: Snapshot | None = None,
) -> Training:
    """Minimise problem.loss() in place. A resumed training takes the same steps as one that was never interrupted."""
    progress = progress or Progress()
    if resume is None:
        history, state, first, before = History(), optimiser.start(problem, seed), 0, 0.0
    else:
        history, state, first, before = resume.history, resume.state, resume.iteration, resume.seconds
        device = problem.theta.device
        state = {k: v if k == "random" else v.to(device) for k, v in state.items()}
        with torch.no_grad():
            problem.theta.copy_(resume.theta)
    progress.stage(f"training ({optimiser.name})", stopping.iterations)
    started = time.perf_counter() - before
    iteration, loss, reason = first, history.rows[-1][2] if history.rows else math.inf, "iterations"
    last_good = problem.theta.detach().clone()
    for iteration in range(first + 1, stopping.iterations + 1):
        before_step = problem.theta.detach().clone()
        loss = optimiser.step(problem, state)
        seconds = time.perf_counter() - started
        if not math.isfinite(loss):
            with torch.no_grad():
                problem.theta.copy_(last_good)
            reason = "not finite"
            progress.note(f"the loss became {loss} at iteration {iteration}: stopped, last good weights kept")
            iteration, loss = iteration - 1, history.rows[-1][2] if history.rows else math.inf
            break
        last_good = before_step  # its loss, or that of what came of it, is finite
        history.add(iteration, seconds, loss)
        progress.update(iteration, loss)
        if checkpoints is not None and checkpoints.due():
            checkpoints.write(Snapshot(iteration, seconds, problem.theta, state, history))
        if math.sqrt(2 * loss) <= stopping.tolerance:
            reason = "tolerance"
            break
        if seconds >= stopping.time_limit:
            reason = "time limit"
            break
    seconds = time.perf_counter() - started
    if checkpoints is not None:
        checkpoints.write(Snapshot(iteration, seconds, problem.theta, state, history))
    return Training(iteration, loss, seconds, reason, history)
