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
from .optimiser import Optimiser, State


@dataclass(frozen=True)
class Stopping:
    """When to stop, whichever comes first.

    Attributes:
        iterations: after so many.
        tolerance: when the relative residual, which estimates the training error, is at most this.
        time_limit: after so many seconds.
        patience: when the residual has fallen by less than one percent over so many iterations; 0 never.
    """

    iterations: int = 100
    tolerance: float = 0.0
    time_limit: float = math.inf
    patience: int = 0


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
    state: State | None = None,
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
    resume: Snapshot | None = None,
) -> Training:
    """Minimise problem.loss() in place. A resumed training takes the same steps as one that was never interrupted.

    Args:
        problem, optimiser, stopping: what, how, how long.
        state: the optimiser's initial state; by default optimiser.start(problem, seed=0).
        progress: told of every iteration.
        checkpoints: where to write snapshots.
        resume: a snapshot to continue from.
    """
    progress = progress or Progress()
    if resume is None:
        history, first, before = History(), 0, 0.0
        state = optimiser.start(problem, 0) if state is None else state
    else:
        history, state, first, before = resume.history, resume.state, resume.iteration, resume.seconds
        device = problem.theta.device
        state = {k: v if k == "random" else v.to(device) for k, v in state.items()}
        with torch.no_grad():
            problem.theta.copy_(resume.theta)
    progress.stage(f"training ({optimiser.name})", stopping.iterations)
    started = time.perf_counter() - before
    iteration, loss, reason = first, history.rows[-1][2] if history.rows else math.inf, "iterations"
    last_good = before_step = problem.theta.detach().clone()
    # On a GPU a first-order step takes less than a millisecond, of which a copy of the weights would be a good part: there the
    # last good weights may be up to `keep` iterations old.
    keep = 50 if problem.theta.device.type == "cuda" and optimiser.name != "gauss-newton" else 1
    advance = optimiser.bind(problem, state)
    done = math.sqrt(2 * loss) <= stopping.tolerance if history.rows else False
    if done:
        reason = "tolerance"
    for iteration in range(first + 1, first + 1 if done else stopping.iterations + 1):
        if iteration % keep == 0 or iteration == first + 1:
            before_step = problem.theta.detach().clone()
        loss = advance()
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
        if 0 < stopping.patience < len(history.rows) and loss > 0.98 * history.rows[-1 - stopping.patience][2]:
            reason = "stagnation"
            break
    seconds = time.perf_counter() - started
    if checkpoints is not None:
        checkpoints.write(Snapshot(iteration, seconds, problem.theta, state, history))
    return Training(iteration, loss, seconds, reason, history)
