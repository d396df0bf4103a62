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


class Rate:
    """Time since its making, and time left at the pace of the iterations since the first one that was told of.

    The first is not counted: it has to set up what later ones use, and a resumed run begins in the middle.
    """

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._first: tuple[int, float] | None = None
        self._last = (0, self._began)

    def tick(self, done: int) -> None:
        """So many are done now."""
        self._last = done, time.monotonic()
        self._first = self._first or self._last

    @property
    def elapsed(self) -> float:
        """Seconds."""
        return time.monotonic() - self._began

    def left(self, total: int) -> float | None:
        """Seconds until `total` are done; None where no pace is known yet."""
        if self._first is None or self._last[0] <= self._first[0]:
            return None
        (first, began), (done, now) = self._first, self._last
        return (now - began) / (done - first) * (total - done)


def duration(seconds: float) -> str:
    """In words: 12 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
