"""Elements on grids of rectangles: matrices, loads and values against calculus."""

import numpy as np
import pytest

from pcpinn.catalog.makers.tensor_elements import Line, diffusion

ENDS = np.array([0.0, 0.1, 0.4, 0.5, 1.0])


def nodes(line):
    inside = np.arange(line.degree) / line.degree
    return np.append((line.ends[:-1, None] + np.diff(line.ends)[:, None] * inside).ravel(), line.ends[-1])


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_polynomials_are_exact(degree):
    x, y = Line(ENDS, degree), Line(ENDS[1:] * 2, degree)
    u = np.outer(nodes(x) ** degree, 1 + nodes(y)).ravel()
    v = np.outer(1 - nodes(x), nodes(y) ** degree).ravel()
    M, K = diffusion(x, y, np.full((4, 3), 1.5))
    t, w = np.polynomial.legendre.leggauss(8)
    xs, wx = (t + 1) / 2, w / 2
    ys, wy = 1.1 + 0.9 * t, 0.9 * w
    X, Y, W = xs[:, None], ys[None, :], np.outer(wx, wy)
    mass = (W * X**degree * (1 + Y) * (1 - X) * Y**degree).sum()
    along_x = degree * X ** (degree - 1) * (1 + Y) * -(Y**degree)
    along_y = X**degree * (1 - X) * degree * Y ** (degree - 1)
    assert v @ M @ u == pytest.approx(mass)
    assert v @ K @ u == pytest.approx(1.5 * (W * (along_x + along_y)).sum())
    at = np.array([0.0, 0.05, 0.4, 0.77, 1.0])
    np.testing.assert_allclose(x.evaluation(at) @ nodes(x) ** degree, at**degree, atol=1e-14)
    assert x.load(np.exp) @ nodes(x) == pytest.approx(1.0)  # the integral of x e^x


def test_layers_in_series_carry_one_flux():
    """a jumps along x: the function of slope 1/a has no residual inside."""
    a = np.array([1.0, 2.0, 5.0, 1.0])
    x, y = Line(ENDS, 2), Line(np.linspace(0, 1, 3), 2)
    profile = np.interp(nodes(x), ENDS, np.concatenate([[0], np.cumsum(np.diff(ENDS) / a)]))
    _, K = diffusion(x, y, np.repeat(a[:, None], 2, axis=1))
    residual = (K @ np.repeat(profile, y.size)).reshape(x.size, y.size)
    assert np.abs(residual[1:-1]).max() < 1e-14
    assert residual[-1].sum() == pytest.approx(1.0)  # the flux through the last side
