"""Problems whose ||F^-1|| is known."""

import numpy as np
import torch

from pcpinn import Dirichlet, Initial, Interval, Neumann, Problem, Rectangle

ZERO = Dirichlet(0.0)


def poisson(P=1.0, f=1.0):
    """-u'' = f sin(P x) on (0, 2 pi / P): ||F^-1|| = 4 / P^2."""
    return Problem(
        Interval(0, 2 * np.pi / P, name="ends"),
        flux=lambda x, u: u.grad,
        source=lambda x, u: -f * torch.sin(P * x[0]),
        boundary={"ends": ZERO},
    )


def helmholtz(k2=30.0):
    """-Laplace u - k2 u = 1 on the unit square: the inverse of the smallest |pi^2 (i^2 + j^2) - k2|."""
    square = Rectangle((0, 0), (1, 1))
    return Problem(
        square,
        flux=lambda x, u: u.grad,
        source=lambda x, u: -k2 * u.value - 1.0,
        boundary=dict.fromkeys(square.boundary_names, ZERO),
    )


def helmholtz_norm(k2=30.0):
    return 1 / min(abs(np.pi**2 * (i * i + j * j) - k2) for i in range(1, 9) for j in range(1, 9))


def convection(L=2.0):
    """u' = cos x, u(0) = 0 on (0, L): the norm of integration is 2 L / pi."""
    return Problem(
        Interval(0, L),
        source=lambda x, u: u.grad[0] - torch.cos(x[0]),
        boundary={"left": ZERO, "right": Neumann(0.0)},
    )


def wave(c=1.0, T=2.0):
    """u_tt - c^2 u_xx = 1 on (0, 1) x (0, T), at rest at the start."""
    return Problem(
        Interval(0, 1).over(0, T),
        density=lambda x, u: u.dt,
        flux=lambda x, u: c**2 * u.grad,
        source=lambda x, u: -1.0,
        boundary={"left": ZERO, "right": ZERO, "initial": Initial(0.0, rate=0.0)},
    )


def heat(nu=0.1):
    """u_t - nu u_xx = 1 on the unit square of space-time."""
    return Problem(
        Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: nu * u.grad,
        source=lambda x, u: -1.0,
        boundary={"left": ZERO, "right": ZERO, "initial": Initial(0.0)},
    )


def volterra_norm(kernel, T, n=1500):
    """Norm on L2(0, T) of g -> integral of kernel(t - s) g(s) over s < t, by the midpoint rule: one mode in space."""
    t = (np.arange(n) + 0.5) * T / n
    lag = t[:, None] - t
    K = np.where(lag > 0, kernel(np.abs(lag)), 0.0) + 0.5 * kernel(np.zeros(1)) * np.eye(n)
    return np.linalg.norm(K, 2) * T / n


def wave_norm(c=1.0, T=2.0):
    """Modes sin(k pi x); the first magnifies most."""
    w = np.pi * c
    return volterra_norm(lambda s: np.sin(w * s) / w, T)


def heat_norm(nu=0.1):
    return volterra_norm(lambda s: np.exp(-nu * np.pi**2 * s), 1.0)
