"""Checkpoints of a march: the windows that are done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ...checkpoint import FILE, Checkpoint
from ...clock import Clock
from ...network.dense import DenseNetwork
from ...network.marched import pack_windows, unpack_windows
from ...train import History
from .window import WindowReport


@dataclass(frozen=True)
class Done:
    """What a checkpoint of a march holds.

    Attributes:
        thetas: weights that fit the initial values, then those of each window that is done, (p,) each.
        reports, history: of these windows.
        scale: unit of the network's outputs.
        seconds: of training, windows that were not finished included; elapsed: of the whole run.
    """

    thetas: list[Tensor]
    reports: list[WindowReport]
    history: History
    scale: float
    seconds: float
    elapsed: float


class MarchCheckpoint:
    """Writes the windows that are done into a run folder.

    Args:
        folder: of the run.
        interval: seconds between two checkpoints.
        clock: of the whole run; training: of its training.
    """

    def __init__(self, folder: Path, interval: float, clock: Clock, training: Clock) -> None:
        self.file = Checkpoint(Path(folder) / FILE, "march", interval)
        self._clock, self._training = clock, training

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
    ) -> None:
        """Replace the checkpoint, by the windows up to the last before which P was rebuilt, once in `every` of them.

        From there a march that is resumed is the same one.
        """
        done = len(reports) // every * every
        table = [[r.final, len(r.residuals), r.iterations, r.rebuilt, r.damping] for r in reports[:done]]
        tensors = pack_windows(torch.stack(list(thetas[: done + 1])).cpu().numpy(), network.head_size)
        tensors |= {"reports": np.array(table).reshape(-1, 5), "history": history.to_array()[:done]}
        facts = {
            "scale": float(network.output_scale) if not network.output_scale.ndim else 1.0,
            "reasons": [r.reason for r in reports[:done]],
        }
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
            )
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise self.file.damaged(error) from error

    def remove(self) -> None:
        """The march is finished; network.safetensors holds it all."""
        self.file.remove()
