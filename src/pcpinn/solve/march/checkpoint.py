"""Checkpoints of a march: the windows that are done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...checkpoint import FILE, Checkpoint, Contents
from ...clock import Clock
from ...network.dense import DenseNetwork
from ...network.marched import pack_windows, unpack_windows
from ...train import History, Snapshot
from ...train.checkpoint import pack, unpack
from .report import WindowReport

_INSIDE = "inside."  # tensors of a window that is not finished
_COMPARED = "compared."  # tensors of the errors so far


@dataclass(frozen=True)
class Done:
    """What a checkpoint of a march holds.

    Attributes:
        thetas: weights that fit the initial values, then those of each window that is done, (p,) each.
        reports, history: of these windows.
        scale: unit of the network's outputs.
        seconds: of training, windows that were not finished included; elapsed: of the whole run.
        inside: the training of the window that was not finished, if it was kept.
        compared: what errors were measured by then (see errors.py).
    """

    thetas: list[Tensor]
    reports: list[WindowReport]
    history: History
    scale: float
    seconds: float
    elapsed: float
    inside: Snapshot | None = None
    compared: dict[str, np.ndarray] = field(default_factory=dict)


class MarchCheckpoint:
    """Writes the windows that are done into a run folder.

    Args:
        folder: of the run.
        interval: seconds between two checkpoints.
        clock: of the whole run; training: of its training.

    Attributes:
        compared: windows -> arrays of the errors that were measured by then.
    """

    def __init__(self, folder: Path, interval: float, clock: Clock, training: Clock) -> None:
        self.file = Checkpoint(Path(folder) / FILE, "march", interval)
        self._clock, self._training = clock, training
        self.compared: Callable[[int], dict[str, np.ndarray]] = lambda windows: {}

    def due(self) -> bool:
        """Whether it is time for another."""
        return self.file.due()

    def write(
        self,
        thetas: Sequence[Tensor],
        reports: Sequence[WindowReport],
        history: History,
        network: DenseNetwork,
        every: int = 1,
        inside: Snapshot | None = None,
    ) -> None:
        """Replace the checkpoint, by the windows up to the last before which P was rebuilt, once in `every` of them.

        From there a march that is resumed is the same one. `inside` is the training of the window after them.
        """
        done = len(reports) // every * every
        table = [[r.final, len(r.residuals), r.iterations, r.rebuilt, r.damping] for r in reports[:done]]
        tensors = pack_windows(torch.stack(list(thetas[: done + 1])).cpu().numpy(), network.head_size)
        tensors |= {f"{_COMPARED}{key}": value for key, value in self.compared(done).items()}
        tensors |= {"reports": np.array(table).reshape(-1, 5), "history": history.to_array()[:done]}
        facts: dict[str, Any] = {
            "scale": float(network.output_scale) if not network.output_scale.ndim else 1.0,
            "reasons": [r.reason for r in reports[:done]],
        }
        if inside is not None:
            arrays, facts["inside"] = pack(inside)
            tensors |= {f"{_INSIDE}{key}": value for key, value in arrays.items()}
        self.file.write(tensors, {**facts, "seconds": self._training.seconds, "elapsed": self._clock.seconds})

    def read(self, like: Tensor, windows: int) -> Done | None:
        """Windows that are done; None if there is no checkpoint.

        Args:
            like: weights of the network.
            windows: how many there are in all.

        Raises:
            PcpinnError: for a checkpoint that is damaged or of another march.
        """
        if not self.file.exists():
            return None
        found = self.file.read({"reports": (None, 5), "history": (None, 3)})
        tensors, facts = found.tensors, found.facts
        try:
            thetas, table, reasons = unpack_windows(tensors), tensors["reports"], facts["reasons"]
            if thetas.shape[1] != len(like) or not len(table) == len(thetas) - 1 <= windows:
                raise ValueError("it belongs to another march")
            if not np.isfinite(thetas).all() or len(tensors["history"]) != len(table):
                raise ValueError("its windows are not complete")
            reports = [
                WindowReport(
                    [float(r[0])] * max(1, int(r[1])), int(r[2]), int(r[3]), str(reason), float(r[0]), float(r[4])
                )
                for r, reason in zip(table, reasons, strict=True)
            ]
            return Done(
                [torch.from_numpy(row.copy()).to(like) for row in thetas],
                reports,
                History.from_array(tensors["history"]),
                float(facts["scale"]),
                float(facts["seconds"]),
                float(facts["elapsed"]),
                self._inside(tensors, facts, like),
                self._compared(tensors),
            )
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise self.file.damaged(error) from error

    @staticmethod
    def _compared(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        own = {k.removeprefix(_COMPARED): v for k, v in tensors.items() if k.startswith(_COMPARED)}
        if own and (own["known"].ndim != 2 or own["sums"].shape[1:] != (3,)):
            raise ValueError("its errors are misshapen")
        return own

    @staticmethod
    def _inside(tensors: dict[str, np.ndarray], facts: dict[str, Any], like: Tensor) -> Snapshot | None:
        if "inside" not in facts:
            return None
        own = {k.removeprefix(_INSIDE): v for k, v in tensors.items() if k.startswith(_INSIDE)}
        if own["theta"].shape != tuple(like.shape):
            raise ValueError("the window that is not finished is of another network")
        return unpack(Contents(own, facts["inside"]), like)

    def remove(self) -> None:
        """The march is finished; network.safetensors holds it all."""
        self.file.remove()


class InsideWindow:
    """Keeps the training of a window in the checkpoint of its march: a cold start may take longer than all other windows.

    Args:
        write: writes the march so far with a snapshot inside; None where nothing is kept.
        due: whether it is time for that.
        begun: a training to go on with, which the next window takes.

    Attributes:
        last: the last snapshot that was shown, written or not; None between windows.
    """

    def __init__(
        self, write: Callable[[Snapshot], None] | None, due: Callable[[], bool], begun: Snapshot | None = None
    ) -> None:
        self._write, self._due, self._begun = write, due, begun
        self.last: Snapshot | None = None

    def due(self) -> bool:
        """Whether it is time for another."""
        return self._write is not None and self._due()

    def write(self, snapshot: Snapshot) -> None:
        """Keep it, in the file too if that is due: a training shows its end whether or not it is."""
        self.last = snapshot
        if self._write is not None and self._due():
            self._write(snapshot)

    def last_words(self, snapshot: Snapshot) -> None:
        """Keep it in the file, due or not."""
        self.last = snapshot
        if self._write is not None:
            self._write(snapshot)

    @property
    def waits(self) -> bool:
        """Whether there is a training to go on with."""
        return self._begun is not None

    def take(self) -> Snapshot | None:
        """The training to go on with, once."""
        begun, self._begun = self._begun, None
        return begun

    def clear(self) -> None:
        """The window is finished."""
        self.last = None
