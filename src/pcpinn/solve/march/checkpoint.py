"""Checkpoints of a march: the windows that are done."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ...errors import PcpinnError
from ...files import read_tensors, write_tensors
from ...network.marched import pack_windows, unpack_windows
from ...network.mlp import MLP
from .window import WindowReport

FILE = "march.safetensors"


class MarchCheckpoint:
    """Windows that are done, written at most every `interval` seconds; each file replaces the last atomically."""

    def __init__(self, folder: Path, interval: float) -> None:
        self.path, self.interval = Path(folder) / FILE, interval
        self._last = time.monotonic()

    def due(self) -> bool:
        """Whether it is time for another."""
        return time.monotonic() - self._last >= self.interval

    def write(self, thetas: list[Tensor], reports: list[WindowReport], network: MLP) -> None:
        """Replace the checkpoint."""
        table = np.array([[r.final, len(r.residuals), r.iterations, r.rebuilt, r.damping] for r in reports]).reshape(
            -1, 5
        )
        tensors = pack_windows(torch.stack(thetas).cpu().numpy(), network.head_size)
        metadata = {"scale": float(network.output_scale), "reasons": [r.reason for r in reports]}
        write_tensors(self.path, {**tensors, "reports": table}, metadata)
        self._last = time.monotonic()

    def write_whole(self, thetas: list[Tensor], reports: list[WindowReport], network: MLP, every: int) -> None:
        """The same, up to the last window before which P was built anew: from there a resumed march is the same one."""
        done = len(reports) // every * every
        self.write(thetas[: done + 1], reports[:done], network)

    def read(self, like: Tensor, windows: int) -> tuple[list[Tensor], list[WindowReport], float]:
        """Weights and reports of the windows that are done; nothing if there is no checkpoint."""
        if not self.path.exists():
            return [], [], 1.0
        tensors, metadata = read_tensors(self.path)
        try:
            thetas = unpack_windows(tensors)
            table, reasons = tensors["reports"], metadata["reasons"]
            fits = thetas.shape[1] == len(like) and len(thetas) == len(table) + 1 == len(reasons) + 1 <= windows + 1
            if not fits or not np.isfinite(thetas).all():
                raise ValueError("it belongs to another march")
            reports = [
                WindowReport(
                    [float(r[0])] * max(1, int(r[1])), int(r[2]), int(r[3]), str(reason), float(r[0]), float(r[4])
                )
                for r, reason in zip(table, reasons, strict=True)
            ]
            return [torch.from_numpy(row.copy()).to(like) for row in thetas], reports, float(metadata["scale"])
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise PcpinnError(f"{self.path} is damaged: {error}", "start the solve again") from error

    def remove(self) -> None:
        """The march is finished; network.safetensors holds it all."""
        self.path.unlink(missing_ok=True)
