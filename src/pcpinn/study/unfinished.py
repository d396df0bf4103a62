"""Sweeps that outlive a kill: each batch of networks writes what it needs to go on exactly where it was."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PcpinnError
from ..files import read_tensors, write_tensors

_NAME = "sweep-{}.safetensors"
_EVERY = 20.0  # seconds


class Unfinished:
    """The file of one batch in the folder of its study.

    Args:
        folder: of the study; None keeps nothing.
        number: of the batch.
        what: plain data that say which sweep this is; files of another one are refused.
    """

    def __init__(self, folder: Path | None, number: int, what: Any) -> None:
        self.path = None if folder is None else Path(folder) / _NAME.format(number)
        self._key = hashlib.sha256(json.dumps(what, sort_keys=True, default=str).encode()).hexdigest()
        self._last = time.monotonic()

    def due(self) -> bool:
        """Whether it is time to write."""
        return self.path is not None and time.monotonic() - self._last >= _EVERY

    def write(self, tensors: dict[str, np.ndarray], iteration: int, seconds: float) -> None:
        """Replace the file."""
        if self.path is None:
            return
        make_folder(self.path.parent)
        write_tensors(self.path, tensors, {"key": self._key, "iteration": iteration, "seconds": seconds})
        self._last = time.monotonic()

    def read(self, shapes: dict[str, tuple[int | None, ...]]) -> tuple[dict[str, np.ndarray], int, float] | None:
        """Tensors, iterations done and seconds they took; None if there is no file.

        Args:
            shapes: what has to be in it; None for any length.

        Raises:
            PcpinnError: for a file of another sweep, or one that is damaged.
        """
        if self.path is None or not self.path.exists():
            return None
        tensors, facts = read_tensors(self.path)
        if facts.get("key") != self._key:
            raise PcpinnError(
                f"{self.path.parent} was begun with other sizes, seeds or values",
                "give the same ones as then, or another folder",
            )
        for name, shape in shapes.items():
            found = tensors[name].shape if name in tensors else None
            if (
                found is None
                or len(found) != len(shape)
                or any(b not in (None, a) for a, b in zip(found, shape, strict=True))
            ):
                raise PcpinnError(f"{self.path} is damaged: {name} is missing or misshapen", "delete the file")
        try:
            return tensors, int(facts["iteration"]), float(facts["seconds"])
        except (KeyError, TypeError, ValueError) as error:
            raise PcpinnError(f"{self.path} is damaged: {error!r}", "delete the file") from error


def make_folder(folder: Path) -> None:
    """Make it, if it is not there.

    Raises:
        PcpinnError: where that cannot be done.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PcpinnError(f"cannot make the folder {folder}: {error.strerror}", "choose another with --out") from error


def is_unfinished(folder: Path) -> bool:
    """Whether a sweep was interrupted there."""
    return any(folder.glob(_NAME.format("*")))


def clear(folder: Path) -> None:
    """A study that is written needs no such files any more."""
    for path in folder.glob(_NAME.format("*")):
        path.unlink(missing_ok=True)
