"""Interfaces: coefficients and sources that jump inside the domain, found along lines and by bisection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from ..discretize.pointwise import Pointwise
from ..discretize.samples import data_states, sample_points
from ..mesh.mesh import Mesh
from ..problem.problem import Problem
from .findings import Finding
from .view import View

_LINES, _PLACES = 16, 120  # along each axis
_BISECTIONS = 36
_CHANGE = 1e-3  # of the size of all values, within a thousandth of a millionth of the domain
_MOST = 4000  # places that are looked at more closely

Values = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Jump:
    """Of a function of x: where the largest is, the values on both sides, and at how many of the lines there is one."""

    at: np.ndarray
    sides: tuple[float, float]
    axis: int
    part: float

    @property
    def ratio(self) -> float:
        """Of the larger to the smaller; infinite if one of them is zero or their signs differ."""
        small, large = sorted(abs(v) for v in self.sides)
        return large / small if small > 1e-12 * large and self.sides[0] * self.sides[1] > 0 else float("inf")


def interface_findings(view: View) -> list[Finding]:
    """Jumps of coefficients of the flux, at which slopes jump, and of the source, at which curvatures do."""
    problem = view.problem
    mode = "accuracy mode refines cells along it, so that the error falls slowly but surely"
    lines = "a mesh whose lines follow it (kinks=..., or a mesh of your own) needs far fewer cells"
    jump = flux_jump(problem)
    result = []
    if jump is not None:
        number = jump.ratio if np.isfinite(jump.ratio) else None
        by = "" if number is None else f", by a factor of {number:.4g}"
        text = f"a coefficient of the flux jumps at {_place(jump)} from {jump.sides[0]:.4g} to {jump.sides[1]:.4g}{by}"
        in_time = problem.over_time and jump.axis == problem.dimension
        severity = "note" if number is not None and number < 1e3 else "warning"
        if in_time:
            mode_, advice = "accuracy mode shortens the steps about that time", ""
        else:
            mode_, advice = mode, lines
        result.append(Finding("interfaces", severity, number, text, advice, mode_))  # type: ignore[arg-type]
    jump = source_jump(problem)
    if jump is not None:
        size = abs(jump.sides[1] - jump.sides[0])
        text = f"the source or one of its coefficients jumps at {_place(jump)} from {jump.sides[0]:.4g} to {jump.sides[1]:.4g}"
        result.append(Finding("sources", "note", size, text, "", mode))
    return result or [Finding("interfaces", "fine", 1.0, "no coefficient and no source jumps inside the domain")]


def flux_jump(problem: Problem) -> Jump | None:
    """The largest jump of an entry of the derivative of the flux by the state."""
    derivative = _derivative(problem)

    def values(x: np.ndarray) -> np.ndarray:
        return derivative(x)[:, :, 1 : 1 + problem.dimension].reshape(len(x), -1)

    return _largest(problem, values)


def source_jump(problem: Problem) -> Jump | None:
    """The largest jump of the source at u = 0, or of the derivative of source or density by the state."""
    pointwise, derivative = Pointwise(problem, strong=True), _derivative(problem)

    def values(x: np.ndarray) -> np.ndarray:
        at = torch.from_numpy(x)
        zero = torch.zeros(len(x), problem.components, 1 + x.shape[1], dtype=at.dtype)
        return pointwise.evaluate(at, zero)[:, :, 0].numpy()

    def coefficients(x: np.ndarray) -> np.ndarray:
        return np.delete(derivative(x), np.s_[1 : 1 + problem.dimension], 2).reshape(len(x), -1)

    return _largest(problem, coefficients) or _largest(problem, values)


def _derivative(problem: Problem) -> Values:
    """(m, d) -> (m, C, 1 + d, C, 1 + d) of source, flux and density by the state, at one state of the size of the data."""
    pointwise = Pointwise(problem, strong=True)
    state = data_states(problem, sample_points(problem, 1))[:1].abs() + 0.1
    return lambda x: pointwise.jacobian(torch.from_numpy(x), state.expand(len(x), -1, -1)).numpy()


def _largest(problem: Problem, values: Values) -> Jump | None:
    a, b, axis = _pairs(problem)
    if not len(a):
        return None
    left, right = values(a), values(b)
    finite = np.isfinite(left).all(axis=1) & np.isfinite(right).all(axis=1)
    a, b, axis, left, right = a[finite], b[finite], axis[finite], left[finite], right[finite]
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
    a, b, axis, left, right = a[chosen], b[chosen], axis[chosen], left[chosen], right[chosen]
    for _ in range(_BISECTIONS):
        middle = (a + b) / 2
        own = np.nan_to_num(values(middle))
        lower = gap(left, own).max(axis=1) >= gap(own, right).max(axis=1)
        a, b = np.where(lower[:, None], a, middle), np.where(lower[:, None], middle, b)
        left, right = np.where(lower[:, None], left, own), np.where(lower[:, None], own, right)
    final = gap(left, right)
    jumps = final.max(axis=1) > _CHANGE
    if not jumps.any():
        return None
    k = int(np.where(jumps, final.max(axis=1), 0.0).argmax())
    entry = int(final[k].argmax())
    sides = (float(left[k, entry]), float(right[k, entry]))
    return Jump((a[k] + b[k]) / 2, sides, int(axis[k]), float(jumps.mean()))


def _pairs(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Neighbouring points (m, d) inside the domain along lines through it, and the axis of each line."""
    through = sample_points(problem, _LINES).numpy()
    lower, upper = (np.asarray(v) for v in problem.domain.bounds)  # type: ignore[attr-defined]
    firsts, seconds, axes = [], [], []
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
    return np.concatenate(firsts), np.concatenate(seconds), np.concatenate(axes)


def _place(jump: Jump) -> str:
    return "(" + ", ".join(f"{v:.4g}" for v in jump.at) + ")"
