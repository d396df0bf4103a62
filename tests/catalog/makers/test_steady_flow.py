"""Stationary flow: the formulas of Poiseuille and Kovasznay."""

import numpy as np

from pcpinn.catalog.makers.steady_flow import steady_flow
from pcpinn.catalog.makers.taylor_hood import TaylorHood


def held_walls(space, walls):
    wall = np.flatnonzero(walls(*space.velocity.places.T))
    return np.concatenate([wall, space.velocity.size + wall])


def test_poiseuille_leaves_the_outlet_free():
    space = TaylorHood(np.array([0.0, 0.5, 2.0]), np.array([0.0, 0.4, 1.0]), 2)
    held = held_walls(space, lambda x, y: (x == 0) | (y == 0) | (y == 1))
    y = space.velocity.places[:, 1]
    exact = np.concatenate([4 * y * (1 - y), 0 * y, 0.08 * (2 - space.pressure.places[:, 0])])
    z = steady_flow(space, 0.01, held, exact[held])
    np.testing.assert_allclose(z, exact, atol=1e-12)


def kovasznay(x, y):
    rate = 20 - np.sqrt(400 + 4 * np.pi**2)  # Reynolds number 40
    e = np.exp(rate * x)
    u1, u2 = 1 - e * np.cos(2 * np.pi * y), rate / (2 * np.pi) * e * np.sin(2 * np.pi * y)
    return u1, u2, -(e**2) / 2


def error(degree):
    space = TaylorHood(np.linspace(-0.5, 1, 5), np.linspace(-0.5, 1.5, 6), degree)
    walls = held_walls(space, lambda x, y: (x == -0.5) | (x == 1) | (y == -0.5) | (y == 1.5))
    u1, u2, _ = kovasznay(*space.velocity.places.T)
    exact = np.concatenate([u1, u2, kovasznay(*space.pressure.places.T)[2]])
    held = np.append(walls, 2 * space.velocity.size)
    return np.abs(steady_flow(space, 1 / 40, held, exact[held]) - exact).max()


def test_kovasznay_with_growing_degree():
    errors = [error(degree) for degree in (2, 4, 6)]
    assert errors[1] < errors[0] / 15
    assert errors[2] < errors[1] / 15
    assert errors[2] < 5e-4
