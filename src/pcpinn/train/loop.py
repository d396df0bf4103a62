"""The training loop: steps, history, checkpoints, stopping; the same for every optimiser."""

from __future__ import annotations

import math
import signal
import time
from dataclasses import dataclass

import torch
from torch import Tensor

from ..interrupt import interrupts_wait
from ..progress import Progress
from .checkpoint import Keeper, Snapshot
from .history import History
from .loss import Loss
from .optimiser import Optimiser, State
from .watch import Watch

_LOOK = 5


@dataclass(frozen=True)
class Stopping:
    """When to stop, whichever comes first.

    Attributes:
        iterations: after this many.
        tolerance: when the relative residual, which estimates the training error, is at most this.
        time_limit: after this many seconds, those before a resume included.
        patience: when the residual has fallen by less than one percent over this many iterations; 0 never.
        gain: when the loss has fallen by less than this over five iterations, all of them after number `since`; 0 never. For
            losses that do not fall to zero.
    """

    iterations: int = 100
    tolerance: float = 0.0
    time_limit: float = math.inf
    patience: int = 0
    gain: float = 0.0
    since: int = 0


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
    checkpoints: Keeper | None = None,
    resume: Snapshot | None = None,
    announce: bool = True,
    watch: Watch | None = None,
    name: str = "training",
) -> Training:
    """Minimise problem.loss() in place. A resumed training takes the same steps as one that was never interrupted.

    Where the optimiser takes several steps at once (Adam on a GPU), whatever looks at the loss does so after each such batch:
    progress, checkpoints, stopping. The history has every step all the same. Where a loss is not finite, weights and the
    loss's own state go back to the start of the last batch that began with a finite one.

    Args:
        problem, optimiser, stopping: what, how, how long.
        state: the optimiser's initial state; by default optimiser.start(problem, seed=0).
        progress: told of every iteration, or batch of them.
        checkpoints: where to write snapshots.
        resume: a snapshot to continue from.
        announce: tell of a new stage; not where a training of this run goes on.
        watch: measures the error now and then, for the history.
        name: of the stage.
    """
    progress, team = progress or Progress(), problem.team
    if resume is None:
        history, first, before = History(), 0, 0.0
        state = optimiser.start(problem, 0) if state is None else state
    else:
        history, state, first, before = resume.history, resume.state, resume.iteration, resume.seconds
        device = problem.theta.device
        state |= {
            k: v if k == "random" else v.to(device) for k, v in state.items()
        }  # in place: the caller goes on with it
        if resume.loss:
            problem.restore(resume.loss)
        with torch.no_grad():
            problem.theta.copy_(resume.theta)
    problem.begin(optimiser.by_gradient)
    if announce:
        progress.stage(f"{name} ({optimiser.label})", stopping.iterations)
    started = time.perf_counter() - before
    iteration, loss, reason = first, history.rows[-1][2] if history.rows else math.inf, "iterations"
    seconds = before
    copies = _Copies()
    good, good_loss, good_state = (
        problem.theta.detach().clone(),
        loss,
        copies.of(problem),
    )  # whose loss is known to be finite
    advance, layout = None, problem.layout
    if history.rows and math.sqrt(2 * loss) <= stopping.tolerance:
        reason = "tolerance"
    waits = checkpoints is not None or not team.alone  # until the step is done, which is then kept, by all together
    with interrupts_wait(waits) as interrupt:
        while iteration < stopping.iterations and reason == "iterations":
            most = min(stopping.iterations - iteration, problem.adapt(iteration))
            if advance is None or problem.layout != layout:
                advance, layout = optimiser.bind(problem, state), problem.layout
            start, start_state = problem.theta.detach().clone(), copies.of(problem)
            losses = advance(most)
            since, seconds = seconds, team.lead_number(time.perf_counter() - started)
            finite = next((k for k, value in enumerate(losses) if not math.isfinite(value)), len(losses))
            if finite:
                good, good_loss, good_state = start, losses[0], start_state  # its loss, or that of what came of it
            for k, value in enumerate(losses[:finite]):
                iteration += 1
                history.add(iteration, since + (k + 1) / len(losses) * (seconds - since), value)
            if finite < len(losses):
                if good_state:
                    problem.restore(good_state)
                with torch.no_grad():
                    problem.theta.copy_(good)
                reason, loss = "not finite", good_loss
                progress.note(
                    f"the loss became {losses[finite]} at iteration {iteration + 1}: stopped, last good weights kept"
                )
                break
            loss = losses[-1]
            error = None if watch is None else watch.look(iteration, seconds)
            if error is not None:
                history.errors[iteration] = error
                progress.measured(error)
            progress.update(iteration, loss)
            if checkpoints is not None and checkpoints.due():
                checkpoints.write(Snapshot(iteration, seconds, problem.theta, state, history, problem.state()))
            if math.sqrt(2 * loss) <= stopping.tolerance:
                reason = "tolerance"
            elif seconds >= stopping.time_limit:
                reason = "time limit"
            elif _stagnates(history, loss, iteration, stopping):
                reason = "stagnation"
            if team.any(bool(interrupt.asked)):
                interrupt.asked = interrupt.asked or signal.SIGTERM  # another process was told: all end together
                break
        seconds = time.perf_counter() - started
        if checkpoints is not None:
            keep = checkpoints.last_words if interrupt.asked else checkpoints.write
            keep(Snapshot(iteration, seconds, problem.theta, state, history, problem.state()))
    return Training(iteration, loss, seconds, reason, history)


class _Copies:
    """Copies of a loss's state; a tensor that has not changed since the last time is not copied again, since it may be large."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[Tensor, int, Tensor]] = {}

    def of(self, problem: Loss) -> State:
        """The state of the loss as it is now."""
        now = {}
        for key, value in problem.state().items():
            own, version, copy = self._last.get(key, (None, 0, None))
            if own is not value or version != value._version or copy is None:
                copy = value.detach().clone()
            now[key] = value, value._version, copy
        self._last = now
        return {key: copy for key, (_, _, copy) in now.items()}


def _stagnates(history: History, loss: float, iteration: int, stopping: Stopping) -> bool:
    rows, patience = history.rows, stopping.patience
    if 0 < patience < len(rows) and loss > 0.98 * rows[-1 - patience][2]:
        return True
    return stopping.gain > 0 and iteration > stopping.since + _LOOK and rows[-1 - _LOOK][2] - loss < stopping.gain
