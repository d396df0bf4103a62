"""The initial velocity of burgers2d-c: two random sums of 32 waves, scaled and shifted. Periodic on the unit square."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

_SEED = 20220722
_WAVES = 4


@dataclass(frozen=True)
class Start:
    """u_k = 2 w_k / scale + shift_k, w_k = sum over i, j < 4 of sines[k,i,j] sin(2 pi (i x + j y)) + cosines[k,i,j] cos(same)."""

    sines: np.ndarray
    cosines: np.ndarray
    scale: float
    shift: np.ndarray

    def on_grid(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(2, len(x), len(y)) on the product of two axes."""
        result: np.ndarray = 2 / self.scale * _waves(self.sines, self.cosines, x, y) + self.shift[:, None, None]
        return result

    def at(self, x: torch.Tensor) -> torch.Tensor:
        """(2,) at one point x = (x, y, ...); works under `vmap`."""
        i = torch.arange(_WAVES, device=x.device, dtype=x.dtype)
        angle = 2 * torch.pi * (i[:, None] * x[0] + i * x[1])
        sines, cosines, shift = (
            torch.tensor(a, dtype=x.dtype, device=x.device) for a in (self.sines, self.cosines, self.shift)
        )
        return 2 / self.scale * (sines * torch.sin(angle) + cosines * torch.cos(angle)).sum((1, 2)) + shift


@cache
def burgers2d_start() -> Start:
    """From NumPy's legacy generator with the seed of the PINNacle benchmark."""
    rng = np.random.RandomState(_SEED)  # this generator and order of draws define the start
    draws = rng.randn(2, 2, _WAVES, _WAVES)  # A and B of w_1, then those of w_2
    sines, cosines = draws[:, 0], draws[:, 1]
    axis = np.linspace(0, 4, 512)
    scale = float(_waves(sines, cosines, axis, axis).max())
    start = Start(sines, cosines, scale, rng.randn(2))
    for array in (draws, start.shift):
        array.setflags(write=False)
    return start


def _waves(sines: np.ndarray, cosines: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """w (2, len(x), len(y))."""
    i = np.arange(_WAVES)
    phase = np.exp(2j * np.pi * np.outer(i, x)), np.exp(2j * np.pi * np.outer(i, y))
    result: np.ndarray = np.einsum("kij,ia,jb->kab", cosines - 1j * sines, *phase, optimize=True).real
    return result
