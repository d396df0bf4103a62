"""The outlet of ns2d-lt: nothing while the flow leaves, and the missing energy where it comes in; the first moments."""

import numpy as np
import pytest

from pcpinn.catalog.makers.ns2d_lt import Outlet, solve
from pcpinn.catalog.makers.taylor_hood import TaylorHood


def test_outlet():
    space = TaylorHood(np.linspace(0, 2, 3), np.linspace(0, 1, 3), 4)
    x, y = space.velocity.places.T
    n, m = space.velocity.size, space.pressure.size
    outlet = Outlet(space)
    assert not outlet(np.concatenate([y * x, y - 1, np.ones(m)])).any()
    z = np.concatenate([(0.5 - y) * x / 2, y + x, np.ones(m)])  # comes in where y > 1/2
    found = outlet(z)
    energy = 0.5 * np.array([(0.5 - s) * ((0.5 - s) ** 2 + (s + 2) ** 2) for s in np.linspace(0.5, 1, 20001)])
    assert z @ found == pytest.approx(np.trapezoid(energy, dx=0.5 / 20000), rel=1e-6)
    assert np.abs(found[:n][x < 2]).max() < 1e-12


def test_the_start_is_that_of_a_pushed_channel():
    """The pressure at the inlet's foot, where measured values of others are 11.6 and -19.5; the same flux everywhere."""
    y, w = np.polynomial.legendre.leggauss(8)
    across = np.stack([np.repeat([0.0, 1.3], 8), np.tile((y + 1) / 2, 2)], axis=1)
    result = solve(3, 4, 1, 4, np.vstack([across, [[0.0, 0.0]]]), 2)
    np.testing.assert_allclose(result[-1, 1:, 2], [11.6, -19.5], rtol=0.02)
    assert not result[:, 0].any()
    flux = np.einsum("q,sqt->st", w / 2, result[:16, :, 0].reshape(2, 8, 3))
    t = np.pi * np.array([0.0, 0.1, 0.2])
    np.testing.assert_allclose(flux[0], 2 / np.pi * (np.sin(t) + np.sin(3 * t) + np.sin(5 * t)), atol=1e-3)
    np.testing.assert_allclose(flux[1], flux[0], atol=5e-3)
