"""Direct solves of single problems of a family, for those who compare: no training takes part in them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator

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
_LEFT = 1e-9  # of the right side: what the equations may have left of it where a matrix is taken for that of other parameters
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

    Matrices of a linear family are assembled together; one that does not change is assembled and factorised once. Newton's method
    of a nonlinear one begins at the solution for the nearest parameters that are done. Where it does not converge, it goes there
    from the middle of the ranges, in shorter and shorter steps.

    Raises:
        PcpinnError: where it does not converge even so.
    """
    return _linear(system, mu) if system.linear else _along(system, mu)


def _linear(system: AnySystem, mu: Tensor) -> np.ndarray:
    found = []
    known: np.ndarray | None = None
    same, factors = True, None
    for some in mu.split(_together(system)):
        b = system.right_side(some)
        if same and factors is not None:
            together = _all_by(factors, system, some, b)
            if together is not None:
                found.append(together)
                continue
        A = system.linearise(None, some)
        for s in range(len(some)):
            own = A.to_scipy(s)
            if known is None or not _are_same(own.data, known):
                same = known is None
                known, factors = own.data.copy(), Factors(own)
            assert factors is not None
            with np.errstate(all="ignore"):
                found.append(torch.from_numpy(factors.apply(b[s].cpu().numpy()))[None])
    u = torch.cat(found).numpy()
    if not np.isfinite(u).all():
        raise singular()
    return u


def _together(system: AnySystem) -> int:
    """Problems whose matrices are assembled together; over slabs each has its own."""
    return max(1, _AT_ONCE // len(system.pattern.indices)) if isinstance(system, Assembly) else 1


def _are_same(entries: np.ndarray, known: np.ndarray) -> bool:
    """Whether two matrices of one pattern are the same, but for rounding."""
    return entries.shape == known.shape and bool(np.abs(entries - known).max() <= _SAME * np.abs(known).max())


def _all_by(factors: Factors, system: AnySystem, mu: Tensor, b: Tensor) -> Tensor | None:
    """Solutions with the factors of another matrix; None where the equations say that these have another one."""
    with np.errstate(all="ignore"):
        u = torch.from_numpy(np.stack([factors.apply(row) for row in b.cpu().numpy()])).to(b)
    left, size = system.residual(u, mu).abs().amax(1), b.abs().amax(1)
    return u.cpu() if bool((left <= _LEFT * size).all()) else None


def _along(system: AnySystem, mu: Tensor) -> np.ndarray:
    found = dict(direct_one_by_one(system, system.family.scaled(mu)))
    return np.stack([found[k] for k in range(len(mu))])


def direct_one_by_one(
    system: AnySystem, z: Tensor, before: tuple[Tensor, np.ndarray] | None = None
) -> Iterator[tuple[int, np.ndarray]]:
    """Numbers of scaled parameters (Q, K), and their discrete solutions (N,), by Newton's method.

    Always the nearest to one that is done; the first is the nearest to the middle of the ranges. Some may be done `before`:
    parameters (S, K) and solutions (S, N).
    """
    mu = system.family.value(z)
    at, known = (z[:0], []) if before is None else (before[0], list(before[1]))
    left = list(range(len(z)))
    while left:
        apart = torch.cdist(z[left], at if known else torch.zeros_like(z[:1]))
        nearest = int(apart.amin(1).argmin())
        start = known[int(apart[nearest].argmin())] if known else None
        k = left.pop(nearest)
        known.append(_at(system, mu[k], start))
        at = torch.cat([at, z[k : k + 1]])
        yield k, known[-1]


def _at(system: AnySystem, mu: Tensor, start: np.ndarray | None = None) -> np.ndarray:
    if start is not None:
        with contextlib.suppress(PcpinnError):
            return direct_solution(system.discretisation(mu), start)
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


def distance(system: AnySystem, finer: AnySystem, mu: Tensor, u: np.ndarray) -> float:
    """The largest relative distance of solutions (Q, N) from those of a finer discretisation, at the nodes of the latter."""
    worst, nodes = 0.0, finer.nodes
    known = direct_solutions(finer, mu) if finer.linear else None
    for k, (m, own) in enumerate(zip(mu, u, strict=False)):
        here = system.discretisation(m).interpolate(own, nodes.points)[nodes.point_of, nodes.component_of]
        better = direct_solution(finer.discretisation(m), here) if known is None else known[k]
        e, v = torch.from_numpy(here - better)[None], torch.from_numpy(better)[None]
        worst = max(worst, float(finer.relative(e, v)[0]))
    return worst if math.isfinite(worst) else math.inf
