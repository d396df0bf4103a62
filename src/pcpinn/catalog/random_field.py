"""A Gaussian random field with a power-law spectrum, the coefficient of several benchmark problems."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch

SIZE = 256
_SEED = 20220722


@cache
def random_field() -> np.ndarray:
    """g (256, 256), of mean 0 and deviation 1; entry [i, j] sits at y = i/255, x = j/255 of the unit square.

    White noise times |k|^-2, from NumPy's legacy generator with the seed of the PINNacle benchmark.
    """
    rng = np.random.RandomState(_SEED)  # this generator and order of draws define the field
    k1, k2 = np.fft.fftshift(np.mgrid[:SIZE, :SIZE] - SIZE // 2, axes=(1, 2))
    amplitude = 1 / (k1**2 + k2**2 + 1e-10)
    amplitude[0, 0] = 0.0
    real = rng.normal(size=(SIZE, SIZE))
    noise = real + 1j * rng.normal(size=(SIZE, SIZE))
    g = np.fft.ifft2(noise * amplitude).real
    g = (g - g.mean()) / g.std()
    g.setflags(write=False)
    return g


def two_phases(below: float, above: float) -> np.ndarray:
    """(256, 256): `above` where g > 0, else `below`."""
    return np.where(random_field() > 0, above, below)


def bilinear(table: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """A (256, 256) table between its entries, at one point of the unit square, x = (x, y, ...); works under `vmap`."""
    place = x[:2].detach() * (SIZE - 1)
    i = place.floor().clamp(0, SIZE - 2)
    a, b = (place - i).clamp(0, 1)
    corner = (i[1:] * SIZE + i[:1]).long()  # (1,): see `nearest`
    flat = table.to(x).flatten()
    low = (1 - a) * flat[corner][0] + a * flat[corner + 1][0]
    high = (1 - a) * flat[corner + SIZE][0] + a * flat[corner + SIZE + 1][0]
    return (1 - b) * low + b * high


def nearest(table: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The entry of a (256, 256) table nearest to one point of the unit square, x = (x, y, ...); works under `vmap`."""
    i = (x[:2].detach() * (SIZE - 1)).round().clamp(0, SIZE - 1).long()
    flat = i[1:] * SIZE + i[:1]  # (1,): an index without axes would be read as a number, which vmap forbids
    return table.to(x).flatten()[flat][0]
