"""Error against time while a method trains."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
import torch

from pcpinn import Progress, Reference
from pcpinn.network import DenseNetwork
from pcpinn.solution.reference import metrics


class OutOfTime(Exception):
    """The recorder has seen enough."""


class Recorder(Progress):
    """The error at ever rarer moments, and a clock that stands still while it is measured."""

    def __init__(
        self,
        reference: Reference,
        seconds: float,
        unused_stages: Sequence[str] = (),
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.reference, self.limit, self.unused, self.clock = reference, seconds, unused_stages, clock
        self.rows: list[tuple[float, int, float]] = []  # seconds, iteration, relative error
        self.setup_s, self.iterations = 0.0, 0
        self.network: DenseNetwork | None = None
        self._due = 0.0
        self._paused_at: float | None = None
        self.start()

    def start(self) -> None:
        self._started, self._excluded = self.clock(), 0.0

    def elapsed(self) -> float:
        return (self._paused_at or self.clock()) - self._started - self._excluded

    def _pause(self, pause: bool) -> None:
        if pause and self._paused_at is None:
            self._paused_at = self.clock()
        elif not pause and self._paused_at is not None:
            self._excluded += self.clock() - self._paused_at
            self._paused_at = None

    def stage(self, name: str, total: int | None = None) -> None:
        self._pause(name in self.unused)
        if name.startswith("training"):
            self.begin_training()
        elif name == "errors":  # the training came to an end by itself
            self._measure(self._predict)

    def begin_training(self) -> None:
        self.setup_s = self.elapsed()

    def update(self, iteration: int, loss: float) -> None:
        self.tick(iteration, self._predict)

    def tick(self, iteration: int, predict: Callable[[np.ndarray], np.ndarray]) -> None:
        """An iteration is done; measure if it is time."""
        self.iterations = iteration
        if self.elapsed() >= min(self._due, self.limit):
            self._measure(predict)

    def _measure(self, predict: Callable[[np.ndarray], np.ndarray]) -> None:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        self._pause(True)
        now = self.elapsed()
        values = predict(self.reference.points)[:, list(self.reference.components)]
        error = metrics(values, self.reference.values)["l2re"]
        self.rows.append((now, self.iterations, float("nan") if error is None else error))
        self._due = 1.08 * now + 0.05
        self._pause(False)
        if now >= self.limit:
            raise OutOfTime

    def _predict(self, x: np.ndarray) -> np.ndarray:
        assert self.network is not None
        with torch.no_grad():
            return self.network(torch.as_tensor(x).to(self.network.theta)).double().cpu().numpy()
