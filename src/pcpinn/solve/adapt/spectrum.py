"""Waves of one length that a discrete solution is made of: the network gets them as inputs.

Perceptrons learn a wave of a frequency that they are given in no time, and one between two given ones hardly. The solution is
looked at along lines through the domain.
"""

from __future__ import annotations

import numpy as np

from ...problem.problem import Problem
from ...problem.shape_base import Domain
from ...recipes import PerAxis
from .level import Level

_LINES, _PLACES = 24, 512
_FINE = 4  # frequencies that are looked at, between two that fit into the domain
_FEWEST, _MOST = 2.5, 120.0  # waves along the domain
_LOBE = 2.0  # waves along the domain: so wide is what one frequency gives, by Hann's window
_SHARE = 0.05  # of the solution that a wave must have
_HIGH = 0.01  # of the highest: less may be a ripple of the window
_COUNT = 4  # along an axis
_INSIDE = 0.5  # of the length of a line that must be inside, in one piece


def standing_out(problem: Problem, level: Level, counted: np.ndarray) -> PerAxis:
    """Frequencies along each axis, in radians per unit, that much of the solution has; empty where there are none.

    `counted` (C,) says which components are looked at.
    """
    domain = problem.domain
    if not isinstance(domain, Domain):
        return ()
    lower, upper = (np.asarray(b, dtype=float) for b in level.mesh.bounds)
    result = tuple(_along(domain, level, counted, axis, lower, upper) for axis in range(len(lower)))
    return result if any(result) else ()


def _along(
    domain: Domain, level: Level, counted: np.ndarray, axis: int, lower: np.ndarray, upper: np.ndarray
) -> tuple[float, ...]:
    extent = float(upper[axis] - lower[axis])
    waves = np.arange(0, _MOST, 1 / _FINE)  # along the domain
    power = _power(domain, level, counted, axis, lower, upper, 2 * np.pi * waves / extent)
    if power is None:
        return ()
    found: list[float] = []
    total = power.sum()
    peaks = 1 + np.flatnonzero(
        (power[1:-1] > power[:-2]) & (power[1:-1] >= power[2:]) & (power[1:-1] > _HIGH * power.max())
    )
    for k in peaks[np.argsort(-power[peaks], kind="stable")].tolist():
        near = np.abs(waves - waves[k]) <= _LOBE
        if waves[k] >= _FEWEST and power[near].sum() >= _SHARE * total and len(found) < _COUNT:
            a, b, c = np.log(np.maximum(power[k - 1 : k + 2], 1e-300))
            off = 0.5 * (a - c) / (a - 2 * b + c)  # the top of the parabola through three
            found.append(float(2 * np.pi * (waves[k] + off / _FINE) / extent))
    return tuple(sorted(found))


def _power(
    domain: Domain,
    level: Level,
    counted: np.ndarray,
    axis: int,
    lower: np.ndarray,
    upper: np.ndarray,
    frequencies: np.ndarray,
) -> np.ndarray | None:
    """Of the solution at frequencies (f,), over lines along an axis and components; None where no line is long enough."""
    random = np.random.default_rng(axis)
    lines = 1 if len(lower) == 1 else _LINES
    grid = np.repeat(random.uniform(lower, upper, (lines, 1, len(lower))), _PLACES, axis=1)
    s = lower[axis] + (upper - lower)[axis] * (np.arange(_PLACES) + 0.5) / _PLACES
    grid[:, :, axis] = s
    inside = domain.contains(grid.reshape(-1, len(lower))).reshape(lines, _PLACES)
    weights = np.stack([_window(row) for row in inside])
    if not weights.any():
        return None
    values = np.zeros((lines, _PLACES, level.fine.space.components))
    used = weights > 0
    values[used] = level.fine.interpolate(level.better, grid[used])
    size = np.sqrt((values**2 * weights[..., None]).sum(axis=(0, 1)))
    values = counted * values * weights[..., None] / np.maximum(size, 1e-12 * size.max() + 1e-300)
    waves = np.exp(1j * frequencies[:, None] * (s - s[0]))
    return np.asarray((np.abs(np.einsum("fs,lsc->flc", waves, values)) ** 2).sum(axis=(1, 2)))


def _window(inside: np.ndarray) -> np.ndarray:
    """(n,) Hann's window over the longest stretch of a line (n,) that is inside; zero if that is short."""
    ends = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(int)))
    result = np.zeros(len(inside))
    if len(ends):
        k = int(np.argmax(ends[1::2] - ends[::2]))
        first, last = ends[2 * k], ends[2 * k + 1]
        if last - first >= _INSIDE * len(inside):
            result[first:last] = np.hanning(last - first + 2)[1:-1]
    return result
