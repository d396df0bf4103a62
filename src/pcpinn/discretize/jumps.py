"""Jumps of a problem's coefficients inside its domain: found between neighbouring points, located by bisection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from ..mesh.mesh import Mesh
from ..problem.problem import Problem
from ..recipes import PerAxis
from .pointwise import Pointwise
from .samples import data_states, sample_points

_LINES, _PLACES = 16, 600  # along each axis
_BISECTIONS = 36
_CHANGE = 1e-3  # of the size of all values, within a thousandth of a millionth of the domain
_MOST = 4000  # places that are looked at more closely
_SAME = 1e-7  # of the domain: jumps on different lines that lie on one plane
_SHARED = 3  # lines, at least, that a plane across an axis is seen on
_PLANES = 20  # along an axis; more of them are a pattern that no first mesh follows

Values = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Jumps:
    """Places where some value jumps.

    Attributes:
        rows: (j,) which of the pairs that were looked at.
        at: (j, d).
        left, right: (j, v) the values on both sides.
        gaps: (j, v) their differences, each beside the larger of both.
    """

    rows: np.ndarray
    at: np.ndarray
    left: np.ndarray
    right: np.ndarray
    gaps: np.ndarray


def jumps_between(values: Values, a: np.ndarray, b: np.ndarray) -> Jumps | None:
    """The jumps of functions (m, d) -> (m, v) between pairs of points (m, d), one for each pair; None if there are none."""
    rows = np.arange(len(a))
    if not len(a):
        return None
    left, right = values(a), values(b)
    finite = np.isfinite(left).all(axis=1) & np.isfinite(right).all(axis=1)
    rows, a, b, left, right = rows[finite], a[finite], b[finite], left[finite], right[finite]
    if not len(a):
        return None
    size = np.maximum(np.abs(left).max(axis=0), np.abs(right).max(axis=0))
    size = np.where(size > 0, size, 1.0)

    def gap(u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Beside the larger of both: jumps by a factor count, also far below the largest value."""
        larger = np.maximum(np.maximum(np.abs(u), np.abs(v)), 1e-6 * size)
        return np.abs(u - v) / larger

    first = gap(left, right).max(axis=1)
    chosen = np.argsort(-first, kind="stable")[:_MOST]
    chosen = chosen[first[chosen] > _CHANGE]
    if not len(chosen):
        return None
    rows, a, b, left, right = rows[chosen], a[chosen], b[chosen], left[chosen], right[chosen]
    for _ in range(_BISECTIONS):
        middle = (a + b) / 2
        own = np.nan_to_num(values(middle))
        lower = gap(left, own).max(axis=1) >= gap(own, right).max(axis=1)
        a, b = np.where(lower[:, None], a, middle), np.where(lower[:, None], middle, b)
        left, right = np.where(lower[:, None], left, own), np.where(lower[:, None], own, right)
    final = gap(left, right)
    kept = final.max(axis=1) > _CHANGE
    if not kept.any():
        return None
    return Jumps(rows[kept], ((a + b) / 2)[kept], left[kept], right[kept], final[kept])


def flux_values(problem: Problem) -> Values:
    """(m, d) -> (m, v) the entries of the derivative of the flux by the state: its coefficients."""
    derivative = derivatives(problem)

    def values(x: np.ndarray) -> np.ndarray:
        return derivative(x)[:, :, 1 : 1 + problem.dimension].reshape(len(x), -1)

    return values


def derivatives(problem: Problem) -> Values:
    """(m, d) -> (m, C, 1 + d, C, 1 + d) of source, flux and density by the state, at one state of the size of the data."""
    pointwise = Pointwise(problem, strong=True)
    state = data_states(problem, sample_points(problem, 1))[:1].abs() + 0.1
    return lambda x: pointwise.jacobian(torch.from_numpy(x), state.expand(len(x), -1, -1)).numpy()


def neighbours(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Neighbouring points (m, d) inside the domain along lines through it, the axis of each line, and its number."""
    through = sample_points(problem, _LINES).numpy()
    lower, upper = (np.asarray(v) for v in problem.domain.bounds)  # type: ignore[attr-defined]
    firsts, seconds, axes, numbers = [], [], [], []
    for axis in range(len(lower)):
        places = lower[axis] + (upper - lower)[axis] * (np.arange(_PLACES) + 0.437) / _PLACES
        line = np.repeat(through[:, None], _PLACES, axis=1)
        line[:, :, axis] = places
        if not isinstance(problem.domain, Mesh):
            inside = problem.domain.contains(line.reshape(-1, len(lower))).reshape(line.shape[:2])  # type: ignore[attr-defined]
        else:
            inside = np.ones(line.shape[:2], dtype=bool)
        both = inside[:, :-1] & inside[:, 1:]
        firsts.append(line[:, :-1][both])
        seconds.append(line[:, 1:][both])
        axes.append(np.full(int(both.sum()), axis))
        numbers.append(np.nonzero(both)[0])
    return np.concatenate(firsts), np.concatenate(seconds), np.concatenate(axes), np.concatenate(numbers)


def flux_jumps(problem: Problem) -> tuple[bool, PerAxis]:
    """Whether a coefficient of the flux jumps; and for each axis the coordinates c of planes x_i = c that it jumps across."""
    a, b, axis, line = neighbours(problem)
    found = jumps_between(flux_values(problem), a, b)
    lower, upper = (np.asarray(v) for v in problem.domain.bounds)  # type: ignore[attr-defined]
    result: list[tuple[float, ...]] = []
    for k in range(len(lower)):
        own = np.zeros(0, dtype=np.int64) if found is None else np.flatnonzero(axis[found.rows] == k)
        own = own if found is None else own[np.argsort(found.at[own, k])]
        places: list[float] = []
        extent = float(upper[k] - lower[k])
        while len(own) and found is not None:
            at = found.at[own, k]
            same = at <= at[0] + _SAME * extent
            lines = len(np.unique(line[found.rows[own[same]]]))
            if lines >= _SHARED:
                places.append(float(round(np.median(at[same]) / extent, 11)) * extent)
            own = own[~same]
        result.append(tuple(places) if len(places) <= _PLANES else ())
    return found is not None, tuple(result)
