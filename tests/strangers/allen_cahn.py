"""Allen and Cahn: u_t = 1e-4 u_xx + 5 (u - u^3) on a ring, from u = x^2 cos(pi x), whose slope jumps where the ring closes.

Fronts of width 0.01 form and stay. Truth: a Fourier series of 2048 terms, integrated in time with error control (DOP853,
tolerance 1e-9). With 4096 terms it changes by 7e-7 relative, with tolerance 1e-11 by 4e-8.
"""

import numpy as np
import torch
from scipy.integrate import solve_ivp

import pcpinn as pc

problem = pc.Problem(
    pc.Interval(-1, 1).over(0, 1),
    density=lambda x, u: u.value,
    flux=lambda x, u: 1e-4 * u.grad,
    source=lambda x, u: -5 * (u.value - u.value**3),
    boundary={"left": pc.Periodic("right"), "initial": pc.Initial(lambda x: x[0] ** 2 * torch.cos(torch.pi * x[0]))},
)


def truth(points, terms=2048, tolerance=1e-9):
    grid = -1 + 2 * np.arange(terms) / terms
    k = np.pi * np.arange(terms // 2 + 1)

    def rate(t, u):
        return 1e-4 * np.fft.irfft(-(k**2) * np.fft.rfft(u)) + 5 * (u - u**3)

    start = grid**2 * np.cos(np.pi * grid)
    run = solve_ivp(rate, (0, 1), start, method="DOP853", rtol=tolerance, atol=tolerance, dense_output=True)
    c = np.fft.rfft(run.sol(points[:, 1]), axis=0) / terms
    c[1:-1] *= 2
    return np.einsum("kn,kn->n", c, np.exp(1j * np.outer(k, points[:, 0] + 1))).real


def reference():
    points = np.random.default_rng(0).uniform((-1, 0), (1, 1), (2000, 2))
    return pc.Reference(points, truth(points), kind="certified", error=1e-6)
