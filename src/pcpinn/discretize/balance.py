"""Equations that a pin cannot make solvable: what flows into a closed domain has to be what is used up inside."""

from __future__ import annotations

import numpy as np
import torch

from ..errors import PcpinnError
from ..problem.problem import Problem
from .discretisation import Discretisation

_INDEPENDENT = 1e-9  # change of a sum that is rounding
_BALANCED = 0.01  # part of all that flows which quadrature on a coarse mesh may misjudge


def refuse_unbalanced(discretisation: Discretisation) -> None:
    """Refuse pinned fields whose equations add up to something other than zero, whatever the fields are.

    A field that is known only up to a constant (pure Neumann conditions, the pressure of a closed flow) has an equation whose sum
    over the domain does not contain it: source and boundary data alone must balance. A pin then hides that they do not: all of
    the rest flows out at that point.

    Raises:
        PcpinnError: with the part that is missing.
    """
    problem = discretisation.problem
    if not problem.pins or problem.over_time or discretisation.name != "fem":
        return
    constraints, size = discretisation.constraints, discretisation.size
    random = np.random.default_rng(0)
    unit = float(np.abs(constraints.value).max(initial=0.0)) or 1.0
    states = [np.zeros(size), unit * random.normal(size=size), unit * random.normal(size=size)]
    residuals = [discretisation.residual(torch.from_numpy(constraints.satisfied(u))).numpy() for u in states]
    for name, component in _pinned(problem):
        own = np.flatnonzero(discretisation.unknown_components == component)
        prescribed = np.isin(own, constraints.constrained[constraints.master < 0]).sum()
        if prescribed > len(problem.pins):
            continue  # given on a boundary, too
        sums, flows = [float(r[own].sum()) for r in residuals], [float(np.abs(r[own]).sum()) for r in residuals]
        if abs(sums[1] - sums[0]) + abs(sums[2] - sums[0]) > _INDEPENDENT * max(flows):
            continue  # the fields can see to it
        if flows[0] and abs(sums[0]) > _BALANCED * flows[0]:
            raise PcpinnError(
                f"the equation of {name!r} has no solution: its source and boundary data add up to {-sums[0]:.3g} "
                f"({abs(sums[0]) / flows[0]:.0%} of all that flows), which has to be 0 where no condition gives its value",
                "balance source and conditions (the integral of the source over the domain is that of flux . n over its "
                "boundary), or give values with Dirichlet or Robin somewhere; a pin fixes a constant and nothing else",
            )


def _pinned(problem: Problem) -> set[tuple[str, int]]:
    """Fields and components (among all) that have pins."""
    names = [pin.field or problem.unknowns[0].name for pin in problem.pins]
    return {(n, problem.component_range(n)[p.component]) for n, p in zip(names, problem.pins, strict=True)}
