"""A reference from a sequence of ever finer computations: the last difference is its stated error."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import PcpinnError
from ...progress import Progress
from ...recipes import Registry
from ...solution.reference import Reference


@dataclass(frozen=True)
class Level:
    """One member of the sequence: what is computed, and how long that took on one core of a small machine."""

    text: str
    seconds: float


@dataclass(frozen=True)
class Maker:
    """How the reference of a problem is computed.

    Attributes:
        name: of the catalog problem.
        method: for people.
        levels: from coarse to fine; a reference of level L needs levels 0 to L, with L at least 1.
        points: where it is evaluated, (n, d).
        values: level -> (n, k) there.
        check_level: what `pcpinn reference check` computes by default; cheap.
        components: of the solution that the k columns are.
    """

    name: str
    method: str
    levels: Sequence[Level]
    points: Callable[[], np.ndarray]
    values: Callable[[int], np.ndarray]
    check_level: int = 1
    components: Sequence[int] = (0,)

    def seconds(self, level: int) -> float:
        """Estimated time of a reference of this level."""
        self.require(level)
        return sum(member.seconds for member in self.levels[: level + 1])

    def require(self, level: int) -> None:
        """Refuse a level that is not there."""
        if not 1 <= level < len(self.levels):
            raise PcpinnError(
                f"there is no level {level} of the reference of {self.name}",
                f"give a level from 1 to {len(self.levels) - 1}",
            )

    def make(self, level: int, progress: Progress | None = None) -> tuple[Reference, dict[str, Any]]:
        """The finest member up to a level, and how it was made; its error is the distance to the member before."""
        self.require(level)
        progress = progress or Progress()
        points = self.points()
        differences: list[float] = []
        before, values = np.zeros(0), np.zeros(0)
        for k, member in enumerate(self.levels[: level + 1]):
            progress.stage(f"level {k}: {member.text}")
            before, values = values, np.reshape(self.values(k), (len(points), -1))
            if k:
                differences.append(distance(before, values))
                progress.note(f"level {k}, {member.text}: {differences[-1]:.2e} from level {k - 1}")
        made = {
            "method": self.method,
            "level": level,
            "levels": [member.text for member in self.levels[: level + 1]],
            "differences": differences,
            "command": f"pcpinn reference make {self.name} --level {level}",
            "date": datetime.date.today().isoformat(),
        }
        note = f"{self.method}; {self.levels[level].text}; {differences[-1]:.1e} from the next coarser level"
        reference = Reference(
            points, values, components=self.components, kind="certified", error=differences[-1], note=note
        )
        return reference, made


MAKERS: Registry[Maker] = Registry("reference", "makers", lambda maker: maker.name)


def distance(u: np.ndarray, r: np.ndarray) -> float:
    """Relative l2 distance of u from r."""
    return float(np.linalg.norm(u - r) / np.linalg.norm(r))


@dataclass(frozen=True)
class Agreement:
    """Of two references of one problem: their relative l2 distance, and the sum of their stated errors."""

    difference: float
    allowed: float

    @property
    def holds(self) -> bool:
        """Whether their errors explain their difference."""
        return self.difference <= self.allowed


def agreement(again: Reference, shipped: Reference) -> Agreement:
    """How far a reference computed again is from one computed before.

    Raises:
        PcpinnError: when they are not of the same points.
    """
    if again.points.shape != shipped.points.shape or not np.allclose(again.points, shipped.points, atol=1e-12):
        raise PcpinnError("the two references are not of the same points", "make the older one again")
    return Agreement(distance(again.values, shipped.values), again.error + shipped.error)
