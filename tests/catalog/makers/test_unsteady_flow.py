"""Flow in time: Taylor and Green's vortex; a channel that breathes through a free outlet."""

import numpy as np
import pytest

from pcpinn.catalog.makers.taylor_hood import TaylorHood
from pcpinn.catalog.makers.unsteady_flow import UnsteadyFlow


def vortex(space, t):
    """Of viscosity one."""
    x, y = space.velocity.places.T
    X, Y = space.pressure.places.T
    p = -(np.cos(2 * X) + np.cos(2 * Y)) / 4 * np.exp(-4 * t)
    return np.concatenate([np.array([np.cos(x) * np.sin(y), -np.sin(x) * np.cos(y)]).ravel() * np.exp(-2 * t), p])


def vortex_error(steps):
    space = TaylorHood(np.linspace(0, 2, 4), np.linspace(0, 2, 4), 5)
    x, y = space.velocity.places.T
    n = space.velocity.size
    wall = np.flatnonzero((x == 0) | (x == 2) | (y == 0) | (y == 2))
    held = np.concatenate([wall, n + wall, [2 * n]])
    factor = np.append(np.full(2 * len(wall), -2.0), 1.0)
    flow = UnsteadyFlow(
        space,
        1.0,
        held,
        lambda t: vortex(space, t)[held],
        lambda t: factor * vortex(space, t)[held],
        lambda t, z: np.zeros(space.size),
    )
    *_, z = flow.march(vortex(space, 0.0), 0.0, 0.8 / steps, steps)
    error = np.abs(flow.with_pressure(0.8, z) - vortex(space, 0.8))
    return error[: 2 * n].max(), error[2 * n :].max()


def test_converges_in_time():
    """At worst to order two: viscosity one is stiff, and the walls' values change within a step."""
    coarse, fine = vortex_error(8), vortex_error(16)
    assert coarse[0] > 3.9 * fine[0]
    assert coarse[1] > 3.3 * fine[1]
    assert fine[0] < 3e-5
    assert fine[1] < 3e-4


def test_pressure_of_a_pushed_channel():
    """u1 = sin(pi y) sin(3 t), p = (2 - x) cos t, with the force that this takes."""
    space = TaylorHood(np.linspace(0, 2, 3), np.linspace(0, 1, 4), 5)
    x, y = space.velocity.places.T
    n = space.velocity.size
    wall = np.flatnonzero((x == 0) | (y == 0) | (y == 1))
    held, profile = np.concatenate([wall, n + wall]), np.concatenate([np.sin(np.pi * y)[wall], 0 * wall])
    shape, one = np.zeros((2, space.size))
    shape[:n] = space.load(lambda x, y: np.sin(np.pi * y))
    one[:n] = space.load(lambda x, y: 1.0 + 0 * y)
    flow = UnsteadyFlow(
        space,
        0.1,
        held,
        lambda t: profile * np.sin(3 * t),
        lambda t: profile * 3 * np.cos(3 * t),
        lambda t, z: (3 * np.cos(3 * t) + 0.1 * np.pi**2 * np.sin(3 * t)) * shape - np.cos(t) * one,
    )
    *_, z = flow.march(np.zeros(space.size), 0.0, 0.02, 50)
    u1, u2, p = space.parts(flow.with_pressure(1.0, z))
    np.testing.assert_allclose(u1, np.sin(np.pi * y) * np.sin(3), atol=1e-4)
    np.testing.assert_allclose(u2, 0, atol=1e-4)
    assert np.abs(p - (2 - space.pressure.places[:, 0]) * np.cos(1)).max() < 5e-3
    assert p.max() == pytest.approx(2 * np.cos(1), rel=5e-3)
