"""Stationary Navier-Stokes equations: Newton's method from the Stokes flow, by direct solves."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from .taylor_hood import TaylorHood

_ITERATIONS = 20


def steady_flow(space: TaylorHood, viscosity: float, held: np.ndarray, values: np.ndarray) -> np.ndarray:
    """All degrees of freedom z with z[held] = values; elsewhere the weak form: nu du/dn - p n = 0 where nothing is held."""
    z = np.zeros(space.size)
    z[held] = values
    free = np.setdiff1d(np.arange(space.size), held)
    linear = space.stokes(viscosity)
    z[free] -= _solve(linear[free][:, free], (linear @ z)[free])
    for _ in range(_ITERATIONS):
        matrix = linear + space.convection_derivative(z)
        step = _solve(matrix[free][:, free], (linear @ z + space.convection(z))[free])
        z[free] -= step
        if np.abs(step).max() < 1e-8 * np.abs(z).max():  # convergence is quadratic
            return z
    raise ArithmeticError("Newton's method has not converged")


def _solve(matrix: sp.spmatrix, right: np.ndarray) -> np.ndarray:
    """Direct, improved once."""
    factors = splu(matrix.tocsc(), permc_spec="COLAMD")
    x = factors.solve(right)
    return x + factors.solve(right - matrix @ x)
