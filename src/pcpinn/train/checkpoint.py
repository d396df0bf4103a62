"""Checkpoints: everything that a training needs to go on exactly where it was."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from ..errors import PcpinnError
from ..files import read_tensors, write_tensors
from .history import History
from .optimiser import State

FILE = "checkpoint.safetensors"


@dataclass
class Snapshot:
    """A moment in a training; `context` and `facts` are what surrounds it, such as Newton's iteration."""

    iteration: int
    seconds: float
    theta: torch.Tensor
    state: State
    history: History
    context: dict[str, torch.Tensor] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)


class Checkpoints:
    """Writes snapshots into a run folder, at most one every `interval` seconds; each replaces the last atomically.

    Attributes:
        context, facts: go into every snapshot that has none of its own.
    """

    def __init__(self, folder: Path, interval: float = 10.0) -> None:
        self.path = Path(folder) / FILE
        self.interval = interval
        self.context: dict[str, torch.Tensor] = {}
        self.facts: dict[str, Any] = {}
        self._last = time.monotonic()

    def due(self) -> bool:
        """Whether it is time for another."""
        return time.monotonic() - self._last >= self.interval

    def write(self, snapshot: Snapshot) -> None:
        """Replace the checkpoint."""
        tensors = {"theta": snapshot.theta.detach().cpu().numpy(), "history": snapshot.history.to_array()}
        tensors |= {f"state.{key}": value.detach().cpu().numpy() for key, value in snapshot.state.items()}
        context, facts = snapshot.context or self.context, snapshot.facts or self.facts
        tensors |= {f"context.{key}": value.detach().cpu().numpy() for key, value in context.items()}
        metadata = {"iteration": snapshot.iteration, "seconds": snapshot.seconds}
        write_tensors(self.path, tensors, metadata | ({"facts": facts} if facts else {}))
        self._last = time.monotonic()

    def read(self, like: torch.Tensor) -> Snapshot:
        """The last snapshot; its weights must fit the network's, `like`."""
        tensors, metadata = read_tensors(self.path)
        theta = tensors.get("theta")
        if theta is None or theta.shape != tuple(like.shape) or "history" not in tensors:
            raise PcpinnError(f"{self.path} belongs to another network", "do not mix the files of different runs")

        def part(prefix: str) -> dict[str, torch.Tensor]:
            found = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
            return {k: torch.from_numpy(v.copy()) for k, v in found.items()}

        try:
            facts = metadata.get("facts", {})
            if not isinstance(facts, dict):
                raise TypeError("its facts are not named")
            return Snapshot(
                iteration=int(metadata["iteration"]),
                seconds=float(metadata["seconds"]),
                theta=torch.from_numpy(theta.copy()).to(like),
                state=part("state."),
                history=History.from_array(tensors["history"]),
                context=part("context."),
                facts=facts,
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise PcpinnError(f"{self.path} is damaged: {error}", "start the solve again") from error
