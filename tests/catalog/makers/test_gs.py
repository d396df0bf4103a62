"""The solver behind the reference of gs: reaction alone, diffusion alone, the equation at the start, the shipped file."""

import numpy as np
from scipy.integrate import solve_ivp

from pcpinn.catalog.makers import gs
from pcpinn.catalog.makers.maker import distance
from pcpinn.catalog.reference_file import read_shipped

TIMES = np.array([0.0, 10.0, 30.0])


def test_without_gradients_it_is_an_ordinary_equation():
    w = np.stack([np.full((9, 9), 0.6), np.full((9, 9), 0.3)])
    exact = solve_ivp(
        lambda t, y: [0.04 * (1 - y[0]) - y[0] * y[1] ** 2, -0.1 * y[1] + y[0] * y[1] ** 2],
        (0, 30),
        [0.6, 0.3],
        method="DOP853",
        t_eval=TIMES,
        rtol=1e-12,
        atol=1e-13,
    ).y
    found = gs.solve(w, TIMES, 100)
    np.testing.assert_allclose(found, np.broadcast_to(exact[:, None, None], found.shape), atol=1e-9)


def test_without_v_it_is_diffusion_with_zero_slope():
    """u = 1 + a wave, where v = 0: the wave decays with D k^2 + F; v alone decays with its own D and rate."""
    x = np.linspace(-1, 1, 33)
    wave = np.outer(np.cos(3 * np.pi / 2 * (x + 1)), np.cos(5 * np.pi * (x + 1)))
    square = (9 / 4 + 25) * np.pi**2
    u = gs.solve(np.stack([1 + wave, 0 * wave]), TIMES, 5)
    np.testing.assert_allclose(u[0], 1 + wave[..., None] * np.exp(-(1e-5 * square + 0.04) * TIMES), atol=1e-12)
    v = gs.solve(np.stack([0 * wave, 1e-9 * wave]), TIMES, 5)[1]
    np.testing.assert_allclose(v, 1e-9 * wave[..., None] * np.exp(-(5e-6 * square + 0.1) * TIMES), atol=1e-17)


def test_the_first_moment_follows_the_equation():
    x, h = np.linspace(-1, 1, 129), 1e-4
    at = x[:, None], x
    u, v = w = gs.start(*at)
    around = sum(gs.start(at[0] + a, at[1] + b) for a, b in ((h, 0), (-h, 0), (0, h), (0, -h)))
    laplace = (around - 4 * w) / h**2
    rate = np.stack([1e-5 * laplace[0] + 0.04 * (1 - u) - u * v**2, 5e-6 * laplace[1] - 0.1 * v + u * v**2])
    after = gs.solve(w, np.array([0, 1e-4]), 1)
    np.testing.assert_allclose((after[..., 1] - w) / 1e-4, rate, atol=2e-5)
    assert (u[61, 63], v[67, 65]) == (u.min(), v.max())  # near (-0.05, -0.02) and (0.05, 0.02)


def test_a_coarse_member_is_near_the_shipped_reference():
    shipped, made = read_shipped("gs")
    assert shipped.error < 2e-7
    coarse = gs.values(0)
    assert coarse.shape == shipped.values.shape
    assert 0.5 * made["differences"][0] < distance(coarse, shipped.values) < 2 * made["differences"][0]
