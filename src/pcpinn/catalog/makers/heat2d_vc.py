"""heat2d-vc: elements aligned with the pixels of the coefficient, on which it is constant.

The finest level has a million degrees of freedom and takes 5 GiB of memory.
"""

from __future__ import annotations

import numpy as np

from ..evaluation import grid_points
from ..random_field import SIZE, two_phases
from .maker import MAKERS, Level, Maker
from .radau import radau
from .tensor_elements import Line, diffusion

_GRID = np.linspace(0, 1, 51)
_TIMES = np.linspace(0, 5, 51)
_CHOICES = ((1, 1, 1), (2, 1, 2), (2, 2, 4))  # degree, cells per pixel, time steps per 0.1


def points() -> np.ndarray:
    """51 x 51 places, 51 times."""
    return grid_points(_GRID, _GRID, _TIMES)


def values(level: int) -> np.ndarray:
    """u at the points."""
    degree, parts, steps = _CHOICES[level]
    pixels = np.concatenate([[0.0], (np.arange(1, SIZE) - 0.5) / (SIZE - 1), [1.0]])
    ends = np.interp(np.arange(SIZE * parts + 1) / parts, np.arange(SIZE + 1), pixels)
    a = np.kron(two_phases(1.0, 2.0).T, np.ones((parts, parts)))  # the table has y first
    return solve_heat(Line(ends, degree), a, _GRID, _TIMES, steps).reshape(-1, 1)


def solve_heat(line: Line, a: np.ndarray, grid: np.ndarray, times: np.ndarray, steps: int) -> np.ndarray:
    """u (len(grid)^2, len(times)) for a (cells in x, cells in y), with `steps` time steps between two times."""
    M, K = diffusion(line, line, a)
    inner = np.zeros((line.size, line.size), dtype=bool)
    inner[1:-1, 1:-1] = True
    free = np.flatnonzero(inner)
    M, K = M[free][:, free], K[free][:, free]
    in_space = line.load(lambda x: 200 * np.sin(np.pi * x)), line.load(lambda y: np.sin(5 * np.pi * y))
    f = np.outer(*in_space).ravel()[free]
    at_grid = line.evaluation(grid)
    result = np.zeros((len(grid), len(grid), len(times)))
    u_all = np.zeros(line.size**2)
    fine = np.interp(np.arange((len(times) - 1) * steps + 1) / steps, np.arange(len(times)), times)
    march = radau(M, K, lambda t: f * np.sin(np.pi * t), np.zeros(len(free)), fine)
    for k, u in enumerate(march, start=1):
        if k % steps == 0:
            u_all[free] = u
            result[:, :, k // steps] = at_grid @ (at_grid @ u_all.reshape(line.size, line.size).T).T
    return result.reshape(-1, len(times))


MAKER = Maker(
    name="heat2d-vc",
    method="finite elements on rectangles aligned with the coefficient's pixels, Radau IIA of order 5 in time",
    levels=tuple(
        Level(f"Q{degree}, {SIZE * parts}^2 cells, time step {0.1 / steps:g}", seconds)
        for (degree, parts, steps), seconds in zip(_CHOICES, (3.0, 20.0, 250.0), strict=True)
    ),
    points=points,
    values=values,
)
MAKERS.register(MAKER)
