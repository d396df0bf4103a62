"""Jumps of a problem's coefficients inside its domain: found between neighbouring points, located by bisection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from ..mesh.mesh import Mesh
from ..mesh.topology import edges_of
from ..problem.problem import Problem
from ..recipes import PerAxis
from .pointwise import Pointwise
from .samples import data_states, sample_points

_FEW = 12  # points at which is seen which equations have diffusion
_LINES, _PLACES = 16, 600  # along each axis
_BISECTIONS = 36
_CHANGE = 1e-3  # of the size of all values, within a thousandth of a millionth of the domain
_MOST = 4000  # places that are looked at more closely
_SAME = 1e-7  # of the domain: jumps on different lines that lie on one plane
_SHARED = 3  # lines, at least, that a plane across an axis is seen on
_PLANES = 20  # along an axis; more of them are a pattern that no first mesh follows
_MOMENT = 0.437  # of the span of time, at which coefficients over time are looked at
_OTHERS = (0.071, 0.893)  # and at which jumps must still be where they are
_REACH = 1e-5  # of the domain: so far from a jump both sides of it are looked at
_OF_EDGE = 1e-3  # the same, of an edge that it crosses
_STAYS = 0.9  # of the jumps: else they move

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


def slope_values(problem: Problem) -> Values:
    """(m, d) -> (m, v) coefficients whose jumps make slopes of a solution jump: those of the flux, and of equations without
    diffusion, such as Maxwell's or pure transport, all others too."""
    derivative, d = derivatives(problem), problem.dimension
    x = sample_points(problem, _FEW).numpy()
    diffuses = (derivative(x)[:, :, 1 : 1 + d, :, 1 : 1 + d] != 0).any(axis=(0, 2, 3, 4)) if len(x) else True

    def values(x: np.ndarray) -> np.ndarray:
        J = derivative(x)
        carried = J[:, ~np.broadcast_to(diffuses, J.shape[1])]
        others = (carried[:, :, 0], carried[:, :, -1]) if problem.over_time else (carried[:, :, 0],)
        return np.concatenate([part.reshape(len(x), -1) for part in (J[:, :, 1 : 1 + d], *others)], axis=1)

    return values


def source_values(problem: Problem) -> Values:
    """(m, d) -> (m, C) the source, at one state of the size of the data."""
    pointwise = Pointwise(problem, strong=True)
    state = data_states(problem, sample_points(problem, 1))[:1]
    return lambda x: pointwise.evaluate(torch.from_numpy(x), state.expand(len(x), -1, -1))[..., 0].numpy()


def followed_values(problem: Problem) -> Values:
    """(m, d) -> (m, v) what meshes follow: coefficients that make slopes jump; in steady problems sources too, which rules
    on cells that they jump in integrate badly; over time the coefficients of all densities, as they are inside the span of time.
    """
    slopes = slope_values(problem)
    if not problem.over_time:
        sources = source_values(problem)
        return lambda x: np.concatenate([slopes(x), sources(x)], axis=1)
    derivative = derivatives(problem)

    def values(x: np.ndarray) -> np.ndarray:
        return np.concatenate([slopes(x), derivative(x)[:, :, -1].reshape(len(x), -1)], axis=1)

    return at_moment(problem, values)


def at_moment(problem: Problem, values: Values, part: float = _MOMENT) -> Values:
    """Functions of place and time as functions of the place, at a part of the span of time; of place alone as they are."""
    if not problem.over_time:
        return values
    start, end = (float(b[-1]) for b in problem.domain.bounds)  # type: ignore[attr-defined]
    t = start + part * (end - start)
    return lambda x: values(np.column_stack([x, np.full(len(x), t)]))


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


def slope_jumps(problem: Problem) -> tuple[bool, PerAxis]:
    """Whether a coefficient jumps that makes slopes jump; and for each axis the coordinates c of the planes x_i = c of such.

    Over time the axes are those of space, and jumps that move are none.
    """
    a, b, axis, line = neighbours(problem)
    d = problem.dimension if problem.over_time else a.shape[1]
    own = axis < d
    a, b, axis, line = a[own], b[own], axis[own], line[own]
    values = slope_values(problem)
    found = jumps_between(values, a, b)
    lower, upper = (np.asarray(v) for v in problem.domain.bounds)  # type: ignore[attr-defined]
    reach = _REACH * np.eye(len(lower))[axis] * (upper - lower)
    if found is None or (problem.over_time and not _stay(values, found, reach, lower, upper)):
        return False, ((),) * d
    return True, tuple(_planes(found, axis, line, k, float(upper[k] - lower[k])) for k in range(d))


def sources_jump(problem: Problem) -> bool:
    """Whether the source of a steady problem jumps somewhere."""
    if problem.over_time:
        return False
    a, b, _, _ = neighbours(problem)
    return jumps_between(source_values(problem), a, b) is not None


def crossed_edges(problem: Problem, mesh: Mesh) -> bool:
    """Whether what meshes follow jumps between the ends of edges of a mesh of space, and stays there over time."""
    ends = edges_of(mesh.vertices)[0] if mesh.dimension == 2 else mesh.vertices
    a, b = mesh.nodes[ends[:, 0]], mesh.nodes[ends[:, 1]]
    if not problem.over_time:
        return jumps_between(followed_values(problem), a, b) is not None
    lower, upper = (np.asarray(v) for v in problem.domain.bounds)  # type: ignore[attr-defined]
    t = lower[-1] + _MOMENT * (upper - lower)[-1]
    a, b = (np.column_stack([x, np.full(len(x), t)]) for x in (a, b))
    values = slope_values(problem)
    found = jumps_between(values, a, b)
    return found is not None and _stay(values, found, _OF_EDGE * (b - a), lower, upper)


def _planes(found: Jumps, axis: np.ndarray, line: np.ndarray, k: int, extent: float) -> tuple[float, ...]:
    """Coordinates along axis k at which several lines see a jump; none where there are very many."""
    own = np.flatnonzero(axis[found.rows] == k)
    own = own[np.argsort(found.at[own, k])]
    places: list[float] = []
    while len(own):
        at = found.at[own, k]
        same = at <= at[0] + _SAME * extent
        lines = len(np.unique(line[found.rows[own[same]]]))
        if lines >= _SHARED:
            places.append(float(round(np.median(at[same]) / extent, 11)) * extent)
        own = own[~same]
    return tuple(places) if len(places) <= _PLANES else ()


def _stay(values: Values, found: Jumps, reach: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> bool:
    """Whether jumps between pairs of points are at the same places at other moments, within a reach (m, d) of each pair."""
    reach = reach[found.rows]
    for part in _OTHERS:
        at = found.at.copy()
        at[:, -1] = lower[-1] + part * (upper - lower)[-1]
        left, right = values(at - reach), values(at + reach)
        larger = np.maximum(np.maximum(np.abs(left), np.abs(right)).max(axis=1), 1e-300)
        if (np.abs(left - right).max(axis=1) > _CHANGE * larger).mean() < _STAYS:
            return False
    return True
