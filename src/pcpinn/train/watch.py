"""The error along a training, measured so rarely that it costs next to nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

CADENCE = 100  # measurements in a training of few iterations; in a longer one, iterations between two
SHARE = 0.02  # of the time, at most, once the first has shown what one costs


@dataclass
class Watch:
    """When to measure, and what it has cost so far.

    Attributes:
        measure: the error of the network as it is now; None where there is no such number.
        every: iterations between two measurements.
        share: of the training's seconds that they may take; the first is always made.
    """

    measure: Callable[[], float | None]
    every: int = CADENCE
    share: float = SHARE
    _last: int = field(default=0, repr=False)
    _spent: float = field(default=0.0, repr=False)
    _cost: float = field(default=0.0, repr=False)

    @classmethod
    def of_training(cls, measure: Callable[[], float | None], iterations: int) -> Watch:
        """For a training of at most so many iterations."""
        return cls(measure, max(1, min(CADENCE, iterations // CADENCE)))

    def look(self, iteration: int, seconds: float) -> float | None:
        """The error after an iteration, `seconds` into the training; None where it is not its turn."""
        if iteration // self.every == self._last // self.every or (
            self._cost > 0 and self._spent + self._cost > self.share * seconds
        ):
            return None
        self._last, started = iteration, time.perf_counter()
        error = self.measure()
        self._cost = time.perf_counter() - started
        self._spent += self._cost
        return error
