"""ns2d-c: the lid's speed ends at the corners with a slope, so the pressure there has a logarithm: cells shrink towards them."""

from __future__ import annotations

import numpy as np

from ..evaluation import grid_points
from .maker import MAKERS, Level, Maker
from .steady_flow import steady_flow
from .taylor_hood import TaylorHood, graded

_VISCOSITY = 0.01
_CHOICES = ((3, 8, 3), (4, 12, 4), (5, 12, 7), (6, 12, 9))  # degree, cells, cells more towards each end


def points() -> np.ndarray:
    """51 x 51 places without the two upper corners, where the pressure is infinite."""
    axis = np.linspace(0, 1, 51)
    x = grid_points(axis, axis)
    return x[~((x[:, 1] == 1) & ((x[:, 0] == 0) | (x[:, 0] == 1)))]


def values(level: int) -> np.ndarray:
    """u1, u2 and p at the points."""
    space, z = solve(*_CHOICES[level])
    return space.evaluate(z, points())


def solve(degree: int, cells: int, more: int) -> tuple[TaylorHood, np.ndarray]:
    """The space and all degrees of freedom; the pressure is zero at the origin."""
    space = TaylorHood(graded(0, 1, cells, more, more), graded(0, 1, cells, 1, more), degree)
    x, y = space.velocity.places.T
    wall = np.flatnonzero((x == 0) | (x == 1) | (y == 0) | (y == 1))
    speed = np.where(y == 1, 4 * x * (1 - x), 0.0)[wall]
    n = space.velocity.size
    # held first at a large cell: the equation that this leaves out gathers the rounding errors of all others
    middle = int(np.argmin(np.abs(space.pressure.places - 0.5).sum(axis=1)))
    held = np.concatenate([wall, n + wall, [2 * n + middle]])
    z = steady_flow(space, _VISCOSITY, held, np.concatenate([speed, 0 * speed, [0.0]]))
    z[2 * n :] -= z[2 * n]  # the pressure's first node is the origin
    return space, z


MAKER = Maker(
    name="ns2d-c",
    method="Taylor-Hood elements on rectangles graded towards the corners, Newton's method",
    levels=tuple(
        Level(f"Q{degree}/Q{degree - 1}, {cells + 2 * more} x {cells + more + 1} cells", seconds)
        for (degree, cells, more), seconds in zip(_CHOICES, (1.0, 5.0, 25.0, 90.0), strict=True)
    ),
    points=points,
    values=values,
    components=(0, 1, 2),
)
MAKERS.register(MAKER)
