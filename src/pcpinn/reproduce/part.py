"""What an item is made from: runs of a benchmark, and studies."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from ..bench import Request

RUNS_FOLDER, STUDIES_FOLDER = "bench", "studies"


@dataclass(frozen=True)
class Runs:
    """Runs as `pcpinn bench` makes them. All items share one benchmark: what two of them need is run once."""

    request: Request


@dataclass(frozen=True)
class Studied:
    """One execution of a study.

    Attributes:
        study, problem: which; the problem only of studies of any.
        full: the paper's sizes, or the small ones.
        sizes: changes of them, as text.
        seed: the first one of its random numbers.
    """

    study: str
    problem: str | None = None
    full: bool = True
    sizes: tuple[tuple[str, str], ...] = ()
    seed: int = 0

    @property
    def key(self) -> str:
        """Readable and unique: the name of its folder."""
        identity = json.dumps([self.study, self.problem, self.full, sorted(self.sizes), self.seed])
        words = [self.study, self.problem or "", f"s{self.seed}", hashlib.sha256(identity.encode()).hexdigest()[:8]]
        return "-".join(w for w in words if w)


Part = Runs | Studied
