"""A problem for every value of its unknowns, and the same as one Problem whose points carry these values.

An extended point is (values of the unknowns, x). Discretisations are built on the extended problem: they evaluate it at points
that know the unknowns there, so that residuals, matrices and derivatives by the unknowns come from one definition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ..errors import PcpinnError
from .arguments import with_time
from .conditions import Condition, Dirichlet, Free, Initial, Natural, NaturalCondition, Neumann, evaluate
from .problem import Problem
from .unknowns import Coefficient, Parameter, Unknown


class Family:
    """build(**unknowns) -> Problem, with names, sizes and first guesses of the unknowns.

    Args:
        build: gets a tensor for each `Parameter`, a function of x, or of (x, t), for each `Coefficient`.
        unknowns: by name.

    Raises:
        PcpinnError: when it does not build a Problem.
    """

    def __init__(self, build: Callable[..., Problem], unknowns: Mapping[str, Unknown]) -> None:
        if isinstance(build, Problem):
            raise PcpinnError(
                "infer was given a Problem, which has no unknown coefficients",
                "give a function that makes it: infer(lambda a: Problem(..., flux=lambda x, u: a(x) * u.grad), ...)",
            )
        for name, unknown in unknowns.items():
            if not isinstance(name, str):
                raise PcpinnError(f"the name of an unknown is {name!r}", "use a word: unknowns={'a': ...}")
            if not isinstance(unknown, Parameter | Coefficient):
                raise PcpinnError(f"unknown {name!r} is {unknown!r}", "use pcpinn.Parameter or pcpinn.Coefficient")
        if not unknowns:
            raise PcpinnError("there are no unknowns", "give unknowns={'a': pcpinn.Coefficient()}")
        self.build, self.unknowns = build, dict(unknowns)

    @property
    def count(self) -> int:
        """Number K of scalar unknowns, fields counted once each."""
        return sum(u.components for u in self.unknowns.values())

    @property
    def names(self) -> tuple[str, ...]:
        """A name per scalar unknown: a, or k1, k2 for a vector."""
        return tuple(
            name if not u.is_vector else f"{name}{i + 1}"
            for name, u in self.unknowns.items()
            for i in range(u.components)
        )

    def columns(self, name: str) -> range:
        """Which of the K scalar unknowns belong to a name."""
        at = 0
        for other, u in self.unknowns.items():
            if other == name:
                return range(at, at + u.components)
            at += u.components
        raise PcpinnError(f"there is no unknown {name!r}", f"the unknowns are {', '.join(self.unknowns)}")

    @cached_property
    def start(self) -> Tensor:
        """(K,) first guesses."""
        parts = [u.start if isinstance(u, Parameter) else (u.initial,) for u in self.unknowns.values()]
        return torch.tensor([v for part in parts for v in part], dtype=torch.float64)

    @cached_property
    def base(self) -> Problem:
        """The problem at the first guess: its domain, fields and kinds of conditions hold for all."""
        return self.at(self.start)

    def at(self, values: Tensor) -> Problem:
        """The problem with given values (K,) of the unknowns at the point of evaluation."""
        given = {}
        for name, unknown in self.unknowns.items():
            columns = self.columns(name)
            own = values[columns.start : columns.stop] if unknown.is_vector else values[columns.start]
            given[name] = _function(name, own, unknown.over_time) if isinstance(unknown, Coefficient) else own
        try:
            problem = self.build(**given)
        except PcpinnError:
            raise
        except Exception as error:  # whatever a user's function may raise
            names = ", ".join(self.unknowns)
            raise PcpinnError(
                f"the problem cannot be built from {names}: {type(error).__name__}: {error}",
                f"write lambda {names}: Problem(...), or correct the function",
            ) from error
        if not isinstance(problem, Problem):
            raise PcpinnError(f"the function of the unknowns returned {problem!r}", "return a pcpinn.Problem")
        return problem

    @cached_property
    def extended(self) -> Problem:
        """One Problem on extended points (K + d,)."""
        base = self.base
        boundary = {
            name: {f: self._condition(name, f, condition) for f, condition in by_field.items()}
            for name, by_field in base.conditions.items()
        }
        unknown = [name for name, by_field in boundary.items() if any(isinstance(c, Free) for c in by_field.values())]
        boundary = {name: boundary[name] for name in [*unknown, *(n for n in boundary if n not in unknown)]}
        # Where boundaries meet the later one counts: what is known wins.
        flux, source, density = (self._function_at(what) for what in ("flux", "source", "density"))
        return replace(base, flux=flux, source=source, density=density, boundary=boundary)

    def _function_at(self, what: str) -> Callable[..., Any] | None:
        """flux, source or density as a function of extended points."""
        K = self.count
        if getattr(self.base, what) is None:
            return None
        if self.base.over_time:
            return lambda x, t, *fields: with_time(getattr(self.at(x[:K]), what), True)(x[K:], t, *fields)
        return lambda x, *fields: getattr(self.at(x[:K]), what)(x[K:], *fields)

    def _condition(self, boundary: str, name: str, condition: Condition) -> Condition:
        K = self.count
        if isinstance(condition, Initial) and condition.rate is not None:
            raise PcpinnError(
                f"{name!r} is of second order in time, which does not go with unknown coefficients",
                "write a wave as two fields, u_t = v and v_t = ..., each with its initial values",
            )
        if isinstance(condition, Dirichlet | Neumann) and self._is_number(boundary, name, None):
            return condition  # it depends on nothing
        if isinstance(condition, Dirichlet) and not isinstance(condition, Free):
            return replace(condition, value=self._value(boundary, name, condition.value))
        if isinstance(condition, Free) or not isinstance(condition, NaturalCondition):
            return condition
        position = [f.name for f in self.base.unknowns].index(name)

        def natural(x: Tensor, t: Tensor | None, n: Tensor, *fields: Any) -> Any:
            own = self.at(x[:K]).conditions[boundary][name]
            assert isinstance(own, NaturalCondition)
            return own.normal_flux(x[K:], t, n, fields[position], fields)

        return Natural(natural if self.base.over_time else lambda x, n, *fields: natural(x, None, n, *fields))

    @cached_property
    def _nearby(self) -> Problem:
        return self.at(self.start * (1 + 1e-6) + 1e-9)

    def _is_number(self, boundary: str, name: str, index: int | None) -> bool:
        """Whether a value, or one of a list, is a number that is the same for other unknowns: a float(a) is not."""
        both = [problem.conditions[boundary][name] for problem in (self.base, self._nearby)]
        own, other = (getattr(c, "value", None) if index is None else c.value[index] for c in both)  # type: ignore[attr-defined]
        return isinstance(own, int | float) and own == other

    def _value(self, boundary: str, name: str, value: Any) -> Any:
        """The prescribed value as a function of extended points; lists (None leaves a component free) stay lists."""
        K = self.count

        def part(index: int | None) -> Callable[..., Any]:
            def at(x: Tensor, t: Tensor | None) -> Any:
                condition = self.at(x[:K]).conditions[boundary][name]
                assert isinstance(condition, Dirichlet)
                own = condition.value
                return evaluate(own if index is None else own[index], x[K:], t)  # type: ignore[index]

            return at if self.base.over_time else lambda x: at(x, None)

        if isinstance(value, list | tuple):
            return [v if v is None or self._is_number(boundary, name, i) else part(i) for i, v in enumerate(value)]
        return part(None)


def _function(name: str, value: Tensor, over_time: bool) -> Callable[..., Tensor]:
    """A coefficient as the problem's functions call it: it has its value at the point of evaluation, whatever that is."""

    def coefficient(*place: Any) -> Tensor:
        if len(place) != 1 + over_time:
            raise PcpinnError(
                f"coefficient {name!r} is called with {len(place)} arguments",
                f"call it {name}(x, t), since over_time=True"
                if over_time
                else f"call it {name}(x); with Coefficient(over_time=True) it is {name}(x, t)",
            )
        return value

    return coefficient
