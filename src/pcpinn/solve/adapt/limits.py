"""How far an adaptive solve may go: seconds, degrees of freedom."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...clock import Clock
from ..cost import setup_seconds

_DIRECT = {1: 400_000, 2: 300_000, 3: 90_000}  # degrees of freedom that complete factors are affordable for with 4 GiB
_ITERATED = 600_000  # those of a solid that multigrid is affordable for with 4 GiB
_OF_FREE = 0.25  # other runs may go on beside this one
_OVERDUE = 0.65
_SETTING_UP = 0.3  # of the time that is left, at most, for a stage that cannot be interrupted
_PLANNING = 0.5  # of the time, at most, for meshes and steps; the rest is for training
_CONFIRMING = 0.7  # the same for a second level: with one alone next to nothing can be claimed


@dataclass
class Limits:
    """Limits of one solve.

    Attributes:
        seconds: for everything.
        memory: GiB that meshes and P are planned with.
        free: GiB that the machine has free, where the user set no limit; multigrid on solids may take a part of them.
        clock: since the beginning.
        since: when the present level of planning began.
    """

    seconds: float
    memory: float = 4.0
    clock: Clock = field(default_factory=Clock)
    since: float = 0.0
    free: float = 0.0

    def mark(self) -> None:
        """A new level of planning begins."""
        self.since = self.clock.seconds

    def would_exceed(self, ratio: float, confirming: bool = False) -> bool:
        """Whether a level that costs so many times the present one would leave too little for training.

        A level that confirms a first one may leave less.
        """
        return self.needed(ratio, confirming) > self.seconds

    def needed(self, ratio: float, confirming: bool = False) -> float:
        """The time limit that such a level would fit into."""
        part = _CONFIRMING if confirming else _PLANNING
        return (self.clock.seconds + ratio * (self.clock.seconds - self.since)) / part

    @property
    def left(self) -> float:
        """Seconds."""
        return max(0.0, self.seconds - self.clock.seconds)

    @property
    def overdue(self) -> bool:
        """Whether planning has taken so long that hardly any time is left for training."""
        return self.clock.seconds > _OVERDUE * self.seconds

    def affords(self, size: float, dimension: int, iterated: bool = False) -> bool:
        """Whether complete factors of a matrix of this size fit, or what multigrid needs of one in three dimensions."""
        if iterated:
            return size <= _ITERATED * max(self.memory, _OF_FREE * self.free) / 4
        return size <= _DIRECT[dimension] * self.memory / 4

    def in_time(self, size: float, dimension: int) -> bool:
        """Whether complete factors of a matrix of this size leave most of the time for training with them."""
        return setup_seconds(size, dimension, complete=True) <= _SETTING_UP * self.left

    def exceeded(self, size: float, dimension: int, iterated: bool = False) -> str | None:
        """Why a discretisation of this size is not to be tried, if so."""
        if not self.affords(size, dimension, iterated):
            return "memory"
        if self.clock.seconds > _PLANNING * self.seconds:
            return "time"
        return None
