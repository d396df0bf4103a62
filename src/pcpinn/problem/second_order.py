"""Equations of second order in time for schemes that take u_tt from the values of three time levels: no rates as fields.

In such a scheme the slot of the first derivative holds the second. So d/dt density(u.dt) is written as d/dt density(u), whose
rate is then the same expression with u_tt, for a density that is linear in u.dt and depends on no more than the place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..errors import PcpinnError
from .arguments import with_time
from .conditions import Condition, Initial, NaturalCondition
from .field import Local
from .problem import Problem

_OTHERS = "use another scheme, such as gauss, with two fields: u_t = v, v_t = ..."


def by_second_differences(problem: Problem) -> Problem:
    """The problem as schemes of second differences take it.

    Raises:
        PcpinnError: when it is not of second order in all fields, does not start at rest, or depends on u.dt elsewhere.
    """
    first = [f.name for f in problem.unknowns if f.name not in problem.second_order_fields]
    if first:
        raise PcpinnError(
            f"scheme=second-difference is for equations of second order in time, and that of {first[0]!r} is not",
            "use another scheme, such as euler",
        )
    boundary = {name: {f: _condition(f, c) for f, c in given.items()} for name, given in problem.conditions.items()}
    return replace(
        problem,
        density=_seen(problem.density, _RateAlone),
        flux=_seen(problem.flux, _WithoutRate),
        source=_seen(problem.source, _WithoutRate),
        boundary=boundary,
    )


class _Seen(NaturalCondition):
    """A natural condition that sees no rates, since there are none."""

    def __init__(self, condition: NaturalCondition) -> None:
        self.condition = condition

    def normal_flux(self, x: Any, t: Any, n: Any, own: Local, fields: Sequence[Local]) -> Any:
        seen: Any = _WithoutRate(own)
        others: Any = [_WithoutRate(f) for f in fields]
        return self.condition.normal_flux(x, t, n, seen, others)


def _seen(function: Callable[..., Any] | None, view: Callable[[Local], Any]) -> Callable[..., Any] | None:
    if function is None:
        return None
    called = with_time(function, over_time=True)
    return lambda x, t, *fields: called(x, t, *map(view, fields))


class _RateAlone:
    """A field as the density sees it: its rate is in the place of its value."""

    def __init__(self, u: Local) -> None:
        self.dt = u.value

    def __getattr__(self, name: str) -> Any:
        raise PcpinnError(f"with scheme=second-difference a density depends on u.dt alone, not on u.{name}", _OTHERS)


class _WithoutRate:
    """A field as all else sees it."""

    def __init__(self, u: Local) -> None:
        self.value, self.grad = u.value, u.grad

    def __getattr__(self, name: str) -> Any:
        raise PcpinnError(f"scheme=second-difference knows u.{name} in the density alone", _OTHERS)


def _condition(name: str, condition: Condition) -> Condition:
    if isinstance(condition, Initial):
        rate = condition.rate
        at_rest = all(r == 0 for r in rate) if isinstance(rate, list | tuple) else not callable(rate) and rate == 0
        if not at_rest:
            raise PcpinnError(f"scheme=second-difference starts at rest, and {name!r} does not", _OTHERS)
        return Initial(condition.value)
    return _Seen(condition) if isinstance(condition, NaturalCondition) else condition
