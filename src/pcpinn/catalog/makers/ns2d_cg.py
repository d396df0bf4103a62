"""ns2d-cg: cells shrink towards the step's corner, where the pressure is infinite, and towards the ends of the outlet."""

from __future__ import annotations

import numpy as np

from ..evaluation import grid_points
from .maker import MAKERS, Level, Maker
from .steady_flow import steady_flow
from .taylor_hood import TaylorHood, graded

_VISCOSITY = 0.01
_CHOICES = ((3, 4, 4, 1), (4, 4, 6, 1), (5, 4, 7, 2))  # degree, cells per unit, cells more: at the corner, elsewhere
_CORNER = (2.0, 1.0)


def points() -> np.ndarray:
    """A grid of spacing 0.05 over the domain without the step's corner."""
    x = grid_points(np.linspace(0, 4, 81), np.linspace(0, 2, 41))
    step = (x[:, 0] < _CORNER[0] - 1e-9) & (x[:, 1] > _CORNER[1] + 1e-9)
    return x[~step & (np.hypot(*(x - _CORNER).T) > 0.02)]


def values(level: int) -> np.ndarray:
    """u1, u2 and p at the points."""
    space, z = solve(*_CHOICES[level])
    return space.evaluate(z, points())


def solve(degree: int, cells: int, corner: int, more: int) -> tuple[TaylorHood, np.ndarray]:
    """The space and all degrees of freedom; the outlet is the side where nothing is held."""
    x_ends = np.concatenate([graded(0, 2, 2 * cells, more, corner), graded(2, 4, 2 * cells, corner, more)[1:]])
    y_ends = np.concatenate([graded(0, 1, cells, more, corner), graded(1, 2, cells, corner, more)[1:]])
    inside = ~np.logical_and.outer(x_ends[:-1] < _CORNER[0], y_ends[:-1] >= _CORNER[1])
    space = TaylorHood(x_ends, y_ends, degree, inside)
    x, y = space.velocity.places.T
    step = ((x <= _CORNER[0]) & (y == _CORNER[1])) | ((x == _CORNER[0]) & (y >= _CORNER[1]))
    wall = np.flatnonzero((x == 0) | (y == 0) | (y == 2) | step)
    speed = np.where(x == 0, 4 * y * (1 - y), 0.0)[wall]
    held = np.concatenate([wall, space.velocity.size + wall])
    return space, steady_flow(space, _VISCOSITY, held, np.concatenate([speed, 0 * speed]))


MAKER = Maker(
    name="ns2d-cg",
    method="Taylor-Hood elements on rectangles graded towards the corners, Newton's method",
    levels=tuple(
        Level(f"Q{degree}/Q{degree - 1}, {cells} cells per unit, {corner} more towards the step's corner", seconds)
        for (degree, cells, corner, _), seconds in zip(_CHOICES, (3.0, 15.0, 90.0), strict=True)
    ),
    points=points,
    values=values,
    components=(0, 1, 2),
)
MAKERS.register(MAKER)
