"""How long a run has taken, whatever interrupted it."""

from __future__ import annotations

import time


class Clock:
    """Seconds since it was made, and those that were spent before."""

    def __init__(self, before: float = 0.0) -> None:
        self._start = time.perf_counter() - before

    @property
    def seconds(self) -> float:
        """Both together."""
        return time.perf_counter() - self._start

    def times(self, setup: float, training: float) -> dict[str, float]:
        """For the record: seconds of the last set-up, of all training, and of the whole run until now."""
        return {"setup_s": round(setup, 3), "train_s": round(training, 3), "total_s": round(self.seconds, 3)}

    def add(self, before: float) -> None:
        """Count seconds that an interrupted run has taken."""
        self._start -= before
