"""The time limit of a march, kept inside its windows too."""

from __future__ import annotations

import math

from ...clock import Clock
from ...errors import PcpinnError
from ...team import ALONE, Team


class OutOfTime(Exception):
    """The limit was reached in a window, which is lost: an answer at half of the times is none."""


class MarchStopped(PcpinnError):
    """A march that met its time limit.

    Attributes:
        windows: how many there are.
        each: seconds that one takes.
    """

    def __init__(self, limit: float, done: int, windows: int, seconds: float, kept: bool) -> None:
        self.windows, self.each = windows, seconds / (done + 1)
        how = "continue the run with a longer one: pcpinn resume DIR --set time_limit=..."
        super().__init__(
            f"the time limit of {limit:g} s was reached after {done} of {windows} windows",
            f"{how if kept else 'allow more'}, or take fewer steps or iterations",
        )


class Deadline:
    """When a march has to stop.

    Args:
        clock: of its training.
        limit: seconds on that clock.
        team: the processes that stop together, by the clock of the first.
    """

    def __init__(self, clock: Clock | None = None, limit: float = math.inf, team: Team = ALONE) -> None:
        self._clock, self._limit, self._team = clock or Clock(), limit, team

    @property
    def left(self) -> float:
        """Seconds, at least 0."""
        if math.isinf(self._limit):
            return math.inf
        return max(0.0, self._limit - self._team.lead_number(self._clock.seconds))

    def check(self) -> None:
        """Raises: OutOfTime when it is over."""
        if not self.left:
            raise OutOfTime
