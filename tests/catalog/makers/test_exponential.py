"""Exponential time stepping: the phi functions, order four with stiff parts and time-dependent sources, the linear part exact."""

import math

import numpy as np
import pytest

from pcpinn.catalog.makers.exponential import march, phi


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_phi_is_an_integral(order):
    """phi_k(z) = integral over [0, 1] of e^((1-s) z) s^(k-1) / (k-1)!; no cancellation near 0 nor near the change at 1."""
    z = np.array([-1e5, -40.0, -1.0001, -0.9999, -1e-3, -1e-9, 0.0, 1e-5, 0.5, 1.0, 3.0])
    if order == 0:
        np.testing.assert_allclose(phi(0, z), np.exp(z), rtol=1e-14)
        return
    x, w = np.polynomial.legendre.leggauss(200)
    s = ((x + 1) / 2) ** 4  # dense at s = 0, and for large -z at s = 1
    s = np.concatenate([s / 2, 1 - s / 2])
    w = np.concatenate([w, w]) * np.concatenate([((x + 1) / 2) ** 3] * 2)
    integral = (w * np.exp((1 - s) * z[:, None]) * s ** (order - 1)).sum(axis=1) / math.factorial(order - 1)
    np.testing.assert_allclose(phi(order, z), integral, rtol=1e-11)


RATES = np.array([-8.0, -1.0, 0.0, 0.5])


def error(times, steps):
    """v' = L v + N with v = sin(t + 1), coupled: N = cos - L sin + v^2 - sin^2 + (neighbour - sin)."""

    def nonlinear(v, t):
        s = np.sin(t + 1)
        return np.cos(t + 1) - RATES * s + v**2 - s**2 + 0.3 * (np.roll(v, 1) - s)

    *_, end = march(RATES, nonlinear, np.full(4, np.sin(1.0)), np.array(times), steps)
    return np.abs(end - np.sin(times[-1] + 1)).max()


def test_order_four():
    assert error([0, 1], 20) == pytest.approx(16 * error([0, 1], 40), rel=0.15)
    assert error([0, 1], 160) < 1e-8


def test_stretches_of_different_length():
    assert error([0, 0.2, 0.4, 1.0], 60) < 1e-7


def test_the_linear_part_is_exact():
    times = np.array([0.0, 0.5, 2.0])
    found = np.stack(list(march(RATES, lambda v, t: 0 * v, np.ones(4), times, 1)))
    np.testing.assert_allclose(found, np.exp(np.outer(times, RATES)), rtol=1e-14, atol=1e-300)
