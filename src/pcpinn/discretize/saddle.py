"""Fields that only enforce a condition on others, such as the pressure of a flow: their elements are of one degree less.

With elements of the same degree for both, pressures that no velocity feels are left free, and the matrix is singular.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..problem.problem import Problem
from .jumps import derivatives
from .samples import sample_points

_POINTS = 12


def multipliers(problem: Problem) -> tuple[str, ...]:
    """Names of fields p whose own equation does not contain them but first derivatives of a field u, which has diffusion of
    its own, or in a steady problem its value (Darcy's law), and p, or its gradient, in its equations."""
    fields = problem.unknowns
    there = _there(problem) if len(fields) > 1 else None
    if there is None:
        return ()
    own, space = _components(problem), slice(1, 1 + problem.dimension)

    def enforces(p: slice, u: slice) -> bool:
        of_u, of_p = there[p][:, :, u], there[u][:, :, p]
        tied = of_u[:, 0, :, space].any() or of_u[:, space, :, 0].any()
        felt = of_p[:, space, :, 0].any() or of_p[:, 0, :, space].any()
        own = there[u, space, u, space].any() or (not problem.over_time and there[u, 0, u, 0].any())
        return bool(tied and felt and own)

    return tuple(
        f.name
        for f, p in zip(fields, own, strict=True)
        if not there[p][:, :, p].any() and any(enforces(p, u) for u in own if u is not p)
    )


def of_first_order(problem: Problem) -> bool:
    """Whether no field has diffusion, but there are those that only enforce a condition on others: a mixed form, of s = grad u
    and div s = f, say. Elements for a pressure are stable there, but s converges with an order less than its degree allows."""
    there = _there(problem) if multipliers(problem) else None
    space = slice(1, 1 + problem.dimension)
    return there is not None and not there[:, space, :, space].any()


def _there(problem: Problem) -> np.ndarray | None:
    """(C, rows, C, columns) bool: which derivatives of source and flux by the state are not zero everywhere."""
    x = sample_points(problem, _POINTS).numpy()
    return np.abs(derivatives(problem)(x)).max(axis=0) > 0 if len(x) else None


def _components(problem: Problem) -> list[slice]:
    """Of each field."""
    return [slice(c.start, c.stop) for c in (problem.component_range(f.name) for f in problem.unknowns)]


def with_stable_degrees(problem: Problem) -> tuple[Problem, tuple[str, ...]]:
    """The problem with elements of one degree less for such fields, if nothing is said of any degree; and their names."""
    if any(f.lower or f.degree for f in problem.unknowns):
        return problem, ()
    names = multipliers(problem)
    if not names:
        return problem, ()
    return replace(problem, fields=[replace(f, lower=int(f.name in names)) for f in problem.unknowns]), names
