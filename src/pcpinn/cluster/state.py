"""The folder that controller and workers share. Clocks are never compared: a sign of life is a number that changes.

token            names the jobs in Slurm's queue: pcpinn-TOKEN-N is array N of this folder
arrays/N.json    its jobs in order, each with the number of its attempt; written before it is submitted
attempts/KEY     the latest attempt of a job: an older worker that finds a larger number ends
signs/KEY.json   what its worker does: attempt, state, beat, host, job, progress
outcomes/KEY.json  how it ended, written once by the worker
controller.json  who watches over the jobs
cancel           all is to end
log/             submitit's files: output and errors of the jobs
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import PcpinnError
from ..files import read_json, write_atomically, write_json

NAME = "cluster"
_PARTS = ("arrays", "attempts", "signs", "outcomes", "log")


class StateFolder:
    """Paths and contents of DIR/cluster."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path).absolute()

    @classmethod
    def of(cls, folder: Path) -> StateFolder:
        """Of a benchmark's or study's folder."""
        return cls(Path(folder) / NAME)

    @property
    def exists(self) -> bool:
        """Whether jobs were ever sent out from here."""
        return (self.path / "token").exists()

    def make(self) -> None:
        """Make it, if it is not there.

        Raises:
            PcpinnError: where that cannot be done.
        """
        try:
            for part in _PARTS:
                (self.path / part).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PcpinnError(f"cannot write into {self.path}: {error.strerror}", "choose another --out") from error
        if not self.exists:
            write_atomically(self.path / "token", secrets.token_hex(4))

    @property
    def prefix(self) -> str:
        """Of the names of all its jobs in the queue."""
        return f"pcpinn-{(self.path / 'token').read_text(encoding='utf-8').strip()}-"

    @property
    def log(self) -> Path:
        """Of submitit."""
        return self.path / "log"

    def arrays(self) -> dict[int, list[tuple[str, int]]]:
        """Keys and attempts of all arrays so far, by number."""
        found = {}
        for path in (self.path / "arrays").glob("*.json"):
            try:
                found[int(path.stem)] = [(str(key), int(attempt)) for key, attempt in read_json(path)["jobs"]]
            except (KeyError, TypeError, ValueError) as error:
                raise PcpinnError(f"{path} is damaged: {error}", "pcpinn bench cancel DIR, then remove it") from error
        return dict(sorted(found.items()))

    def new_array(self, keys: Sequence[str]) -> tuple[str, list[int]]:
        """Record an array that is about to be submitted: its name and the attempts of its jobs."""
        number = max(self.arrays(), default=0) + 1
        attempts = [self.attempt(key) + 1 for key in keys]
        for key, attempt in zip(keys, attempts, strict=True):
            self.forget(key)
            write_atomically(self.path / "attempts" / key, str(attempt))
        write_json(self.path / "arrays" / f"{number}.json", {"jobs": list(zip(keys, attempts, strict=True))})
        return f"{self.prefix}{number}", attempts

    def attempt(self, key: str) -> int:
        """Number of the latest attempt; 0 for none."""
        try:
            return int((self.path / "attempts" / key).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return 0
        except (OSError, ValueError):
            return 0  # a file system that stumbles must not end a worker

    def sign(self, key: str) -> dict[str, Any]:
        """What its worker said last; nothing if it never did."""
        return _read(self.path / "signs" / f"{key}.json")

    @property
    def was_seen(self) -> bool:
        """Whether any worker ever gave a sign here."""
        return any((self.path / "signs").iterdir())

    def write_sign(self, key: str, content: Mapping[str, Any]) -> None:
        """In place of the last."""
        write_json(self.path / "signs" / f"{key}.json", content)

    def outcome(self, key: str) -> dict[str, Any] | None:
        """How the latest attempt ended; None if it has not."""
        found = _read(self.path / "outcomes" / f"{key}.json")
        return found if found and found.get("attempt") == self.attempt(key) else None

    def ended(self) -> set[str]:
        """Keys of which there is an outcome, of whichever attempt."""
        return {name.removesuffix(".json") for name in os.listdir(self.path / "outcomes")}

    def forget(self, key: str) -> None:
        """The outcome is kept elsewhere, or no longer wanted."""
        (self.path / "outcomes" / f"{key}.json").unlink(missing_ok=True)

    def write_outcome(self, key: str, attempt: int, data: Mapping[str, Any] | None, failed: str) -> None:
        """Whole or not at all."""
        write_json(self.path / "outcomes" / f"{key}.json", {"attempt": attempt, "data": data, "failed": failed})

    @property
    def cancelled(self) -> bool:
        """Whether all is to end."""
        return (self.path / "cancel").exists()

    def set_cancelled(self, yes: bool) -> None:
        """Ask controller and workers to end, or take that back."""
        if yes:
            write_atomically(self.path / "cancel", "")
        else:
            (self.path / "cancel").unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Any]:
    with contextlib.suppress(PcpinnError):
        return read_json(path)
    return {}
