"""Direct solves of single problems of a family, for those who compare: no training takes part in them."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from ..discretize.discrete_equation import DiscreteEquation
from ..discretize.discretisation import Discretisation
from ..discretize.linear_solves import solve_sparse
from ..discretize.nonlinear import first_linearisation, solve_newton
from ..errors import PcpinnError
from .discretise import AnySystem

_HALVINGS = 5  # of the way from the middle of the ranges


def direct_solution(form: Discretisation, start: np.ndarray | None = None) -> np.ndarray:
    """(N,) the discrete solution, by Newton's method, from `start` or from the linear part, if it is nonlinear."""
    equation = DiscreteEquation(form)
    if start is not None:
        return solve_newton(equation, start)
    first = first_linearisation(equation)
    u = solve_sparse(first.A, first.b)
    return u if first.exact_at(u) else solve_newton(equation, u)


def direct_solutions(system: AnySystem, mu: Tensor) -> np.ndarray:
    """(Q, N) discrete solutions at parameters (Q, K).

    Where Newton's method does not converge, it goes there from the middle of the ranges, in shorter and shorter steps.

    Raises:
        PcpinnError: where it does not converge even so.
    """
    return np.stack([_at(system, m) for m in mu])


def _at(system: AnySystem, mu: Tensor) -> np.ndarray:
    try:
        return direct_solution(system.discretisation(mu))
    except PcpinnError as error:
        if system.linear:
            raise
        problem = error
    family = system.family
    z, done, step, u = family.scaled(mu), 0.0, 0.5, direct_solution(system.discretisation(family.middle))
    while done < 1:
        try:
            u = direct_solution(system.discretisation(family.value((done + step) * z)), u)
            done += step
            step = min(2 * step, 1 - done)
        except PcpinnError:
            step /= 2
            if step < 2.0**-_HALVINGS:
                raise problem from None
    return u
