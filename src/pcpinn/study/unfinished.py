"""Sweeps that outlive a kill: each batch of networks keeps a checkpoint in the folder of its study."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from ..checkpoint import Checkpoint
from ..cluster import StateFolder
from ..errors import PcpinnError

_NAME = "sweep-{}.safetensors"
_EVERY = 20.0  # seconds


def batch_checkpoint(folder: Path, number: int, what: Any) -> Checkpoint:
    """Of one batch.

    Args:
        folder: of the study.
        number: of the batch.
        what: plain data that say which sweep this is; files of another one are refused.
    """
    return Checkpoint(folder / _NAME.format(number), "sweep", _EVERY, what)


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
    return any(folder.glob(_NAME.format("*"))) or StateFolder.of(folder).exists


def clear(folder: Path) -> None:
    """A study that is written needs no such files any more."""
    for path in folder.glob(_NAME.format("*")):
        path.unlink(missing_ok=True)
    state = StateFolder.of(folder)
    if state.exists:
        shutil.rmtree(state.path)
