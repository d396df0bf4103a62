"""Where the pieces of a study are worked on: here, one after the other, or as jobs on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..cluster import Job, Listener, Slurm, StateFolder, carry_out
from ..errors import PcpinnError
from ..progress import Progress


class Spread:
    """Works on pieces here."""

    device: str | None = None
    """Of pieces that are sent elsewhere, as it was asked for; None for the study's own."""

    def map(self, pieces: Sequence[Job], progress: Progress) -> list[dict[str, Any]]:
        """What comes of each, in order."""
        found = []
        for k, piece in enumerate(pieces):
            found.append(piece.run(Progress()))
            progress.count("runs", k + 1, len(pieces))
        return found


class _Notes(Listener):
    """Passes on what is worth a line."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def note(self, text: str) -> None:
        """To whom it may concern."""
        self._progress.note(text)


@dataclass(frozen=True)
class OnSlurm(Spread):
    """Sends pieces to a cluster; what came of them stays in the folder until the study is written.

    Attributes:
        slurm: what a piece may take.
        folder: of the study, on a file system that all nodes share.
        device: for the nodes.
    """

    slurm: Slurm
    folder: Path
    device: str | None = "auto"

    def map(self, pieces: Sequence[Job], progress: Progress) -> list[dict[str, Any]]:
        """What comes of each, in order.

        Raises:
            PcpinnError: when one failed; the others stay in the folder.
        """
        done: dict[str, dict[str, Any]] = {}
        failed: dict[str, str] = {}
        for outcome in carry_out(StateFolder.of(self.folder), pieces, self.slurm, _Notes(progress), keep=True):
            if outcome.data is None:
                failed[outcome.key] = outcome.failed
            else:
                done[outcome.key] = outcome.data
            progress.count("jobs", len(done) + len(failed), len(pieces))
        if failed:
            key, reason = next(iter(failed.items()))
            raise PcpinnError(
                f"{len(failed)} of {len(pieces)} jobs failed; {key}: {reason}", "--resume tries them again"
            )
        return [done[piece.key] for piece in pieces]
