"""Nonlinear problems: the residual F(u) with constraints built in, its linearisations, and the discrete solution.

F(u) is the weak form at u with its constrained unknowns put right, beside u_i - g for these. Its derivative is then exactly
the matrix of a linear system with constraints as rows, and networks need not satisfy them to be linearised at.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
import torch

from ..errors import PcpinnError
from .system import Discretisation, LinearSystem, distinct_points, eliminate, linear_part, refuse_singular

Apply = Callable[[np.ndarray], np.ndarray]

SMALLEST_DAMPING = 1 / 256
_GAIN = 0.25  # a step of length s must shrink the correction by a factor of 1 - s / 4


@dataclass(frozen=True)
class Linearisation(LinearSystem):
    """A v = b, whose solution v is the next Newton iterate after u: b = A u - F(u).

    Attributes:
        at: (N,) the unknowns u.
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
        """The discrete solution u_h of the nonlinear problem: for measuring errors; training never sees it."""
        return solve_newton(self.discretisation, None if self.from_zero else self.at)


def constrained_residual(discretisation: Discretisation, u: np.ndarray) -> np.ndarray:
    """F(u) (N,)."""
    constraints = discretisation.constraints
    v = constraints.satisfied(u)
    F = constraints.reduced(discretisation.residual(torch.from_numpy(v)).numpy()[constraints.tested_at])
    F[constraints.constrained] = (u - v)[constraints.constrained]
    return F


def first_linearisation(discretisation: Discretisation) -> Linearisation:
    """The linear part: the linearisation at u = 0, conditions left out of it."""
    try:
        system = linear_part(discretisation)
    except PcpinnError as error:
        remedy = f"{error.remedy}; a problem that is degenerate at u = 0 needs a first guess (start=...)"
        raise PcpinnError(f"linearised at u = 0, {error.problem}", remedy) from error
    known = {f.name: getattr(system, f.name) for f in fields(LinearSystem)}
    return Linearisation(**known, at=np.zeros(system.size), residual=-system.b, from_zero=True)


def linearised_system(
    discretisation: Discretisation, u: np.ndarray, A: sp.csr_matrix | None = None, like: LinearSystem | None = None
) -> Linearisation:
    """The linearisation at u (N,).

    Args:
        discretisation: of the problem.
        u: where.
        A: a matrix to take in place of the derivative at u (constraints built in), such as that of the linear part.
        like: another system of the same discretisation, to take over what does not change.

    Raises:
        PcpinnError: when residual or derivative are not finite, or the matrix is singular in an obvious way.
    """
    F = constrained_residual(discretisation, u)
    if A is None:
        constraints = discretisation.constraints
        K = discretisation.matrix(torch.from_numpy(constraints.satisfied(u)))[constraints.tested_at]
        A, _ = eliminate(K, np.zeros(discretisation.size), constraints)
        refuse_singular(A, discretisation)
    if not (np.isfinite(A.data).all() and np.isfinite(F).all()):
        raise PcpinnError(
            "the residual or its derivative is not finite at the present iterate",
            "begin from a better guess (start=...), or approach the problem by pcpinn.continuation",
        )
    points, point_of = (
        distinct_points(discretisation.unknown_nodes, discretisation.components)
        if like is None
        else (like.points, like.point_of)
    )
    components = np.asarray(discretisation.unknown_components)
    return Linearisation(
        discretisation, A, A @ u - F, points, point_of, components, discretisation.weights, at=u, residual=F
    )


def damping_factor(system: Linearisation, apply: Apply) -> float | None:
    """The longest step 1, 1/2, 1/4, ... along -P^-1 F(u) that brings the next correction down; None if there is none.

    The test is the natural one (Deuflhard, Newton Methods for Nonlinear Problems, 2004): corrections with the same P are
    compared, not residuals, so that the scaling of the equations has no say in it.
    """
    correction = apply(system.residual)
    size = system.norm(correction)
    constrained = system.discretisation.constraints.constrained
    factor = 1.0
    while factor >= SMALLEST_DAMPING:
        trial = system.at - factor * correction
        trial[constrained] = (system.at - correction)[constrained]
        with np.errstate(all="ignore"):
            F = constrained_residual(system.discretisation, trial)
            next_size = system.norm(apply(F)) if np.isfinite(F).all() else math.inf
        if next_size <= (1 - _GAIN * factor) * size:
            return factor
        factor /= 2
    return None


def direct(A: sp.csr_matrix) -> Apply:
    """A^-1 by sparse factors."""
    try:
        return spla.splu(A.tocsc(), permc_spec="COLAMD").solve
    except RuntimeError as error:
        raise PcpinnError("the linearised matrix is singular", "begin from a better guess (start=...)") from error


def solve_newton(
    discretisation: Discretisation,
    start: np.ndarray | None = None,
    invert: Callable[[sp.csr_matrix], Apply] = direct,
    tolerance: float = 1e-10,
    steps: int = 40,
) -> np.ndarray:
    """The discrete solution by Newton's method with damping, no network involved.

    Args:
        discretisation: of the problem.
        start: (N,) first iterate; by default the solution of the linear part.
        invert: makes A^-1 from A.
        tolerance: of the last correction, relative to u.
        steps: at most so many.

    Raises:
        PcpinnError: when it does not converge.
    """
    system = first_linearisation(discretisation) if start is None else linearised_system(discretisation, start)
    sizes: list[float] = []
    for _ in range(steps):
        apply = invert(system.A)
        correction = apply(system.residual)
        u = system.at - correction
        sizes.append(system.norm(correction) / (system.norm(u) or 1.0))
        if not np.isfinite(u).all():
            break
        if sizes[-1] <= tolerance:
            return discretisation.constraints.satisfied(u)
        # Rounding is the floor: a correction that is tiny and no longer falls is the last.
        if len(sizes) > 1 and sizes[-1] < 1e3 * tolerance and sizes[-1] > 0.5 * sizes[-2]:
            return discretisation.constraints.satisfied(u)
        factor = 1.0 if system.from_zero else damping_factor(system, apply)
        if factor is None:
            break
        constrained = discretisation.constraints.constrained
        u = system.at - factor * correction
        u[constrained] = (system.at - correction)[constrained]
        system = linearised_system(discretisation, u, like=system)
    raise PcpinnError(
        f"Newton's method with direct solves did not converge; relative corrections: {sizes_in_words(sizes)}",
        "begin from a better guess (start=...), or approach the problem by pcpinn.continuation",
    )


def sizes_in_words(sizes: list[float]) -> str:
    """The last ten, shortly."""
    return ("... " if len(sizes) > 10 else "") + ", ".join(f"{s:.1e}" for s in sizes[-10:])
