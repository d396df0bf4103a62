"""burgers2d-c: Fourier series on the unit cell and exponential time steps of order four.

Fronts a few thousandths wide stand from t = 0.05 on and widen slowly, so the later part is computed with fewer waves.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import scipy.fft

from ..burgers2d_start import burgers2d_start
from ..evaluation import grid_points
from .exponential import Etdrk4
from .maker import MAKERS, Level, Maker

_GRID = np.arange(64) / 64
_TIMES = np.linspace(0, 1, 11)
_VISCOSITY = 0.001
_CHOICES = ((128, 128), (256, 192), (512, 384), (768, 576), (1024, 768))  # points per axis, first and later
_EARLY = 5  # times that belong to the first part, up to t = 0.4
_COURANT = 2.2  # largest wave number times speed times time step; Runge-Kutta's bound is 2.8
# Largest wave number over points per axis. 1/3 would remove all aliasing, but wastes points: 256^2 of them err by 1.1e-2 with
# 1/3, 7.2e-3 with 0.4, 6.1e-3 with 0.475.
_KEPT = 4 / 9


def points() -> np.ndarray:
    """64 x 64 places, 11 times."""
    return grid_points(_GRID, _GRID, _TIMES)


def values(level: int) -> np.ndarray:
    """Both velocities at the points."""
    first, later = _CHOICES[level]
    x = np.arange(first) / first
    early = solve(burgers2d_start().on_grid(x, x), _VISCOSITY, _TIMES[:_EARLY])
    late = solve(coarsen(early[..., -1], later), _VISCOSITY, _TIMES[_EARLY - 1 :])
    parts = [u[:, :: u.shape[1] // len(_GRID), :: u.shape[1] // len(_GRID)] for u in (early, late[..., 1:])]
    return np.concatenate(parts, axis=-1).transpose(1, 2, 3, 0).reshape(-1, 2)


def solve(u: np.ndarray, viscosity: float, times: np.ndarray) -> np.ndarray:
    """u (2, n, n, len(times)) from its values (2, n, n) on a grid of the unit cell.

    (u . grad) u is taken as grad |u|^2 / 2 plus the vorticity times u turned by a right angle: six transforms instead of eight.
    """
    flow = _Flow(u.shape[1])
    v, result = flow.transform(u), [u]
    linear = -viscosity * (abs(flow.kx) ** 2 + abs(flow.ky) ** 2)
    for start, end in pairwise(times):
        speed = np.abs(result[-1]).sum(axis=0).max()  # both components obey a maximum principle
        steps = math.ceil((end - start) * speed * flow.largest / _COURANT)
        step = Etdrk4(linear, flow.acceleration, (end - start) / steps)
        for _ in range(steps):
            v = step(v, start)
        result.append(flow.inverse(v))
    return np.stack(result, axis=-1)


def coarsen(u: np.ndarray, size: int) -> np.ndarray:
    """(2, n, n) -> (2, size, size): the waves that the smaller grid keeps."""
    fine, coarse = _Flow(u.shape[1]), _Flow(size)
    v = fine.transform(u)[..., : coarse.columns]
    kept = np.concatenate(
        [
            v[:, : coarse.columns],
            np.zeros((2, size - 2 * coarse.columns + 1, coarse.columns)),
            v[:, 1 - coarse.columns :],
        ],
        axis=1,
    )
    return coarse.inverse(kept) * (size / u.shape[1]) ** 2


class _Flow:
    """Series of the waves that a grid keeps, and what the equation does to them."""

    def __init__(self, size: int) -> None:
        self._size, self.columns = size, math.floor(_KEPT * size) + 1
        k = scipy.fft.fftfreq(size, 1 / size)[:, None]
        self._kept = np.abs(k) < self.columns
        self.kx = 2j * np.pi * k * self._kept
        self.ky = 2j * np.pi * np.arange(self.columns)
        self.largest = 2 * np.pi * (self.columns - 1)

    def transform(self, u: np.ndarray) -> np.ndarray:
        """(..., n, n) -> (..., n, columns)."""
        rows = scipy.fft.rfft(u, axis=-1)[..., : self.columns]
        return scipy.fft.fft(rows, axis=-2, overwrite_x=True) * self._kept

    def inverse(self, v: np.ndarray) -> np.ndarray:
        """(..., n, columns) -> (..., n, n)."""
        result: np.ndarray = scipy.fft.irfft(scipy.fft.ifft(v, axis=-2), n=self._size, axis=-1)
        return result

    def acceleration(self, v: np.ndarray, t: float) -> np.ndarray:
        """-(u . grad) u."""
        u1, u2 = self.inverse(v)
        vorticity = self.inverse(self.kx * v[1] - self.ky * v[0])
        energy = self.transform((u1 * u1 + u2 * u2) / 2)
        return np.stack(
            [self.transform(vorticity * u2) - self.kx * energy, -self.transform(vorticity * u1) - self.ky * energy]
        )


MAKER = Maker(
    name="burgers2d-c",
    method="Fourier series on the unit cell, ETDRK4 in time",
    levels=tuple(
        Level(f"{first}^2 points, {later}^2 after t = {_TIMES[_EARLY - 1]:g}", seconds)
        for (first, later), seconds in zip(_CHOICES, (1.0, 7.0, 65.0, 240.0, 600.0), strict=True)
    ),
    points=points,
    values=values,
    components=(0, 1),
)
MAKERS.register(MAKER)
