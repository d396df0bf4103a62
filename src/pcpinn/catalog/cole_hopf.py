"""Burgers' equation in one dimension, solved by the transformation of Cole and Hopf.

With u = -2 nu d/dx log(theta), theta obeys the heat equation, so for u(x, 0) = -sin(pi x)

    u(x, t) = - integral of sin(pi y) e^E dy / integral of e^E dy,    E = -(x - y)^2 / (4 nu t) - cos(pi y) / (2 pi nu).

This u is odd and 2-periodic, so it vanishes at x = -1, 0 and 1.
"""

from __future__ import annotations

import numpy as np

from ..solution.reference import Reference
from .evaluation import grid_points

VISCOSITY = 0.01 / np.pi
_SPACING = 1 / 16  # of the trapezoidal rule, in units of sqrt(4 nu t); exact to rounding, as the integrands are entire
_HIDDEN = 45.0  # e^-45 is lost in rounding


def cole_hopf(x: np.ndarray, t: np.ndarray, viscosity: float = VISCOSITY) -> np.ndarray:
    """u (n,) of u_t + u u_x = nu u_xx with u(x, 0) = -sin(pi x), at x (n,) and t >= 0 (n,)."""
    x, t = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(t, dtype=np.float64))
    reach = np.sqrt(1 / (np.pi * viscosity) + _HIDDEN)  # beyond, the Gaussian outweighs all that cos(pi y) may gain
    s = _SPACING * np.arange(-np.ceil(reach / _SPACING), np.ceil(reach / _SPACING) + 1)
    y = x[:, None] - np.sqrt(4 * viscosity * t)[:, None] * s
    exponent = -(s**2) - np.cos(np.pi * y) / (2 * np.pi * viscosity)
    weights = np.exp(exponent - exponent.max(axis=1, keepdims=True))
    result: np.ndarray = -(weights * np.sin(np.pi * y)).sum(axis=1) / weights.sum(axis=1)
    return np.where(t > 0, result, -np.sin(np.pi * x))


def burgers1d_reference() -> Reference:
    """At 201 places of [-1, 1] and t = 0, 0.1, ..., 1."""
    points = grid_points(np.linspace(-1, 1, 201), np.linspace(0, 1, 11))
    note = "Cole-Hopf transformation, integrals by the trapezoidal rule to 1e-12"
    return Reference(points, cole_hopf(points[:, 0], points[:, 1])[:, None], kind="exact", note=note)
