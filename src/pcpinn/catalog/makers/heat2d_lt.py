"""heat2d-lt: sine series in space and exponential time steps of order four.

Start and source are odd about x = 0, 1/4, 1/2, 3/4 and 1, and the equation keeps u so (sin(u^2) is even where u is odd): u
vanishes on these lines, one quarter of the square is the whole problem, and its odd continuation is smooth.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.fft

from ..evaluation import grid_points
from .exponential import march
from .maker import MAKERS, Level, Maker

_GRID = np.linspace(0, 1, 21)
_TIMES = np.linspace(0, 100, 501)
_CHOICES = ((16, 5), (32, 10), (64, 20), (96, 40))  # cells in x of a quarter (four times as many in y), steps per 0.2
_DIFFUSION = 0.001
_QUARTER = 0.25


def points() -> np.ndarray:
    """21 x 21 places, 501 times."""
    return grid_points(_GRID, _GRID, _TIMES)


def values(level: int) -> np.ndarray:
    """u at the points."""
    cells, steps = _CHOICES[level]
    marched = solve((cells, 4 * cells), _TIMES, steps)
    return np.stack([evaluate(c, _GRID, _GRID) for c in marched], axis=-1).reshape(-1, 1)


def solve(cells: tuple[int, int], times: np.ndarray, steps: int, width: float = _QUARTER) -> Iterator[np.ndarray]:
    """Coefficients of the sine series on [0, width] x [0, 1] at the times, with `steps` time steps between two."""
    x, y = (np.arange(1, n) * length / n for n, length in zip(cells, (width, 1.0), strict=True))
    waves = np.pi * np.arange(1, cells[0]) / width, np.pi * np.arange(1, cells[1])
    linear = -_DIFFUSION * (waves[0][:, None] ** 2 + waves[1] ** 2)
    source = 5 * np.outer(np.sin(4 * np.pi * x), np.sin(2 * np.pi * y))
    scale = cells[0] * cells[1]

    def nonlinear(c: np.ndarray, t: float) -> np.ndarray:
        u = scipy.fft.idstn(scale * c, type=1)
        heating: np.ndarray = scipy.fft.dstn(np.sin(u * u) * source, type=1) * ((1 + 2 * np.sin(np.pi * t / 4)) / scale)
        return heating

    start = scipy.fft.dstn(np.outer(np.sin(4 * np.pi * x), np.sin(3 * np.pi * y)), type=1) / scale
    return march(linear, nonlinear, start, times, steps)


def evaluate(c: np.ndarray, x: np.ndarray, y: np.ndarray, width: float = _QUARTER) -> np.ndarray:
    """The series at the product of two axes: (len(x), len(y)); beyond the width it is continued oddly."""
    sines = [
        np.sin(np.pi * np.outer(at / length, np.arange(1, n + 1)))
        for at, length, n in zip((x, y), (width, 1.0), c.shape, strict=True)
    ]
    result: np.ndarray = sines[0] @ c @ sines[1].T
    return result


MAKER = Maker(
    name="heat2d-lt",
    method="sine series on one of four equal parts, ETDRK4 in time",
    levels=tuple(
        Level(f"{cells} x {4 * cells} cells, time step {0.2 / steps:g}", seconds)
        for (cells, steps), seconds in zip(_CHOICES, (1.0, 3.0, 21.0, 100.0), strict=True)
    ),
    points=points,
    values=values,
    check_level=2,
)
MAKERS.register(MAKER)
