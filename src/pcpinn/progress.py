"""Progress reports. Objects are passed in; nothing prints by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .errors import PcpinnError


class Progress:
    """Listens to a solve; this one says nothing. Subclasses show a bar, or collect."""

    def stage(self, name: str, total: int | None = None) -> None:
        """A new stage begins, of `total` iterations if known."""

    def measured(self, error: float) -> None:
        """The relative error against the reference, after the iteration that `update` tells of next."""

    def update(self, iteration: int, loss: float) -> None:
        """An iteration of the current stage is done."""

    def count(self, name: str, done: int, total: int) -> None:
        """Progress of a stage without a loss (frames, files): `done` of `total` equal steps."""

    def note(self, text: str) -> None:
        """Something worth a line."""

    def close(self) -> None:
        """No more news."""


@dataclass(frozen=True)
class Event:
    """One iteration, as callbacks are told of it.

    Attributes:
        stage: what is being done, such as "training (gauss-newton)".
        iteration, total: of the stage; windows in the stage "marching". The total is None where it is not known.
        loss: 0.5 ||r||^2.
        residual: ||r||, which estimates the training error of a preconditioned loss.
        error: relative L2 error against the reference, where it was measured after this iteration; else None.
        seconds: since the run began.
        stage_seconds: since the stage began.
    """

    stage: str
    iteration: int
    total: int | None
    loss: float
    residual: float
    error: float | None
    seconds: float
    stage_seconds: float


Callback = Callable[[Event], object]


class Listening(Progress):
    """Passes everything on, and tells callbacks of every iteration. What they raise ends the run."""

    def __init__(self, progress: Progress, callbacks: Sequence[Callback]) -> None:
        self._progress, self._callbacks = progress, callbacks
        self._began = self._stage_began = time.monotonic()
        self._stage, self._total = "", None
        self._error: float | None = None

    _total: int | None

    def stage(self, name: str, total: int | None = None) -> None:
        """A new stage begins."""
        self._stage, self._total, self._error, self._stage_began = name, total, None, time.monotonic()
        self._progress.stage(name, total)

    def measured(self, error: float) -> None:
        """Kept for the next iteration."""
        self._error = error
        self._progress.measured(error)

    def update(self, iteration: int, loss: float) -> None:
        """One event."""
        now, error, self._error = time.monotonic(), self._error, None
        self._progress.update(iteration, loss)
        of_run, of_stage = now - self._began, now - self._stage_began
        event = Event(self._stage, iteration, self._total, loss, (2 * loss) ** 0.5, error, of_run, of_stage)
        for callback in self._callbacks:
            callback(event)

    def count(self, name: str, done: int, total: int) -> None:
        """Passed on."""
        self._progress.count(name, done, total)

    def note(self, text: str) -> None:
        """Passed on."""
        self._progress.note(text)

    def close(self) -> None:
        """Passed on."""
        self._progress.close()


def listening(progress: Progress, callbacks: Callback | Iterable[Callback] | None) -> Progress:
    """The same progress, with callbacks.

    Raises:
        PcpinnError: where they cannot be called.
    """
    if callbacks is None:
        return progress
    every = list(callbacks) if isinstance(callbacks, Iterable) else [callbacks]
    if not all(map(callable, every)):
        raise PcpinnError("callbacks are functions of one event", "give callbacks=lambda e: print(e.iteration, e.loss)")
    return Listening(progress, every)
