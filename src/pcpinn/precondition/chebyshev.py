"""Chebyshev iteration: a fixed number of steps that damps an interval of eigenvalues as much as any polynomial can."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import Tensor

Apply = Callable[[Tensor], Tensor]


def chebyshev(
    multiply: Apply, precondition: Apply, b: Tensor, x: Tensor | None, bounds: tuple[float, float], steps: int
) -> Tensor:
    """`steps` steps towards the solution of A x = b from x (None: zero), b of shape (N,) or (N, k).

    Linear in b and x; with symmetric A and M^-1 a symmetric operation on b.

    Args:
        multiply: v -> A v.
        precondition: r -> M^-1 r.
        bounds: the eigenvalues of M^-1 A to damp, 0 < low < high.
    """
    low, high = bounds
    centre, radius = (high + low) / 2, (high - low) / 2
    sigma = centre / radius
    rho = 1 / sigma
    r = b if x is None else b - multiply(x)
    p = precondition(r) / centre
    x = p if x is None else x + p
    for _ in range(steps - 1):
        r = r - multiply(p)
        following = 1 / (2 * sigma - rho)
        p = (following * rho) * p + (2 * following / radius) * precondition(r)
        x = x + p
        rho = following
    return x


def contraction(bounds: tuple[float, float], steps: int) -> float:
    """The largest factor by which the error within the bounds is multiplied."""
    low, high = bounds
    return 1 / math.cosh(steps * math.acosh((high + low) / (high - low)))
