"""Exponential time stepping for v' = L v + N(v, t) with a diagonal L: the stiff linear part is exact.

Fourth-order Runge-Kutta of Cox and Matthews (ETDRK4), with the phi functions evaluated without cancellation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

Nonlinear = Callable[[np.ndarray, float], np.ndarray]
_TERMS = 22  # of the series, for |z| < 1: 1 / 22! is far below rounding


def phi(order: int, z: np.ndarray) -> np.ndarray:
    """phi_k(z), the sum of z^j / (j + k)!: phi_0 = exp, phi_k = (phi_(k-1) - 1 / (k-1)!) / z."""
    small = np.abs(z) < 1
    near = np.where(small, z, 0.0)
    series = np.zeros_like(near)
    for j in range(_TERMS, -1, -1):
        series = series * near + 1 / math.factorial(j + order)
    far = np.where(small, 1.0, z)
    direct = np.exp(far)
    for k in range(order):
        direct = (direct - 1 / math.factorial(k)) / far
    return np.where(small, series, direct)


class Etdrk4:
    """One step of length h."""

    def __init__(self, linear: np.ndarray, nonlinear: Nonlinear, h: float) -> None:
        one, two, three = (phi(k, h * linear) for k in (1, 2, 3))
        self._whole, self._half = np.exp(h * linear), np.exp(h * linear / 2)
        self._inner = h / 2 * phi(1, h * linear / 2)
        self._weights = h * (one - 3 * two + 4 * three), h * (2 * two - 4 * three), h * (4 * three - two)
        self._nonlinear, self._h = nonlinear, h

    def __call__(self, v: np.ndarray, t: float) -> np.ndarray:
        """v at t + h."""
        N, h = self._nonlinear, self._h
        decayed = self._half * v
        first = N(v, t)
        a = decayed + self._inner * first
        second = N(a, t + h / 2)
        b = decayed + self._inner * second
        third = N(b, t + h / 2)
        c = self._half * a + self._inner * (2 * third - first)
        fourth = N(c, t + h)
        start, middle, end = self._weights
        result: np.ndarray = self._whole * v + start * first + middle * (second + third) + end * fourth
        return result


def march(
    linear: np.ndarray, nonlinear: Nonlinear, v: np.ndarray, times: np.ndarray, steps: int
) -> Iterator[np.ndarray]:
    """v at times[0], times[1], ..., with `steps` equal steps between two; lengths of equal stretches share coefficients."""
    yield v
    length, step = 0.0, None
    for start, end in pairwise(times):
        if step is None or abs(end - start - length) > 1e-9 * length:
            length = end - start
            step = Etdrk4(linear, nonlinear, length / steps)
        for k in range(steps):
            v = step(v, start + length * k / steps)
        yield v
