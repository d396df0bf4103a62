"""Checkpoints: everything that a training needs to go on exactly where it was."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import torch

from ..errors import PcpinnError
from ..files import read_tensors, write_tensors
from .history import History
from .optimiser import State

FILE = "checkpoint.safetensors"


@dataclass
class Snapshot:
    """A moment in a training."""

    iteration: int
    seconds: float
    theta: torch.Tensor
    state: State
    history: History


class Checkpoints:
    """Writes snapshots into a run folder, at most one every `interval` seconds; each replaces the last atomically."""

    def __init__(self, folder: Path, interval: float = 10.0) -> None:
        self.path = Path(folder) / FILE
        self.interval = interval
        self._last = time.monotonic()

    def due(self) -> bool:
        """Whether it is time for another."""
        return time.monotonic() - self._last >= self.interval

    def write(self, snapshot: Snapshot) -> None:
        """Replace the checkpoint."""
        tensors = {"theta": snapshot.theta.detach().cpu().numpy(), "history": snapshot.history.to_array()}
        tensors |= {f"state.{key}": value.detach().cpu().numpy() for key, value in snapshot.state.items()}
        write_tensors(self.path, tensors, {"iteration": snapshot.iteration, "seconds": snapshot.seconds})
        self._last = time.monotonic()

    def read(self, like: torch.Tensor) -> Snapshot:
        """The last snapshot; its weights must fit the network's, `like`."""
        tensors, metadata = read_tensors(self.path)
        theta = tensors.get("theta")
        if theta is None or theta.shape != tuple(like.shape) or "history" not in tensors:
            raise PcpinnError(f"{self.path} belongs to another network", "do not mix the files of different runs")
        state = {
            k.removeprefix("state."): torch.from_numpy(v.copy()) for k, v in tensors.items() if k.startswith("state.")
        }
        try:
            return Snapshot(
                iteration=int(metadata["iteration"]),
                seconds=float(metadata["seconds"]),
                theta=torch.from_numpy(theta.copy()).to(like),
                state=state,
                history=History.from_array(tensors["history"]),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise PcpinnError(f"{self.path} is damaged: {error}", "start the solve again") from error
