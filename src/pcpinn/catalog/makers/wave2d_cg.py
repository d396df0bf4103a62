"""wave2d-cg: elements aligned with the cells in which the speed is bilinear.

The initial value has a slope at the sides, which reflect: from t = 0 on a kink runs through the domain. It limits the order
of convergence, with a constant coefficient to little more than one. So the last two levels differ by two degrees, which
makes the stated error a cautious one (Q3 is 1.6e-4 from Q4).
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from ..evaluation import grid_points
from ..random_field import SIZE, two_phases
from .maker import MAKERS, Level, Maker
from .spectral_wave import LobattoLine, wave

_GRID = np.linspace(-1, 1, 51)
_TIMES = np.linspace(0, 5, 51)
_DEGREES = (1, 2, 4)


def points() -> np.ndarray:
    """51 x 51 places, 51 times."""
    return grid_points(_GRID, _GRID, _TIMES)


def values(level: int) -> np.ndarray:
    """u at the points."""
    line = LobattoLine(-1.0, 1.0, SIZE - 1, _DEGREES[level])
    x = line.nodes
    start = np.exp(-((x[:, None] + 0.5) ** 2 + x**2) / 0.18)
    at_grid = line.evaluation(_GRID)
    march = islice(wave(line, slowness, start, _TIMES[1]), len(_TIMES))
    return np.stack([at_grid @ (at_grid @ u.T).T for u in march], axis=-1).reshape(-1, 1)


def slowness(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """1 / c (len(x), len(y)): c is 12 or 1 at the nodes of the field's grid, and bilinear between them."""
    table = two_phases(1.0, 12.0)
    i, X = _in_cells(x)
    j, Y = _in_cells(y)
    along_y = table[j] * (1 - Y)[:, None] + table[j + 1] * Y[:, None]  # the table has y first
    c = along_y[:, i] * (1 - X) + along_y[:, i + 1] * X
    return 1 / c.T


def _in_cells(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The field's cell of each x in [-1, 1], and the position in it."""
    at = (x + 1) / 2 * (SIZE - 1)
    cell = np.clip(np.floor(at).astype(int), 0, SIZE - 2)
    return cell, at - cell


MAKER = Maker(
    name="wave2d-cg",
    method="spectral elements aligned with the coefficient's cells, cosine of the operator by Chebyshev series in time",
    levels=tuple(
        Level(f"Q{degree}, {SIZE - 1}^2 cells", seconds)
        for degree, seconds in zip(_DEGREES, (4.0, 45.0, 310.0), strict=True)
    ),
    points=points,
    values=values,
)
MAKERS.register(MAKER)
