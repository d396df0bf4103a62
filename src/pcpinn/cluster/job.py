"""What is sent to a node, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from ..progress import Progress


class Job(Protocol):
    """A piece of work of its own; submitit pickles it, so it is a dataclass of plain data in a module of this package.

    It may be begun again at any time, after a kill too: then it goes on from its own checkpoints, or finds its result.
    """

    @property
    def key(self) -> str:
        """Its name, unique within a folder and fit for a file's name."""

    def run(self, progress: Progress) -> dict[str, Any]:
        """Do it; what is returned is plain data for JSON. An error that it raises counts as its failure."""


@dataclass(frozen=True)
class Outcome:
    """How a job ended: with data, or with the reason why there are none."""

    key: str
    data: dict[str, Any] | None
    failed: str = ""
