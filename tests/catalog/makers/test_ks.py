"""The computation behind the reference of ks: the equation, linear growth, and a coarse member against the shipped file."""

import numpy as np
import pytest

from pcpinn.catalog.makers import ks
from pcpinn.catalog.makers.maker import distance
from pcpinn.catalog.reference_file import read_shipped

X = 2 * np.pi * np.arange(512) / 512


def test_the_first_moment_follows_the_equation():
    """u_t at t = 0, differentiated by hand."""
    u = np.cos(X) + np.sin(2 * X) / 2
    u_x, u_xx, u_xxxx = np.cos(2 * X) - np.sin(X), -np.cos(X) - 2 * np.sin(2 * X), np.cos(X) + 8 * np.sin(2 * X)
    u_t = -(100 / 16 * u * u_x + 100 / 256 * u_xx + 100 / 65536 * u_xxxx)
    h = 1e-6
    after = ks.solve(u, np.array([0, h]), 1)
    np.testing.assert_allclose(after[:, 0], u, atol=1e-14)
    np.testing.assert_allclose((after[:, 1] - u) / h, u_t, atol=1e-3)


@pytest.mark.parametrize("k", [3, 11, 20])
def test_small_waves_grow_and_decay(k):
    x = 2 * np.pi * np.arange(96) / 96
    u = ks.solve(1e-9 * np.cos(k * x), np.array([0, 0.1]), 10)[:, 1]
    rate = 100 / 256 * k**2 - 100 / 65536 * k**4
    np.testing.assert_allclose(u, 1e-9 * np.cos(k * X) * np.exp(0.1 * rate), atol=1e-16)


def test_waves_travel_with_the_mean():
    """u -> u + c moves everything by 100/16 c t."""
    x = 2 * np.pi * np.arange(96) / 96
    times, c = np.array([0, 0.05]), 0.4
    still = ks.solve(np.cos(x), times, 200)[:, 1]
    shift = 100 / 16 * c * 0.05
    moving = ks.solve(c + np.cos(x), times, 200)[:, 1]
    k = np.arange(257)
    moved = np.fft.irfft(np.fft.rfft(still) * np.exp(-1j * k * shift), 512)
    np.testing.assert_allclose(moving, c + moved, atol=1e-8)


def test_a_coarse_member_is_near_the_shipped_reference():
    shipped, made = read_shipped("ks")
    assert shipped.error < 2e-8
    assert distance(ks.values(1), shipped.values) < 5e-6
    assert distance(ks.values(0), shipped.values) == pytest.approx(made["differences"][0], rel=0.2)
