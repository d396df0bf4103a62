"""Flow on rectangles: matrices against calculus, points beside missing cells, grading."""

import numpy as np
import pytest

from pcpinn.catalog.makers.taylor_hood import TaylorHood, graded

X_ENDS, Y_ENDS = np.array([0.0, 0.3, 1.0, 1.5]), np.array([0.0, 0.6, 1.0])
STEP = np.array([[True, False], [True, True], [True, True]])  # without [0, 0.3] x [0.6, 1]


def state(space, u1, u2, p):
    x, y = space.velocity.places.T
    X, Y = space.pressure.places.T
    return np.concatenate([u1(x, y), u2(x, y), p(X, Y)])


def integral(f, inside):
    t, w = np.polynomial.legendre.leggauss(8)
    total = 0.0
    for i, j in np.argwhere(inside):
        (a, b), (c, d) = X_ENDS[i : i + 2], Y_ENDS[j : j + 2]
        x, y = (a + b + (b - a) * t) / 2, (c + d + (d - c) * t) / 2
        total += ((b - a) * (d - c) / 4 * np.outer(w, w) * f(x[:, None], y[None, :])).sum()
    return total


@pytest.mark.parametrize("inside", [np.ones((3, 2), dtype=bool), STEP])
def test_polynomials_are_exact(inside):
    space = TaylorHood(X_ENDS, Y_ENDS, 2, inside)
    z = state(space, lambda x, y: x * y, lambda x, y: y**2 - x, lambda x, y: 1 + x * y)
    v = state(space, lambda x, y: 1 + x**2, lambda x, y: x - y, lambda x, y: y - 2 * x)
    expected = integral(
        lambda x, y: 0.1 * (y * 2 * x - 1 - 2 * y) - (1 + x * y) * (2 * x - 1) - (y - 2 * x) * 3 * y, inside
    )
    assert v @ space.stokes(0.1) @ z == pytest.approx(expected)
    carried = integral(
        lambda x, y: (x * y * y + (y**2 - x) * x) * (1 + x**2) + (-x * y + (y**2 - x) * 2 * y) * (x - y), inside
    )
    assert v @ space.convection(z) == pytest.approx(carried)
    mass = integral(lambda x, y: x * y * (1 + x**2) + (y**2 - x) * (x - y), inside)
    assert v @ (space.stokes(0.0, mass=1.0) - space.stokes(0.0)) @ z == pytest.approx(mass)
    load = integral(lambda x, y: np.exp(x) * y * (1 + x**2), inside)
    assert space.load(lambda x, y: np.exp(x) * y) @ space.parts(v)[0] == pytest.approx(load)


def test_derivative_of_convection():
    space = TaylorHood(X_ENDS, Y_ENDS, 3, STEP)
    z, d = np.random.default_rng(0).normal(size=(2, space.size))
    found = space.convection_derivative(z) @ d
    np.testing.assert_allclose(found, (space.convection(z + d) - space.convection(z - d)) / 2, atol=1e-11)


def test_values_beside_a_missing_cell():
    space = TaylorHood(X_ENDS, Y_ENDS, 2, STEP)
    z = state(space, lambda x, y: x * y, lambda x, y: x**2, lambda x, y: x + y)
    at = np.array([[0.0, 0.6], [0.3, 0.6], [0.3, 1.0], [0.1, 0.6], [0.3, 0.8], [1.5, 1.0], [1.0, 0.2]])
    x, y = at.T
    np.testing.assert_allclose(space.evaluate(z, at), np.stack([x * y, x**2, x + y], axis=1), atol=1e-14)
    with pytest.raises(ValueError, match="outside"):
        space.evaluate(z, np.array([[0.1, 0.9]]))


def test_grading():
    np.testing.assert_allclose(graded(0, 2, 2, 2, 1, ratio=0.5), [0, 0.25, 0.5, 1, 1.5, 2])
    np.testing.assert_allclose(graded(0, 1, 4), np.linspace(0, 1, 5))
