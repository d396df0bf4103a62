"""Equations of second order in time as systems of first order: u_t = v beside the equation for v.

For schemes that step through time. The rates v are fields of their own at the end of the list; what the user wrote is called with
`u.dt` = v.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from .arguments import takes_time, with_time
from .conditions import Condition, Dirichlet, Initial, NaturalCondition, Periodic, Pin, Value, evaluate
from .field import Field, Local
from .problem import Problem

SUFFIX = "_rate"


def first_order(problem: Problem) -> Problem:
    """The problem with a field `u_rate` for each field of second order in time; itself if there is none.

    Boundary values of a rate are the time derivatives of those of its field.
    """
    second = problem.second_order_fields
    if not second:
        return problem
    own = problem.unknowns
    twice = [k for k, f in enumerate(own) if f.name in second]
    rates = tuple(replace(own[k], name=own[k].name + SUFFIX, auxiliary=True) for k in twice)
    view = _View(own, twice)
    boundary = {name: _conditions(by_field, view) for name, by_field in problem.conditions.items()}
    pins = [*problem.pins, *(_rate_pin(pin, own) for pin in problem.pins if (pin.field or own[0].name) in second)]
    return Problem(
        problem.domain,
        flux=view.rows(problem.flux, lambda *_: None),
        source=view.rows(problem.source, lambda u, v: -v.value),
        density=view.rows(problem.density, lambda u, v: u.value),
        boundary=boundary,
        fields=(*own, *rates),
        pins=pins,
        name=problem.name,
    )


@dataclass(frozen=True)
class _View:
    """The fields as the user knows them, from those of the system.

    Attributes:
        fields: the user's.
        twice: numbers of those of second order in time, in the order of the rates.
    """

    fields: Sequence[Field]
    twice: Sequence[int]

    def seen(self, locals_: Sequence[Local]) -> list[Local]:
        """The user's fields, those of second order with their rate as `dt`."""
        result = list(locals_[: len(self.fields)])
        for k, v in zip(self.twice, locals_[len(self.fields) :], strict=True):
            result[k] = Local(result[k].value, result[k].grad, v.value)
        return result

    def rows(self, function: Callable[..., Any] | None, of_field: Callable[[Local, Local], Any]) -> Callable[..., Any]:
        """The user's rows, those of second-order fields moved to their rates, with `of_field` in their place."""
        called = None if function is None else with_time(function, over_time=True)

        def rows(x: Tensor, t: Tensor, *locals_: Local) -> tuple[Any, ...]:
            users = called(x, t, *self.seen(locals_)) if called is not None else None
            parts = list(users) if isinstance(users, tuple | list) else [users] * len(self.fields)
            moved = [parts[k] for k in self.twice]
            for k, v in zip(self.twice, locals_[len(self.fields) :], strict=True):
                parts[k] = of_field(locals_[k], v)
            return (*parts, *moved)

        return rows


@dataclass(frozen=True)
class _Seen(NaturalCondition):
    """A natural condition as the user wrote it, of field number `number`."""

    condition: NaturalCondition
    view: _View
    number: int

    def normal_flux(self, x: Tensor, t: Tensor | None, n: Tensor, own: Local, fields: Sequence[Local]) -> Any:
        seen = self.view.seen(fields)
        return self.condition.normal_flux(x, t, n, seen[self.number], seen)


def _conditions(by_field: dict[str, Condition], view: _View) -> dict[str, Condition]:
    """Conditions on one boundary: natural ones go with the equation, essential ones hold for field and rate."""
    result: dict[str, Condition] = {}
    for number, f in enumerate(view.fields):
        condition = by_field.get(f.name)
        if condition is None:
            continue
        rate = f.name + SUFFIX
        if number not in view.twice:
            natural = isinstance(condition, NaturalCondition)
            result[f.name] = _Seen(condition, view, number) if natural else condition  # type: ignore[arg-type]
        elif isinstance(condition, NaturalCondition):
            result[rate] = _Seen(condition, view, number)
        elif isinstance(condition, Initial):
            result[f.name] = Initial(condition.value)
            result[rate] = Initial(0.0 if condition.rate is None else condition.rate)
        elif isinstance(condition, Dirichlet):
            result[f.name], result[rate] = condition, Dirichlet(_derivative(condition.value))
        elif isinstance(condition, Periodic):
            result[f.name] = result[rate] = condition
    return result


def _derivative(value: Value) -> Value:
    """d/dt of a boundary value; None leaves a component free, as before."""
    if isinstance(value, list | tuple):
        return [None if v is None else _derivative(v) for v in value]
    if not callable(value) or not takes_time(value):
        return 0.0

    def rate(x: Tensor, t: Tensor) -> Tensor:
        def at(s: Tensor) -> Tensor:
            return torch.as_tensor(evaluate(value, x, s), dtype=s.dtype)

        derivative: Tensor = torch.func.jvp(at, (t,), (torch.ones_like(t),))[1]
        return derivative

    return rate


def _rate_pin(pin: Pin, fields: Sequence[Field]) -> Pin:
    return Pin(pin.at, 0.0, (pin.field or fields[0].name) + SUFFIX, pin.component)
