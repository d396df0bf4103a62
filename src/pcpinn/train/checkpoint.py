"""Checkpoints of a training: everything that it needs to go on exactly where it was."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from ..checkpoint import FILE, Checkpoint, Contents
from ..clock import Clock
from .history import History
from .optimiser import State


@dataclass
class Snapshot:
    """A moment in a training.

    Attributes:
        iteration, seconds: done, and what they took.
        theta, state, history: weights, the optimiser's state, losses so far.
        loss: the state of the loss.
        context, facts: what surrounds the training, such as Newton's iteration.
        elapsed: seconds of the whole run, set-up included.
    """

    iteration: int
    seconds: float
    theta: Tensor
    state: State
    history: History
    loss: dict[str, Tensor] = field(default_factory=dict)
    context: dict[str, Tensor] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    elapsed: float = 0.0


class Keeper(Protocol):
    """Keeps snapshots of a training, as often as it thinks fit."""

    def due(self) -> bool:
        """Whether it is time for another."""

    def write(self, snapshot: Snapshot) -> None:
        """Keep it in the place of the last."""

    def last_words(self, snapshot: Snapshot) -> None:
        """Keep it on disk at once: the process is about to end."""


class Checkpoints:
    """Writes snapshots into a run folder, at most one every `interval` seconds; each replaces the last atomically.

    Args:
        folder: of the run.
        interval: seconds between two snapshots.
        clock: of the whole run.

    Attributes:
        context, facts: go into every snapshot that has none of its own.
    """

    def __init__(self, folder: Path, interval: float = 10.0, clock: Clock | None = None) -> None:
        self.file = Checkpoint(Path(folder) / FILE, "training", interval)
        self.context: dict[str, Tensor] = {}
        self.facts: dict[str, Any] = {}
        self._clock = clock

    def exists(self) -> bool:
        """Whether there is one."""
        return self.file.exists()

    def due(self) -> bool:
        """Whether it is time for another."""
        return self.file.due()

    def write(self, snapshot: Snapshot) -> None:
        """Replace the checkpoint."""
        snapshot = replace(
            snapshot,
            context=snapshot.context or self.context,
            facts=snapshot.facts or self.facts,
            elapsed=snapshot.seconds if self._clock is None else self._clock.seconds,
        )
        self.file.write(*pack(snapshot))

    def last_words(self, snapshot: Snapshot) -> None:
        """Replace the checkpoint, the last time."""
        self.write(snapshot)

    def read(self, like: Tensor, state: State | None = None) -> Snapshot:
        """The last snapshot.

        Args:
            like: weights of the network, which it must fit.
            state: of the optimiser that is to go on, as it begins; what it has must be there, of the same types.

        Raises:
            PcpinnError: when there is none, or it is damaged or of another network or optimiser.
        """
        found = self.file.read({"theta": tuple(like.shape), "history": (None, 3)})
        try:
            snapshot = unpack(found, like)
            for key, own in (state or {}).items():
                if key not in snapshot.state or snapshot.state[key].dtype != own.dtype:
                    raise ValueError(f"{key} of the optimiser is missing or of another type")
            return snapshot
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise self.file.damaged(error) from error


def pack(snapshot: Snapshot) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Tensors and plain facts for a checkpoint."""
    groups = {"state": snapshot.state, "loss": snapshot.loss, "context": snapshot.context}
    tensors = {f"{group}.{key}": value for group, of_it in groups.items() for key, value in of_it.items()}
    arrays = {key: value.detach().cpu().numpy() for key, value in {"theta": snapshot.theta, **tensors}.items()}
    history = {"history": snapshot.history.to_array(), "errors": snapshot.history.errors_to_array()}
    numbers = {"iteration": snapshot.iteration, "seconds": snapshot.seconds, "elapsed": snapshot.elapsed}
    return {**arrays, **history}, {**numbers, "around": snapshot.facts}


def unpack(found: Contents, like: Tensor) -> Snapshot:
    """Inverse of `pack`, for weights on the device and in the precision of `like`.

    Raises:
        KeyError, TypeError, ValueError, OverflowError: where something is missing or not what it should be.
    """
    around = found.facts["around"]
    if not isinstance(around, dict):
        raise TypeError("its facts are not named")
    return Snapshot(
        iteration=int(found.facts["iteration"]),
        seconds=float(found.facts["seconds"]),
        theta=_tensor(found.tensors["theta"]).to(like),
        state=_group(found, "state"),
        history=History.from_array(found.tensors["history"], found.tensors.get("errors")),
        loss=_group(found, "loss"),
        context=_group(found, "context"),
        facts=around,
        elapsed=float(found.facts["elapsed"]),
    )


def _group(found: Contents, name: str) -> dict[str, Tensor]:
    prefix = f"{name}."
    return {k.removeprefix(prefix): _tensor(v) for k, v in found.tensors.items() if k.startswith(prefix)}


def _tensor(array: np.ndarray) -> Tensor:
    return torch.from_numpy(array.copy())
