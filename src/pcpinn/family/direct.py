"""Direct solves of single problems of a family, for those who compare: no training takes part in them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..discretize.discrete_equation import DiscreteEquation
from ..discretize.discretisation import Discretisation
from ..discretize.linear_solves import Factors, solve_sparse
from ..discretize.nonlinear import first_linearisation, solve_newton
from ..discretize.singular import singular
from ..errors import PcpinnError
from .assembly import Assembly
from .discretise import AnySystem

_HALVINGS = 5  # of the way from the middle of the ranges
_AT_ONCE = 4_000_000  # entries of matrices that are assembled together
_SAME = 1e-13  # of a matrix's largest entry: rounding between samples


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

    Matrices of a linear family are assembled together; one that does not change is factorised once. Where Newton's method does
    not converge, it goes there from the middle of the ranges, in shorter and shorter steps.

    Raises:
        PcpinnError: where it does not converge even so.
    """
    if isinstance(system, Assembly) and system.linear:
        return _linear(system, mu)
    return np.stack([_at(system, m) for m in mu])


def _linear(system: Assembly, mu: Tensor) -> np.ndarray:
    found, step = [], max(1, _AT_ONCE // len(system.pattern.indices))
    known: Tensor | None = None
    for some in mu.split(step):
        A, b = system.linearise(None, some), system.right_side(some)
        for s in range(len(some)):
            entries = A.entries[min(s, len(A) - 1)]
            if known is None or float((entries - known).abs().max()) > _SAME * float(known.abs().max()):
                known, factors = entries.clone(), Factors(A.to_scipy(s))
            with np.errstate(all="ignore"):
                found.append(torch.from_numpy(factors.apply(b[s].cpu().numpy())))
    u = torch.stack(found).numpy()
    if not np.isfinite(u).all():
        raise singular()
    return u


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
