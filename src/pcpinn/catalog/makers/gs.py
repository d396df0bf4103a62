"""gs: cosine series in space, which have zero slope at the walls, and exponential time steps of order four."""

from __future__ import annotations

import numpy as np
import scipy.fft

from ..evaluation import grid_points
from .exponential import march
from .maker import MAKERS, Level, Maker

_GRID = np.linspace(-1, 1, 65)
_TIMES = np.linspace(0, 200, 21)
_CHOICES = ((128, 10), (256, 20), (384, 40), (512, 80))  # cells per axis, time steps per 10
_DIFFUSION = np.array([1e-5, 5e-6])
_FEED, _DECAY = 0.04, 0.1


def points() -> np.ndarray:
    """65 x 65 places, 21 times."""
    return grid_points(_GRID, _GRID, _TIMES)


def values(level: int) -> np.ndarray:
    """Both concentrations at the points."""
    cells, steps = _CHOICES[level]
    x = np.linspace(-1, 1, cells + 1)
    return solve(start(x[:, None], x), _TIMES, steps, cells // (len(_GRID) - 1)).transpose(1, 2, 3, 0).reshape(-1, 2)


def start(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """u and v at t = 0."""
    u = 1 - np.exp(-80 * ((x + 0.05) ** 2 + (y + 0.02) ** 2))
    v = np.exp(-80 * ((x - 0.05) ** 2 + (y - 0.02) ** 2))
    return np.stack([u, v])


def solve(w: np.ndarray, times: np.ndarray, steps: int, part: int = 1) -> np.ndarray:
    """(u, v) at every `part`-th node of a grid and at the times, from their values (2, n + 1, n + 1) on it.

    The grid includes the walls x, y = -1 and 1; `steps` time steps between two times.
    """
    k = np.pi / 2 * np.arange(w.shape[1])
    square = k[:, None] ** 2 + k**2
    linear = np.stack([-_DIFFUSION[0] * square - _FEED, -_DIFFUSION[1] * square - _DECAY])

    def nonlinear(c: np.ndarray, t: float) -> np.ndarray:
        u, v = _inverse(c)
        reaction = _transform(u * v * v)
        result = np.stack([-reaction, reaction])
        result[0, 0, 0] += feed
        return result

    feed = _FEED * _transform(np.ones(w.shape[1:]))[0, 0]
    marched = march(linear, nonlinear, _transform(w), times, steps)
    return np.stack([_inverse(c)[:, ::part, ::part] for c in marched], axis=-1)


def _transform(w: np.ndarray) -> np.ndarray:
    result: np.ndarray = scipy.fft.dctn(w, type=1, axes=(-2, -1))
    return result


def _inverse(c: np.ndarray) -> np.ndarray:
    result: np.ndarray = scipy.fft.idctn(c, type=1, axes=(-2, -1))
    return result


MAKER = Maker(
    name="gs",
    method="cosine series, ETDRK4 in time",
    levels=tuple(
        Level(f"{cells}^2 cells, time step {10 / steps:g}", seconds)
        for (cells, steps), seconds in zip(_CHOICES, (0.5, 5.0, 25.0, 85.0), strict=True)
    ),
    points=points,
    values=values,
    check_level=2,
    components=(0, 1),
)
MAKERS.register(MAKER)
