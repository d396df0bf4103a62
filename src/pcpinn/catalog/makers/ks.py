"""ks: Fourier series in space, free of aliasing, and exponential time steps of order four.

The solution is chaotic: by t = 1 the worst perturbation (waves 8 to 11) has grown 1.5 million times in L2, so
rounding alone moves the solution by 1e-9, and more time steps than here gain nothing.
"""

from __future__ import annotations

import numpy as np
import scipy.fft

from ..evaluation import grid_points
from .exponential import march
from .maker import MAKERS, Level, Maker

_GRID = 2 * np.pi * np.arange(512) / 512
_TIMES = np.linspace(0, 1, 251)
_CHOICES = ((192, 8), (256, 16), (384, 32), (512, 64), (512, 128))  # points, time steps per 0.004
_CONVECTION, _GROWTH, _DAMPING = 100 / 16, 100 / 16**2, 100 / 16**4


def points() -> np.ndarray:
    """512 places, 251 times."""
    return grid_points(_GRID, _TIMES)


def values(level: int) -> np.ndarray:
    """u at the points."""
    size, steps = _CHOICES[level]
    x = 2 * np.pi * np.arange(size) / size
    return solve(np.cos(x) * (1 + np.sin(x)), _TIMES, steps).reshape(-1, 1)


def solve(u: np.ndarray, times: np.ndarray, steps: int) -> np.ndarray:
    """u (512, len(times)) from its values on a grid of the circle, with `steps` time steps between two times."""
    size = len(u)
    k = np.arange(size // 2 + 1)
    kept = k < size / 3  # products of two kept waves do not come back as a third
    slope = np.where(kept, -0.5j * _CONVECTION * k, 0.0)
    linear = np.where(kept, _GROWTH * k**2 - _DAMPING * k**4.0, 0.0)

    def nonlinear(v: np.ndarray, t: float) -> np.ndarray:
        product: np.ndarray = slope * scipy.fft.rfft(scipy.fft.irfft(v, size) ** 2)
        return product

    scale = len(_GRID) / size
    start = np.where(kept, scipy.fft.rfft(u), 0.0)
    return np.stack(
        [scipy.fft.irfft(scale * v, len(_GRID)) for v in march(linear, nonlinear, start, times, steps)], axis=1
    )


MAKER = Maker(
    name="ks",
    method="dealiased Fourier series, ETDRK4 in time",
    levels=tuple(
        Level(f"{size} points, {250 * steps} time steps", seconds)
        for (size, steps), seconds in zip(_CHOICES, (0.2, 0.3, 0.6, 1.2, 2.5), strict=True)
    ),
    points=points,
    values=values,
    check_level=3,
)
MAKERS.register(MAKER)
