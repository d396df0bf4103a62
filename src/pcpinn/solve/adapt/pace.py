"""Whether a march of networks will come to its end in time, by the seconds of its first windows."""

from __future__ import annotations

from ...clock import Clock
from ...errors import PcpinnError
from ...progress import Progress

_WINDOWS = 3  # the first ones, which also prepare, say little
_EARLY = 0.2  # after this part of the time even a single one counts: some is to be left for a coarser plan
_MARGIN = 1.25


class TooSlow(PcpinnError):
    """A march would not end in time.

    Attributes:
        each: seconds of a window.
        windows: how many there are.
    """

    def __init__(self, each: float, windows: int, left: float) -> None:
        self.each, self.windows = each, windows
        super().__init__(
            f"{windows} steps of {each:.2g} s each take about {self.needed:.2g} s, and {left:.2g} s are left",
            "allow more time (time_limit=...)",
        )

    @property
    def needed(self) -> float:
        """Seconds for all windows."""
        return self.each * self.windows


class Pace(Progress):
    """Passes reports on, and stops a march that would take longer than the time that is left.

    Args:
        to: receives all reports.
        left: seconds for the march.
    """

    def __init__(self, to: Progress, left: float) -> None:
        self._to, self._left, self._clock = to, left, Clock()
        self._windows: int | None = None
        self._first: tuple[int, float] | None = None  # the first window that was told of, and when

    def stage(self, name: str, total: int | None = None) -> None:  # noqa: D102
        self._windows, self._first = total if name == "marching" else None, None
        self._to.stage(name, total)

    def measured(self, error: float) -> None:  # noqa: D102
        self._to.measured(error)

    def update(self, iteration: int, loss: float) -> None:  # noqa: D102
        self._to.update(iteration, loss)
        if self._windows is None:
            return
        now = self._clock.seconds
        if self._first is None:
            self._first = iteration, now
            return
        done = iteration - self._first[0]
        each = (now - self._first[1]) / done
        enough = done >= _WINDOWS or now > _EARLY * self._left
        if enough and now + each * (self._windows - iteration) > _MARGIN * self._left:
            raise TooSlow(each, self._windows, self._left)

    def count(self, name: str, done: int, total: int) -> None:  # noqa: D102
        self._to.count(name, done, total)

    def note(self, text: str) -> None:  # noqa: D102
        self._to.note(text)

    def close(self) -> None:  # noqa: D102
        self._to.close()
