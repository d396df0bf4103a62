"""ns2d-lt: an inlet that pushes and pulls, and an outlet that stays stable when the flow comes in through it.

Where it does, nu du/dn - p n = min(u . n, 0) u / 2 (directional do-nothing): the energy that convection carries in is
taken away again. The start is a jump of the inlet's acceleration, so the pressure jumps too: it is zero at t = 0, as the
initial condition says, and at once that of the acceleration.

The pressure is ten times as large as the velocity, and has nearly all of the last difference (94 percent of its square,
most of it at the two ends of the outlet, where the pressure is continuous but its slope is not bounded).
"""

from __future__ import annotations

import numpy as np

from ..evaluation import grid_points
from ..reference_file import space_time_points
from .maker import MAKERS, Level, Maker
from .taylor_hood import TaylorHood, graded
from .tensor_elements import gauss
from .unsteady_flow import UnsteadyFlow

_VISCOSITY = 0.01
_TIMES = np.linspace(0, 5, 51)
# degree, cells per unit, cells more at the walls, steps per 0.1
_CHOICES = ((2, 4, 1, 10), (3, 6, 1, 20), (4, 8, 1, 20), (4, 10, 2, 40))
_FREQUENCIES = np.pi * np.array([1.0, 3.0, 5.0])


def places() -> np.ndarray:
    """A grid of spacing 0.1."""
    return grid_points(np.linspace(0, 2, 21), np.linspace(0, 1, 11))


def points() -> np.ndarray:
    """231 places, 51 times."""
    return space_time_points(places(), _TIMES)


def values(level: int) -> np.ndarray:
    """u1, u2 and p at the points."""
    degree, cells, more, steps = _CHOICES[level]
    return solve(degree, cells, more, steps, places(), len(_TIMES) - 1).reshape(-1, 3)


def solve(degree: int, cells: int, more: int, steps: int, places: np.ndarray, count: int) -> np.ndarray:
    """(places, 1 + count, 3): u1, u2 and p at t = 0, 0.1, ..., count / 10."""
    space = TaylorHood(graded(0, 2, 2 * cells, 1, 1), graded(0, 1, cells, more, more), degree)
    n = space.velocity.size
    x, y = space.velocity.places.T
    wall = np.flatnonzero((x == 0) | (y == 0) | (y == 1))
    profile = np.concatenate([np.where(x == 0, np.sin(np.pi * y), 0.0)[wall], np.zeros(len(wall))])
    force = np.zeros(space.size)
    force[n : 2 * n] = space.load(lambda x, y: -np.sin(np.pi * x) * np.sin(np.pi * y))
    outlet = Outlet(space)
    flow = UnsteadyFlow(
        space,
        _VISCOSITY,
        np.concatenate([wall, n + wall]),
        lambda t: profile * np.sin(_FREQUENCIES * t).sum(),
        lambda t: profile * (_FREQUENCIES * np.cos(_FREQUENCIES * t)).sum(),
        lambda t, z: np.sin(np.pi * t) * force + outlet(z),
    )
    result = np.zeros((len(places), count + 1, 3))
    march = flow.march(np.zeros(space.size), 0.0, 0.1 / steps, count * steps)
    for k, z in enumerate(march, start=1):
        if k % steps == 0:
            result[:, k // steps] = space.evaluate(flow.with_pressure(0.1 * k / steps, z), places)
    return result


class Outlet:
    """What the test functions see of min(u . n, 0) u / 2 on the right side."""

    def __init__(self, space: TaylorHood) -> None:
        line = space.velocity.y
        x, w = gauss(line.degree + 4)
        h = np.diff(line.ends)
        at = (line.ends[:-1, None] + h[:, None] * x).ravel()
        self._space = space
        self._values = space.velocity.evaluation(np.stack([np.full(len(at), space.velocity.x.ends[-1]), at], axis=1))
        self._weights = np.outer(h, w).ravel()

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """(all degrees of freedom,)."""
        n = self._space.velocity.size
        u1, u2 = self._values @ z[:n], self._values @ z[n : 2 * n]
        weight = 0.5 * np.minimum(u1, 0.0) * self._weights
        result = np.zeros(len(z))
        result[:n] = self._values.T @ (weight * u1)
        result[n : 2 * n] = self._values.T @ (weight * u2)
        return result


MAKER = Maker(
    name="ns2d-lt",
    method="Taylor-Hood elements on rectangles, IMEX Runge-Kutta of order 3 in time, directional do-nothing outlet",
    levels=tuple(
        Level(
            f"Q{degree}/Q{degree - 1}, {cells} cells per unit and {more} more at the walls, time step {0.1 / steps:g}",
            seconds,
        )
        for (degree, cells, more, steps), seconds in zip(_CHOICES, (2.0, 10.0, 25.0, 105.0), strict=True)
    ),
    points=points,
    values=values,
    components=(0, 1, 2),
)
MAKERS.register(MAKER)
