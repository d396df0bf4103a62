"""The linear systems of Newton's method, and the discrete solution of a problem."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..errors import PcpinnError
from .discrete_equation import AssembledMatrix, DiscreteEquation
from .equation import Matrix
from .linear_solves import solve_sparse
from .newton import Newton, Solve, direct, newton, sizes_in_words
from .not_finite import not_finite
from .singular import Degenerate
from .system import LinearSystem, linear_part


class NotSolved(PcpinnError):
    """No discrete solution was found.

    Attributes:
        sensitive: it is rounding that keeps it from being found: the matrix of a linear problem is all but singular.
    """

    def __init__(self, problem: str, remedy: str, sensitive: bool = False) -> None:
        super().__init__(problem, remedy)
        self.sensitive = sensitive


@dataclass(frozen=True)
class Linearisation(LinearSystem):
    """A v = b, whose solution v is the next Newton iterate after u: b = A u - F(u).

    Attributes:
        at: (N,) the degrees of freedom u.
        residual: (N,) F(u).
        from_zero: whether it is the linear part of the problem, the usual first one.
    """

    at: np.ndarray
    residual: np.ndarray
    from_zero: bool = False

    def damped(self, factor: float) -> Linearisation:
        """The system of a shorter step, A v = A u - factor F(u); constraints are met in full all the same."""
        b = self.A @ self.at - factor * self.residual
        constrained = self.discretisation.constraints.constrained
        b[constrained] = self.b[constrained]
        return replace(self, b=b)

    @cached_property
    def solution(self) -> np.ndarray:
        """The discrete solution u_h of the problem, linear or not: for measuring errors; training never sees it."""
        u = solve_sparse(self.A, self.b)
        return u if self.exact_at(u) else solve_newton(self.equation, u if self.from_zero else self.at)


def first_linearisation(equation: DiscreteEquation) -> Linearisation:
    """The linear part: the linearisation at u = 0, conditions left out of it; of a linear problem it is all there is."""
    try:
        system = linear_part(equation)
    except Degenerate as error:
        remedy = f"{error.remedy}; a nonlinear problem that is degenerate at u = 0 needs a first guess (start=...)"
        raise PcpinnError(error.problem, remedy) from error
    return Linearisation(equation, system.A, system.b, np.zeros(system.size), -system.b, from_zero=True)


def linearised_system(equation: DiscreteEquation, u: np.ndarray, A: sp.csr_matrix | None = None) -> Linearisation:
    """The linearisation at u (N,).

    Args:
        equation: F.
        u: where.
        A: a matrix to take in place of the derivative at u (constraints built in), such as that of the linear part.

    Raises:
        PcpinnError: when residual or derivative are not finite, or the matrix is singular in an obvious way.
    """
    F = equation.residual(u)
    if A is None:
        A = equation.linearise(u).A
    if not np.isfinite(F).all():
        raise not_finite(equation.discretisation, equation.satisfied(u))
    return Linearisation(equation, A, A @ u - F, u, F)


def linearised_near(equation: DiscreteEquation, u: np.ndarray) -> Linearisation:
    """The linear part where it is exact at u (N,), as it is for linear problems; else the linearisation at u."""
    with contextlib.suppress(PcpinnError):  # it may be degenerate where that at u is not
        first = first_linearisation(equation)
        if first.exact_at(u):
            return first
    return linearised_system(equation, u)


def solve_newton(
    equation: DiscreteEquation,
    start: np.ndarray | None = None,
    invert: Callable[[Matrix[np.ndarray]], Solve[np.ndarray]] = direct,
    tolerance: float = 1e-10,
    steps: int = 40,
) -> np.ndarray:
    """The discrete solution (N,) by Newton's method with damping, no network involved.

    Args:
        equation: F.
        start: (N,) first iterate; by default the solution of the linear part.
        invert: makes A^-1 from A.
        tolerance: of the last correction, relative to u.
        steps: largest number of steps.

    Raises:
        NotSolved: when it does not converge.
    """
    if start is None:
        first = first_linearisation(equation)
        start = invert(AssembledMatrix(first.A))(first.b)
    found = newton(equation, start, invert, tolerance, steps)
    if not found.converged:
        raise _not_solved(equation, found)
    return equation.satisfied(found.u)


def _not_solved(equation: DiscreteEquation, found: Newton[np.ndarray]) -> NotSolved:
    sizes = sizes_in_words(found.corrections)
    with contextlib.suppress(PcpinnError):
        if first_linearisation(equation).exact_at(found.u):
            return NotSolved(
                "the matrix of this linear problem is all but singular: "
                f"solving it again changes the solution by {sizes} of itself",
                "look for a resonance, or for conditions that leave a part of the solution all but free",
                sensitive=True,
            )
    return NotSolved(
        f"Newton's method with direct solves did not converge; relative corrections: {sizes}",
        "begin from a better guess (start=...), or approach the problem by pcpinn.continuation",
    )
