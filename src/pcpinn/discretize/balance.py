"""Equations that a pin cannot make solvable: what flows into a closed domain has to be what is used up inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ..errors import PcpinnError
from ..problem.problem import Problem
from .constraints import Constraints
from .discretisation import Discretisation
from .space import Space
from .spatial_form import SpatialForm
from .transfer import mass_times
from .weak_form import WeakForm

_INDEPENDENT = 1e-9  # change of a sum that is rounding
_BALANCED = 0.01  # part of all that flows which quadrature on a coarse mesh may misjudge


@dataclass(frozen=True)
class Imbalance:
    """An equation whose sum over the domain contains none of the fields: data alone must make it zero.

    Attributes:
        name: of the pinned field.
        own: its degrees of freedom.
        total: the sum.
        flow: the sum of absolute values.
    """

    name: str
    own: np.ndarray
    total: float
    flow: float


def imbalances(discretisation: Discretisation) -> list[Imbalance]:
    """Of the pinned fields of a steady problem that are known only up to a constant: pure Neumann, pressures of closed flows."""
    problem = discretisation.problem
    if not problem.pins or problem.over_time or discretisation.name != "fem":
        return []
    constraints = discretisation.constraints
    states = [torch.from_numpy(constraints.satisfied(u)) for u in _states(constraints, discretisation.size)]
    residuals = [discretisation.residual(u).numpy() for u in states]
    return _found(problem, np.asarray(discretisation.unknown_components), constraints, residuals)


def imbalances_at(form: SpatialForm, constraints: Constraints, t: float) -> list[Imbalance]:
    """Those of a march at a moment, with the constraints of then."""
    if not form.problem.pins:
        return []
    states = _states(constraints, form.size)
    values = [torch.from_numpy(constraints.satisfied(u))[None] for u in states]
    rates = [torch.from_numpy(u)[None] for u in states[::-1]]
    at, device = np.array([t]), form.device
    residuals = [
        form.residual(at, v.to(device), r.to(device))[0].cpu().numpy() for v, r in zip(values, rates, strict=True)
    ]
    return _found(form.problem, form.space.unknown_components, constraints, residuals)


def _states(constraints: Constraints, size: int) -> list[np.ndarray]:
    """(N,) three states of the size of the data, the first of them zero."""
    random = np.random.default_rng(0)
    unit = float(np.abs(constraints.value).max(initial=0.0)) or 1.0
    return [np.zeros(size), unit * random.normal(size=size), unit * random.normal(size=size)]


def _found(
    problem: Problem, components: np.ndarray, constraints: Constraints, residuals: Sequence[np.ndarray]
) -> list[Imbalance]:
    """By residuals (N,) in three states, the first of them zero inside."""
    result = []
    for name, component in sorted(_pinned(problem)):
        own = np.flatnonzero(components == component)
        prescribed = np.isin(own, constraints.constrained[constraints.master < 0]).sum()
        if prescribed > len(problem.pins):
            continue  # given on a boundary, too
        sums, flows = [float(r[own].sum()) for r in residuals], [float(np.abs(r[own]).sum()) for r in residuals]
        if not abs(sums[1] - sums[0]) + abs(sums[2] - sums[0]) > _INDEPENDENT * max(flows):  # else fields can see to it
            result.append(Imbalance(name, own, sums[0], flows[0]))
    return result


def refuse_unbalanced(discretisation: Discretisation) -> None:
    """Refuse pinned fields whose equations add up to something other than zero, whatever the fields are.

    A pin hides that they do not: all of the rest flows out at that point.

    Raises:
        PcpinnError: with the part that is missing.
    """
    refuse_all(imbalances(discretisation))


def refuse_all(found_: Sequence[Imbalance], when: str = "") -> None:
    """The same of those that were found; `when` says at which moment."""
    for found in found_:
        if found.flow and abs(found.total) > _BALANCED * found.flow:
            raise PcpinnError(
                f"the equation of {found.name!r} has no solution: its source and boundary data add up to {-found.total:.3g} "
                f"{when}({abs(found.total) / found.flow:.0%} of all that flows), which has to be 0 where no condition gives "
                "its value",
                "balance source and conditions (the integral of the source over the domain is that of flux . n over its "
                "boundary), or give values with Dirichlet or Robin somewhere; a pin fixes a constant and nothing else",
            )


def spread_evenly(discretisation: Discretisation) -> np.ndarray | None:
    """(N,) what makes the equations of pinned fields add up to zero, spread over the domain; None where nothing is to be added.

    Data that balance do so no longer once they are interpolated. Left alone, the rest flows out at the pin, whose equation is
    given up: the field has a spike there, and, being held at its tip, is off by its height everywhere else.
    """
    found = imbalances(discretisation)
    if not found:
        return None
    assert isinstance(discretisation, WeakForm)
    return np.asarray(-sum(one.total * even_share(discretisation.space, one.own) for one in found))


def even_share(space: Space, own: np.ndarray) -> np.ndarray:
    """(N,) parts of a whole that is spread evenly over the domain, for the equations of some degrees of freedom."""
    constant = np.zeros(space.size)
    constant[own] = 1.0
    share = mass_times(space, constant)
    return np.asarray(share / share.sum())


def _pinned(problem: Problem) -> set[tuple[str, int]]:
    """Fields and components (among all) that have pins."""
    names = [pin.field or problem.unknowns[0].name for pin in problem.pins]
    return {(n, problem.component_range(n)[p.component]) for n, p in zip(names, problem.pins, strict=True)}
