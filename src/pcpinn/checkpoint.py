"""Checkpoints of any unfinished work: named tensors and plain facts in one file, which says what kind of work it is."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .errors import PcpinnError
from .files import read_tensors, write_tensors

FILE = "checkpoint.safetensors"
KINDS = {
    "training": "a training",
    "march": "a march",
    "sweep": "a sweep of a study",
    "accuracy": "a solve to an accuracy",
}

Shape = tuple[int | None, ...]
"""Of a tensor; None for any length."""


class Array(Protocol):
    """A numpy array, or a tensor on the host."""

    def __array__(self) -> np.ndarray: ...


@dataclass(frozen=True)
class Contents:
    """What a checkpoint holds."""

    tensors: dict[str, np.ndarray]
    facts: dict[str, Any]


class Interrupted(BaseException):
    """The checkpoint that `Checkpoint.stop_at_next` asked for is written: leave the work, which goes on from there."""


class Checkpoint:
    """Writes a file at most once every `interval` seconds, each time replacing the last atomically; and reads it back.

    Args:
        path: of the file.
        kind: of the work, one of KINDS.
        interval: seconds between two of them.
        key: plain data that distinguish this work from others of its kind; a checkpoint with another key is refused.
    """

    _stopping = threading.Event()  # of the whole process, as the signals are that set it

    @classmethod
    def stop_at_next(cls) -> None:
        """The next chance of any work in this process to write a checkpoint is taken, and ends in `Interrupted`."""
        cls._stopping.set()

    def __init__(self, path: Path, kind: str, interval: float = 10.0, key: Any = None) -> None:
        self.path, self.kind, self.interval = Path(path), kind, interval
        self._key = hashlib.sha256(json.dumps(key, sort_keys=True, default=str).encode()).hexdigest()
        self._last = time.monotonic()

    def exists(self) -> bool:
        """Whether there is one."""
        return self.path.exists()

    def due(self) -> bool:
        """Whether it is time for another."""
        return self._stopping.is_set() or time.monotonic() - self._last >= self.interval

    def write(self, tensors: Mapping[str, Array], facts: Mapping[str, Any]) -> None:
        """Replace the file.

        Raises:
            Interrupted: after it, where the process was asked to stop.
        """
        arrays = {name: np.asarray(tensor) for name, tensor in tensors.items()}
        write_tensors(self.path, arrays, {"checkpoint": self.kind, "key": self._key, "facts": dict(facts)})
        self._last = time.monotonic()
        if self._stopping.is_set():
            raise Interrupted

    def read(self, shapes: Mapping[str, Shape]) -> Contents:
        """The last one.

        Args:
            shapes: tensors that must be in it; there may be more.

        Raises:
            PcpinnError: when there is none, or it is damaged, of another kind or with another key.
        """
        tensors, metadata = read_tensors(self.path)
        kind, facts = metadata.get("checkpoint"), metadata.get("facts")
        if kind not in KINDS or not isinstance(facts, dict):
            raise PcpinnError(f"{self.path} is not a checkpoint", "start again in another folder")
        if kind != self.kind:
            raise PcpinnError(
                f"{self.path} is a checkpoint of {KINDS[kind]}, not of {KINDS[self.kind]}",
                "do not mix the files of different runs",
            )
        if metadata.get("key") != self._key:
            raise PcpinnError(
                f"{self.path} was begun with other sizes, seeds or values",
                "give the same ones as then, or another folder",
            )
        for name, shape in shapes.items():
            found = tensors[name].shape if name in tensors else None
            if found is None or len(found) != len(shape):
                raise self.damaged(f"{name} is missing or misshapen")
            if any(b not in (None, a) for a, b in zip(found, shape, strict=True)):
                raise self.damaged(f"{name} has shape {found}, not {shape}: it belongs to another run")
        return Contents(tensors, facts)

    def damaged(self, why: object) -> PcpinnError:
        """The error to raise for invalid contents."""
        return PcpinnError(f"{self.path} is damaged: {why}", "delete it to start again, or restore it")

    def remove(self) -> None:
        """The work is finished, and its results are elsewhere."""
        self.path.unlink(missing_ok=True)
