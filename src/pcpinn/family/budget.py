"""How much of a set-up the time limit has room for; a run that goes on does as much of it as it had done before."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..clock import Clock

SNAPSHOTS, FUNCTIONS, BETWEEN, DRAWS = "snapshots", "functions", "between", "draws"
_SHARES = {
    SNAPSHOTS: 0.3,
    FUNCTIONS: 0.45,
    BETWEEN: 0.55,
    DRAWS: 0.65,
}  # of the time limit: when these parts have to be done


class Budget:
    """Counts of what was done in each part of a set-up.

    Args:
        clock: of the run.
        limit: seconds of the whole run.
        before: the counts of a run that goes on: it has to come to the same functions, however fast the machine is now.

    Attributes:
        done: counts by part.
    """

    def __init__(
        self, clock: Clock | None = None, limit: float = math.inf, before: Mapping[str, int] | None = None
    ) -> None:
        self._clock, self._limit, self._before = clock or Clock(), limit, dict(before or {})
        self.done: dict[str, int] = {}

    def most(self, part: str, usual: int) -> int:
        """How much of a part is to be done at most."""
        return self._before.get(part, usual)

    def seconds(self, part: str) -> float:
        """How long a part may still take."""
        return math.inf if part in self._before else _SHARES[part] * self._limit - self._clock.seconds
