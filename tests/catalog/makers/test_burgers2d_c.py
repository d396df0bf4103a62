"""The solver behind the reference of burgers2d-c against Cole-Hopf, and the shipped file."""

import numpy as np
import pytest

from pcpinn.catalog.burgers2d_start import burgers2d_start
from pcpinn.catalog.cole_hopf import cole_hopf
from pcpinn.catalog.makers import burgers2d_c
from pcpinn.catalog.reference_file import read_shipped

N = 96
X, Y = np.meshgrid(np.arange(N) / N, np.arange(N) / N, indexing="ij")
TIMES = np.array([0.0, 0.1, 0.3])
VISCOSITY = 0.01


def front(s, t, viscosity):
    """g (shape of s) of g_t + g g_s = viscosity g_ss with g(s, 0) = -sin(2 pi s) / 2."""
    return cole_hopf(2 * s.ravel(), np.full(s.size, t), 4 * viscosity).reshape(s.shape) / 2


@pytest.mark.parametrize("axis", [0, 1])
def test_a_front_along_an_axis_in_a_cross_wind(axis):
    """One component is a front of one coordinate, the other a constant; the wind along the front changes nothing."""
    s, wind = (X, Y)[axis], 0.7
    u = np.full((2, N, N), wind)
    u[axis] = front(s, 0, VISCOSITY)
    found = burgers2d_c.solve(u, VISCOSITY, TIMES)
    for k, t in enumerate(TIMES):
        np.testing.assert_allclose(found[axis, ..., k], front(s, t, VISCOSITY), atol=2e-6)
        np.testing.assert_allclose(found[1 - axis, ..., k], wind, atol=1e-12)


def test_a_front_askew_that_is_blown_along():
    """u1 = u2 = g / 2 of s = x + y solve g_t + g g_s = 2 nu g_ss; a constant added to both carries it along."""
    c, s = np.array([0.3, -0.5]), X + Y
    found = burgers2d_c.solve(front(s, 0, 2 * VISCOSITY) / 2 + c[:, None, None], VISCOSITY, TIMES)
    moved = front(s - c.sum() * TIMES[-1], TIMES[-1], 2 * VISCOSITY) / 2
    np.testing.assert_allclose(found[..., -1], moved + c[:, None, None], atol=2e-6)


def test_the_first_moment_follows_the_equation():
    """u_t at t = 0 with derivatives by central differences of the formula of the start."""
    start, x, h = burgers2d_start(), np.arange(64) / 64, 1e-4
    u = start.on_grid(x, x)
    right, left, up, down = (start.on_grid(x + a, x + b) for a, b in ((h, 0), (-h, 0), (0, h), (0, -h)))
    convected = u[0] * (right - left) / (2 * h) + u[1] * (up - down) / (2 * h)
    rate = 0.001 * (right + left + up + down - 4 * u) / h**2 - convected
    after = burgers2d_c.solve(u, 0.001, np.array([0, 1e-6]))[..., 1]
    np.testing.assert_allclose((after - u) / 1e-6, rate, atol=1e-3 * np.abs(rate).max())


def test_coarsening_keeps_smooth_fields():
    start = burgers2d_start()
    fine, coarse = (start.on_grid(np.arange(n) / n, np.arange(n) / n) for n in (64, 48))
    np.testing.assert_allclose(burgers2d_c.coarsen(fine, 48), coarse, atol=1e-12)


def test_a_coarse_computation_is_near_the_shipped_reference(monkeypatch):
    shipped, _ = read_shipped("burgers2d-c")
    assert shipped.error < 1e-4
    np.testing.assert_allclose(
        shipped.values[::11], burgers2d_start().on_grid(*[np.arange(64) / 64] * 2).reshape(2, -1).T, atol=1e-6
    )
    monkeypatch.setattr(burgers2d_c, "_CHOICES", ((128, 128),))
    assert np.linalg.norm(burgers2d_c.values(0) - shipped.values) < 0.035 * np.linalg.norm(shipped.values)
