"""Interfaces: coefficients and sources that jump inside the domain, found along lines and by bisection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ..discretize.jumps import Values, derivatives, flux_values, jumps_between, neighbours
from ..discretize.pointwise import Pointwise
from ..problem.problem import Problem
from .findings import Finding
from .view import View


@dataclass(frozen=True)
class Jump:
    """Of a function of x: where the largest is, the values on both sides, and the axis of the line."""

    at: np.ndarray
    sides: tuple[float, float]
    axis: int

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
    return _largest(problem, flux_values(problem))


def source_jump(problem: Problem) -> Jump | None:
    """The largest jump of the source at u = 0, or of the derivative of source or density by the state."""
    pointwise, derivative = Pointwise(problem, strong=True), derivatives(problem)

    def values(x: np.ndarray) -> np.ndarray:
        at = torch.from_numpy(x)
        zero = torch.zeros(len(x), problem.components, 1 + x.shape[1], dtype=at.dtype)
        return pointwise.evaluate(at, zero)[:, :, 0].numpy()

    def coefficients(x: np.ndarray) -> np.ndarray:
        return np.delete(derivative(x), np.s_[1 : 1 + problem.dimension], 2).reshape(len(x), -1)

    return _largest(problem, coefficients) or _largest(problem, values)


def _largest(problem: Problem, values: Values) -> Jump | None:
    a, b, axis, _ = neighbours(problem)
    found = jumps_between(values, a, b)
    if found is None:
        return None
    k = int(found.gaps.max(axis=1).argmax())
    entry = int(found.gaps[k].argmax())
    sides = (float(found.left[k, entry]), float(found.right[k, entry]))
    return Jump(found.at[k], sides, int(axis[found.rows[k]]))


def _place(jump: Jump) -> str:
    return "(" + ", ".join(f"{v:.4g}" for v in jump.at) + ")"
