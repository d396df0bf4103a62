"""The solver behind the reference of heat2d-vc, where there is a formula; the shipped file at a cheap level."""

import numpy as np
import pytest

from pcpinn.catalog.makers.heat2d_vc import solve_heat
from pcpinn.catalog.makers.maker import distance
from pcpinn.catalog.makers.tensor_elements import Line

GRID, TIMES = np.linspace(0, 1, 12), np.linspace(0, 1, 6)


def formula(a):
    """u = T(t) sin(pi x) sin(5 pi y) with T' + 26 a pi^2 T = 200 sin(pi t)."""
    rate, w = 26 * a * np.pi**2, np.pi
    T = 200 * (rate * np.sin(w * TIMES) - w * np.cos(w * TIMES) + w * np.exp(-rate * TIMES)) / (rate**2 + w**2)
    x, y = np.sin(np.pi * GRID), np.sin(5 * np.pi * GRID)
    return np.outer(x, y).reshape(-1, 1) * T


def error(cells, degree, steps, a=1.5):
    line = Line(np.linspace(0, 1, cells + 1), degree)
    return distance(solve_heat(line, np.full((cells, cells), a), GRID, TIMES, steps), formula(a))


@pytest.mark.parametrize("degree", [1, 2])
def test_converges_to_the_formula(degree):
    coarse, fine = error(12, degree, 8), error(24, degree, 8)
    assert coarse > 0.8 * 2 ** (degree + 1) * fine
    assert fine < {1: 5e-2, 2: 2e-3}[degree]


def test_x_and_y_are_not_exchanged():
    """Layers along y: with a different average than layers along x."""
    line = Line(np.linspace(0, 1, 21), 2)
    a = np.ones((20, 20))
    a[:, 10:] = 20.0  # stiff for y > 1/2
    u = np.abs(solve_heat(line, a, GRID, TIMES, 2)[:, 2].reshape(12, 12))
    assert u[:, :5].max() > 5 * u[:, 8:].max()
