"""What no mesh can mend, found at sample points before time is spent.

Coefficients that are not finite, equations that cannot be solved forwards in time, constants that nothing fixes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.func import jacfwd, vmap

from ..errors import PcpinnError
from ..problem.conditions import Dirichlet, Natural, Neumann, Periodic, Pin, Robin
from ..problem.problem import Problem
from .pointwise import BoundaryFlux, Pointwise
from .samples import data_states, lengths, sample_points
from .symbol import directions, symbol

_POINTS, _FEW = 2000, 40  # points where values are looked at, and those where waves are
_SCALES = 10.0 ** np.arange(1, 7)  # wave numbers, in waves per length of the domain
_PER_DECADE = 5.0  # growth of the rate from one to the next that is no lower-order term's
_REAL = 1e-4  # part of a rate that is growth, not rounding


@dataclass(frozen=True)
class IllPosed:
    """Something that makes a problem unsolvable as it is written.

    Attributes:
        kind: "not finite", "grows" or "undetermined".
        part: of the points (or states) looked at, those where it is so; 1 for everywhere.
        number: what the sentence is about.
        sentence: what is wrong, and where.
        remedy: what to write instead.
    """

    kind: str
    part: float
    number: float
    sentence: str
    remedy: str


def refuse_ill_posed(problem: Problem, points: Tensor | None = None) -> None:
    """Refuse a problem that has no solution, or no unique one, however it is discretised.

    Args:
        problem: any.
        points: (n, d) of the domain to look at; by default some at random.

    Raises:
        PcpinnError: for coefficients that are not finite, an equation that is ill-posed everywhere and in all states tried, and
            a field that is fixed only up to a constant.
    """
    refuse_overdetermined(problem)
    x = sample_points(problem, _POINTS) if points is None else points
    if not len(x):
        return  # a domain that fills next to nothing of its box
    for found in (not_finite(problem, x), growing(problem, x[:_FEW]), undetermined(problem, x[:_FEW])):
        if found is not None and (found.part >= 1 or found.kind != "grows"):
            raise PcpinnError(found.sentence, found.remedy)


def tried_states(problem: Problem, x: Tensor) -> list[Tensor]:
    """States (n, C, 1 + d) in which a nonlinear PDE is looked at: as the data say, positive ones, and zero."""
    usual = data_states(problem, x)
    return [usual, usual.abs() + 0.1 * usual.abs().mean(), torch.zeros_like(usual)]


def not_finite(problem: Problem, x: Tensor) -> IllPosed | None:
    """Source, flux or density that are NaN or infinite at a point in every state tried, so by x alone."""
    pointwise = Pointwise(problem, strong=True)
    bad = torch.ones((len(x), problem.components, 1 + x.shape[1]), dtype=torch.bool)
    for state in tried_states(problem, x):
        bad &= ~torch.isfinite(pointwise.evaluate(x, state))
    where = bad.flatten(1).any(1)
    if not where.any():
        return None
    first = int(where.nonzero()[0])
    component, entry = (int(i) for i in bad[first].nonzero()[0])
    names = [f.name for f in problem.unknowns for _ in range(f.components)]
    last = problem.over_time and entry == x.shape[1]
    what = "source" if entry == 0 else "density" if last else "flux"
    part = float(where.double().mean())
    at = ", ".join(f"{v:.6g}" for v in x[first].tolist())
    return IllPosed(
        "not finite",
        part,
        part,
        f"the {what} of {names[component]!r} is not finite at {part:.2%} of the points looked at, for example at ({at})",
        "check divisions, logarithms, roots and tables of coefficients at that point",
    )


def growing(problem: Problem, x: Tensor, states: list[Tensor] | None = None) -> IllPosed | None:
    """An equation in time whose waves grow the faster the shorter they are: backward heat, waves of the wrong sign.

    Args:
        problem: any; those without a time of their own are not looked at.
        x: (n, d) points.
        states: (n, C, 1 + d) each; a point counts where waves grow in all of these. By default as the data say and others.
    """
    if not problem.over_time:
        return None
    length, duration = lengths(problem)
    grows = np.ones(len(x), dtype=bool)
    worst = np.inf
    for state in tried_states(problem, x) if states is None else states:
        found = _growth(problem, x, state, 2 * np.pi / length)
        if found is None:
            return None
        grows &= found[0] & (found[1] * duration > 1)
        worst = min(worst, float(found[1].max(initial=0.0)))
    if not grows.any():
        return None
    part, second = float(grows.mean()), bool(problem.second_order_fields)
    where = "everywhere" if part == 1 else f"at {part:.0%} of the points looked at, for example at {_place(x, grows)}"
    ripple = f"a ripple of a hundredth of the domain grows by e every {1 / worst:.1e} of time, a finer one faster"
    if second:
        sentence = f"the equation is elliptic in space and time {where}: {ripple}"
        remedy = (
            "u_tt = c^2 u_xx is density=u.dt with flux=+c^2 u.grad: check the signs of flux and density; for an elliptic problem "
            "over time use shape.over(start, end, coordinate=True) with conditions at both ends"
        )
    else:
        sentence = f"diffusion has the wrong sign {where}, as heat backwards in time: {ripple}"
        remedy = (
            "u_t = div(k grad u) is density=u.value with flux=+k u.grad, k > 0: check the signs of flux and density"
        )
    return IllPosed("grows", part, worst * duration, sentence, remedy)


def below_zero(problem: Problem, lowest: np.ndarray) -> str | None:
    """What to write where a field has fallen below zero and diffusion is negative there, as in u_t = div(u grad u).

    Args:
        problem: over time.
        lowest: (C,) least value of each component.
    """
    x = sample_points(problem, _FEW)
    names = [f.name for f in problem.unknowns for _ in range(f.components)]
    for component in np.flatnonzero(lowest < 0):
        state = torch.zeros((len(x), problem.components, 1 + x.shape[1]), dtype=x.dtype)
        state[:, component, 0] = float(lowest[component])
        if growing(problem, x, [state]) is not None and growing(problem, x, [-state]) is None:
            return (
                f"{names[component]!r} has come to {lowest[component]:.1e}, and diffusion has the wrong sign below zero; "
                "if it is never negative, say so in the coefficient: torch.clamp(u.value, min=0.0)"
            )
    return None


def _growth(problem: Problem, x: Tensor, state: Tensor, unit: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Whether the rate of growth rises without bound at each point (n,), and the rate of waves of a hundredth of the domain."""
    here = symbol(problem, x, state)
    finite = here.finite
    here = here.at(finite)
    grows, rate = np.zeros(len(x), dtype=bool), np.zeros(len(x))
    for direction in directions(problem.dimension):
        rising = np.empty((len(_SCALES), int(finite.sum())))
        for k, scale in enumerate(_SCALES):
            with np.errstate(all="ignore"):
                rates = here.rates(unit * scale * direction)
            if rates is None or not np.isfinite(rates).all():
                return None
            if rates.shape[1] == 0:
                rising[k] = 0.0
                continue
            real = np.where(rates.real > _REAL * np.abs(rates), rates.real, 0.0)
            rising[k] = real.max(axis=1)
        unbounded = (rising[-3:] > 0).all(axis=0) & (rising[-2:] > _PER_DECADE * rising[-3:-1]).all(axis=0)
        grows[finite] |= unbounded
        rate[finite] = np.maximum(rate[finite], np.where(unbounded, rising[1], 0.0))
    return grows, rate


def _place(x: Tensor, chosen: np.ndarray) -> str:
    return "(" + ", ".join(f"{v:.4g}" for v in x[int(np.flatnonzero(chosen)[0])].tolist()) + ")"


def undetermined(problem: Problem, x: Tensor) -> IllPosed | None:
    """A component to which a constant can be added: pure Neumann problems, pressures of closed flows without a pin."""
    states = tried_states(problem, x)
    J = torch.stack([Pointwise(problem, strong=True).jacobian(x, s) for s in states])  # (s, n, C, 1 + d, C, 1 + d)
    if not torch.isfinite(J).all():
        return None
    for f in problem.unknowns:
        for k, c in enumerate(problem.component_range(f.name)):
            if _constant_is_free(problem, x, states, J, f.name, k, c):
                label = f.name if f.components == 1 else f"{f.name}[{k}]"
                at = tuple(float(f"{v:.3g}") for v in x[0, : problem.dimension].tolist())
                pin = f"Pin(at={at}, value=0, field={f.name!r}" + (f", component={k})" if k else ")")
                return IllPosed(
                    "undetermined",
                    1.0,
                    1.0,
                    f"{label!r} is fixed only up to a constant: no condition gives its value and no equation contains it",
                    f"add pins=[{pin}], or a Dirichlet or Robin condition somewhere",
                )
    return None


def _constant_is_free(
    problem: Problem, x: Tensor, states: list[Tensor], J: Tensor, name: str, k: int, component: int
) -> bool:
    """Whether a constant added to a component changes nothing in the equations, on boundaries or at pins."""
    if any(_pinned(problem, pin) == (name, k) for pin in problem.pins):
        return False
    return _nothing_fixes(problem, x, states, J, name, k, component)


def _pinned(problem: Problem, pin: Pin) -> tuple[str, int]:
    """Field and component of a pin."""
    return pin.field or problem.unknowns[0].name, pin.component


def refuse_overdetermined(problem: Problem) -> None:
    """Refuse a pin in a field that other conditions determine already.

    In two and three dimensions a value at a single point is no condition: a solution that meets it is none of the equation there.
    On an interval it cuts the problem in two, and of several fields one may be of higher order than it looks (a plate on a
    support): these pass.

    Raises:
        PcpinnError: with what determines the field.
    """
    if not problem.pins or problem.dimension == 1 or len(problem.unknowns) > 1:
        return
    x = sample_points(problem, _FEW)
    if not len(x):
        return
    states = tried_states(problem, x)
    J = torch.stack([Pointwise(problem, strong=True).jacobian(x, s) for s in states])
    for pin in problem.pins:
        name, k = _pinned(problem, pin)
        if torch.isfinite(J).all() and not _nothing_fixes(
            problem, x, states, J, name, k, problem.component_range(name)[k]
        ):
            raise PcpinnError(
                f"{pin} is a value at one point for {name!r}, which the equation and its other conditions determine already",
                "leave the pin out; it is for fields that are known only up to a constant. Values along a line or around a hole "
                "are Dirichlet conditions",
            )


def _nothing_fixes(
    problem: Problem, x: Tensor, states: list[Tensor], J: Tensor, name: str, k: int, component: int
) -> bool:
    """The same, pins left out."""
    for by_field in problem.conditions.values():
        condition = by_field.get(name)
        if isinstance(condition, Dirichlet):
            value = condition.value
            if not isinstance(value, list | tuple) or value[k] is not None:
                return False
    by_value = J[..., component, 0]  # (s, n, C, 1 + d)
    if problem.over_time and (J[..., component, -1].any() or by_value[..., -1].any()):
        return False  # it has a rate: initial values fix it
    if by_value[..., 0].any():
        return False
    flux = by_value[..., 1:]
    if not torch.allclose(flux, flux[:1, :1].expand_as(flux)):
        return False
    touched = flux.any(3).any(1).any(0).nonzero().flatten().tolist()
    if not all(_held_everywhere(problem, row) for row in touched):
        return False
    return not any(_sees(problem, boundary, x, states, component) for boundary in problem.conditions)


def _held_everywhere(problem: Problem, component: int) -> bool:
    """Whether values of a component are given on the whole boundary, so that its equation has no flux there."""
    field = next(f for f in problem.unknowns if component in problem.component_range(f.name))
    k = component - problem.component_range(field.name)[0]
    partners = {partner for _, partner in problem.periodic_pairs}
    ends = {"initial", "final"} if problem.over_time else set()
    for boundary in set(problem.domain.boundary_names) - partners - ends:
        condition = problem.conditions.get(boundary, {}).get(field.name)
        if isinstance(condition, Periodic):
            continue
        if not isinstance(condition, Dirichlet):
            return False
        if isinstance(condition.value, list | tuple) and condition.value[k] is None:
            return False
    return True


def _sees(problem: Problem, boundary: str, x: Tensor, states: list[Tensor], component: int) -> bool:
    """Whether natural conditions on a boundary depend on the value of a component; tried with x and directions at random."""
    by_field = problem.conditions[boundary]
    if boundary in ("initial", "final") and problem.over_time:
        return False
    if not any(isinstance(c, Robin | Natural) for c in by_field.values()):
        return any(not isinstance(c, Dirichlet | Periodic | Neumann) for c in by_field.values())
    flux = BoundaryFlux(problem, boundary)
    generator = torch.Generator().manual_seed(2)
    n = torch.randn(x.shape, generator=generator, dtype=x.dtype)
    if problem.over_time:
        n[:, -1] = 0
    n = n / n.norm(dim=1, keepdim=True)
    J = torch.stack([vmap(jacfwd(flux.at_point, argnums=2))(x, n, s) for s in states])
    return bool((J[..., component, 0] != 0).any())
