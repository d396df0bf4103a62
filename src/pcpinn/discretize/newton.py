"""Newton's method for nodal values, no network involved: one loop for whole problems, windows of a march and inner solves."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from ..errors import PcpinnError
from .equation import Equation, Matrix, V
from .field_units import relative, scaled_norm
from .linear_solves import Factors

M = TypeVar("M")
Solve = Callable[[V], V]  # A^-1, or P^-1 in its place

SMALLEST_DAMPING = 1 / 256
_GAIN = 0.25  # a step of length s must shrink the correction by a factor of 1 - s / 4
_FLOOR = 1e3  # in tolerances: below this, corrections that no longer fall are rounding errors
_DIVERGED = 1e3  # relative correction that no undamped iteration comes back from


@dataclass(frozen=True)
class Newton(Generic[V]):
    """How an iteration ended.

    Attributes:
        u: the last iterate.
        corrections: ||correction|| / ||u|| of each step, the largest over the fields.
        converged: whether the last one is within the tolerance, or as small as rounding allows.
    """

    u: V
    corrections: list[float]
    converged: bool


def newton(
    equation: Equation[V, M],
    u: V,
    invert: Callable[[M], Solve[V]],
    tolerance: float = 1e-10,
    steps: int = 40,
    damped: bool = True,
    at_hand: Solve[V] | None = None,
    refresh: int = 1,
) -> Newton[V]:
    """Solve F(u) = 0.

    Args:
        equation: F.
        u: first iterate.
        invert: makes A^-1 (or P^-1) from A.
        tolerance: of the last correction, relative to u.
        steps: largest number of steps.
        damped: shorten steps until the next correction is smaller (`natural_damping`); else take them whole.
        at_hand: an inverse from before to begin with, where one serves for several steps.
        refresh: how many steps an inverse serves.
    """
    corrections: list[float] = []
    solve = at_hand
    for k in range(steps):
        if solve is None or k % refresh == refresh - 1:
            solve = invert(equation.linearise(u))
        correction = solve(equation.residual(u))
        whole = equation.moved(u, correction, 1.0)
        size = relative(equation, correction, whole)
        corrections.append(size)
        if not math.isfinite(size) or (
            k and not damped and size > _DIVERGED
        ):  # the first may lead to zero from anywhere
            break
        if size <= tolerance or (k and size < _FLOOR * tolerance and size > 0.5 * corrections[-2]):
            return Newton(whole, corrections, True)
        step = natural_damping(equation, u, correction, solve) if damped else Step[V](1.0)
        if step is None:
            break
        u = equation.moved(u, correction, step.factor)
        if step.next is not None and step.factor == 1.0:  # a linear problem is solved, and its matrix not needed again
            size = relative(equation, step.next, u)
            if size <= tolerance:
                return Newton(equation.moved(u, step.next, 1.0), [*corrections, size], True)
    return Newton(u, corrections, False)


@dataclass(frozen=True)
class Step(Generic[V]):
    """A part of a correction that is taken, and the next correction with the same P, where it is known."""

    factor: float
    next: V | None = None


def natural_damping(equation: Equation[V, Any], u: V, correction: V, solve: Solve[V]) -> Step[V] | None:
    """The longest step 1, 1/2, 1/4, ... along -P^-1 F(u) that brings the next correction down; None if there is none.

    The test is the natural one (Deuflhard, Newton Methods for Nonlinear Problems, 2004): corrections with the same P are
    compared, not residuals, so that the scaling of the equations has no say in it.

    Args:
        equation: F.
        u: where.
        correction: P^-1 F(u).
        solve: P^-1.
    """
    whole = equation.moved(u, correction, 1.0)
    size, factor = scaled_norm(equation, correction, whole), 1.0
    while factor >= SMALLEST_DAMPING:
        with np.errstate(all="ignore"):
            F = equation.residual(equation.moved(u, correction, factor))
            following = solve(F) if math.isfinite(equation.norm(F)) else None
            next_size = math.inf if following is None else scaled_norm(equation, following, whole)
        if next_size <= (1 - _GAIN * factor) * size:
            return Step(factor, following)
        factor /= 2
    return None


def direct(matrix: Matrix[np.ndarray]) -> Solve[np.ndarray]:
    """A^-1 by sparse factors."""
    refusal = PcpinnError("the linearised matrix is singular", "begin from a better guess (start=...)")
    return Factors(matrix.to_scipy(), refusal).apply


def sizes_in_words(sizes: list[float]) -> str:
    """The last ten, shortly."""
    return ("... " if len(sizes) > 10 else "") + ", ".join(f"{s:.1e}" for s in sizes[-10:])
