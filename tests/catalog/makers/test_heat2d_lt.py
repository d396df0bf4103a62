"""The solver behind the reference of heat2d-lt: symmetry, decay, finite differences, the shipped file."""

import numpy as np
from scipy.integrate import solve_ivp

from pcpinn.catalog.makers import heat2d_lt
from pcpinn.catalog.makers.exponential import march
from pcpinn.catalog.makers.maker import distance
from pcpinn.catalog.reference_file import read_shipped

GRID = np.linspace(0, 1, 21)
TIMES = np.array([0.0, 0.5, 1.5])


def on_grid(cells, times, steps, width=0.25):
    marched = heat2d_lt.solve(cells, times, steps, width)
    return np.stack([heat2d_lt.evaluate(c, GRID, GRID, width) for c in marched], axis=-1)


def test_the_quarter_is_the_whole():
    quarter, whole = on_grid((12, 48), TIMES, 40), on_grid((48, 48), TIMES, 40, 1.0)
    np.testing.assert_allclose(quarter, whole, atol=1e-11)
    x = GRID[:, None]
    np.testing.assert_allclose(quarter[..., 0], np.sin(4 * np.pi * x) * np.sin(3 * np.pi * GRID), atol=1e-12)


def test_small_amounts_decay(monkeypatch):
    """Where sin(u^2) is nothing, each wave decays by itself."""

    def from_one_wave(linear, nonlinear, v, times, steps):
        tiny = np.zeros_like(v)
        tiny[1, 2] = 1e-9
        return march(linear, nonlinear, tiny, times, steps)

    monkeypatch.setattr(heat2d_lt, "march", from_one_wave)
    *_, end = heat2d_lt.solve((8, 16), np.array([0.0, 5.0]), 4)
    np.testing.assert_allclose(end[1, 2], 1e-9 * np.exp(-0.001 * (8**2 + 3**2) * np.pi**2 * 5), rtol=1e-6)


def finite_differences(cells, times):
    """u (19, 79, len(times)) at the inner nodes of 20 x 80 cells on the quarter, by five-point differences on finer ones."""
    nx, ny = cells
    x, y = np.arange(1, nx) * 0.25 / nx, np.arange(1, ny) / ny
    source = 5 * np.sin(4 * np.pi * x)[:, None] * np.sin(2 * np.pi * y)

    def rate(t, u):
        p = np.pad(u.reshape(nx - 1, ny - 1), 1)
        inner = p[1:-1, 1:-1]
        laplace = (p[2:, 1:-1] + p[:-2, 1:-1] - 2 * inner) * (4 * nx) ** 2
        laplace += (p[1:-1, 2:] + p[1:-1, :-2] - 2 * inner) * ny**2
        return (0.001 * laplace + source * np.sin(inner**2) * (1 + 2 * np.sin(np.pi * t / 4))).ravel()

    start = np.outer(np.sin(4 * np.pi * x), np.sin(3 * np.pi * y)).ravel()
    u = solve_ivp(rate, (0, times[-1]), start, t_eval=times, rtol=1e-5, atol=1e-7).y.reshape(nx - 1, ny - 1, -1)
    part = nx // 20
    return u[part - 1 :: part, part - 1 :: part]


def test_finite_differences_converge_to_it():
    times = np.array([0, 1.0, 3.0])
    x, y = np.arange(1, 20) / 80, np.arange(1, 80) / 80
    series = np.stack([heat2d_lt.evaluate(c, x, y) for c in heat2d_lt.solve((32, 128), times, 100)], axis=-1)
    coarse, fine = (distance(finite_differences(cells, times), series) for cells in ((20, 80), (40, 160)))
    assert fine < 0.01
    assert coarse > 3.5 * fine


def test_a_coarse_member_is_near_the_shipped_reference(monkeypatch):
    shipped, _ = read_shipped("heat2d-lt")
    assert shipped.error < 1e-5
    monkeypatch.setattr(heat2d_lt, "_CHOICES", ((12, 5),))
    monkeypatch.setattr(heat2d_lt, "_TIMES", np.linspace(0, 20, 101))
    expected = shipped.values.reshape(21 * 21, 501)[:, :101]
    assert distance(heat2d_lt.values(0).reshape(21 * 21, 101), expected) < 0.02
