"""Burgers' equation by Cole-Hopf: other quadrature, the equation itself, and the published slope of the front."""

import numpy as np
import pytest
from numpy.polynomial.hermite import hermgauss
from scipy.integrate import quad

from pcpinn.catalog.cole_hopf import VISCOSITY, burgers1d_reference, cole_hopf


def test_gauss_hermite_agrees():
    """Other nodes and weights, at all points of the reference."""
    x, t = burgers1d_reference().points.T
    s, w = hermgauss(300)
    y = x[:, None] - np.sqrt(4 * VISCOSITY * t)[:, None] * s
    exponent = -np.cos(np.pi * y) / (2 * np.pi * VISCOSITY)
    weights = w * np.exp(exponent - exponent.max(axis=1, keepdims=True))
    u = -(weights * np.sin(np.pi * y)).sum(axis=1) / weights.sum(axis=1)
    np.testing.assert_allclose(cole_hopf(x, t), u, atol=1e-12)


@pytest.mark.parametrize(("x", "t"), [(0.01, 1.0), (-0.02, 0.5), (0.6, 0.1), (-0.97, 0.9)])
def test_adaptive_quadrature_agrees(x, t):
    def E(y):
        return -((x - y) ** 2) / (4 * VISCOSITY * t) - np.cos(np.pi * y) / (2 * np.pi * VISCOSITY)

    y = np.linspace(-3, 3, 6001)
    top = E(y).max()
    stops = {
        "points": list(y[E(y) > top - 50][:: max(1, (E(y) > top - 50).sum() // 40)]),
        "limit": 500,
        "epsabs": 1e-15,
    }
    above = quad(lambda y: np.sin(np.pi * y) * np.exp(E(y) - top), -3, 3, **stops)[0]
    below = quad(lambda y: np.exp(E(y) - top), -3, 3, **stops)[0]
    assert cole_hopf(np.array([x]), np.array([t]))[0] == pytest.approx(-above / below, abs=1e-11)


def test_solves_the_equation():
    """Central differences of order six, also in the front (the third x)."""
    weights = {1: np.array([-1, 9, -45, 0, 45, -9, 1]) / 60, 2: np.array([2, -27, 270, -490, 270, -27, 2]) / 180}
    h, steps = 4e-4, np.arange(-3, 4)
    for x, t in [(0.3, 0.2), (-0.8, 0.7), (0.004, 0.6), (0.1, 0.35)]:
        u = cole_hopf(np.array([x]), np.array([t]))[0]
        over_x, over_t = cole_hopf(x + h * steps, np.full(7, t)), cole_hopf(np.full(7, x), t + h * steps)
        u_t, u_x, u_xx = weights[1] @ over_t / h, weights[1] @ over_x / h, weights[2] @ over_x / h**2
        assert abs(u_t + u * u_x - VISCOSITY * u_xx) < 1e-5 * (1 + abs(u * u_x))


def test_steepest_front():
    """Basdevant et al. (Computers and Fluids 14, 1986): the slope at x = 0 is largest, 152.00516, at pi t = 1.6037."""

    def slope(t):
        return -cole_hopf(np.array([1e-6]), np.array([t]))[0] / 1e-6

    assert slope(1.6037 / np.pi) == pytest.approx(152.00516, abs=1e-4)
    assert slope(1.6037 / np.pi) > max(slope(1.59 / np.pi), slope(1.62 / np.pi))


def test_start_and_walls():
    x = np.linspace(-1, 1, 31)
    np.testing.assert_array_equal(cole_hopf(x, np.zeros(31)), -np.sin(np.pi * x))
    np.testing.assert_allclose(cole_hopf(x, np.full(31, 1e-9)), -np.sin(np.pi * x), atol=1e-8)
    for t in (0.1, 1.0):
        u = cole_hopf(x, np.full(31, t))
        np.testing.assert_allclose(u, -u[::-1], atol=1e-14)
        np.testing.assert_allclose(u[[0, 15, 30]], 0.0, atol=1e-14)


def test_large_viscosity_is_heat():
    """nu = 10: the equation is almost linear, and -sin(pi x) decays."""
    x = np.linspace(-1, 1, 21)
    u = cole_hopf(x, np.full(21, 0.02), viscosity=10.0)
    np.testing.assert_allclose(u, -np.sin(np.pi * x) * np.exp(-10 * np.pi**2 * 0.02), atol=3e-3)


def test_reference():
    reference = burgers1d_reference()
    assert (reference.kind, reference.points.shape, reference.error) == ("exact", (201 * 11, 2), 0.0)
    np.testing.assert_array_equal(np.unique(reference.points[:, 1]), np.linspace(0, 1, 11))
