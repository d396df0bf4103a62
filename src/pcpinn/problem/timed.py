"""Which data of a problem depend on time: by the arguments of its functions, since a pulse is nothing at most moments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .arguments import takes_time
from .conditions import Condition, Dirichlet, Initial, Natural, NaturalCondition
from .problem import Problem


def timed_functions(problem: Problem) -> bool:
    """Whether source, flux or density take the time."""
    return any(f is not None and takes_time(f) for f in (problem.source, problem.flux, problem.density))


def timed_fluxes(problem: Problem) -> bool:
    """Whether a natural condition takes it."""
    return any(timed_data(c) or _timed_natural(c) for c in _conditions(problem, NaturalCondition))


def timed_values(problem: Problem) -> bool:
    """Whether a value that is given on a side takes it."""
    return any(timed_data(c) for c in _conditions(problem, Dirichlet))


def timed_data(condition: Condition) -> list[Callable[..., Any]]:
    """The functions of place and time that a condition is given: values and coefficients, not the function of a Natural."""
    given = [getattr(condition, key, None) for key in ("value", "coefficient")]
    values = [v for g in given for v in (g if isinstance(g, list | tuple) else [g])]
    return [v for v in values if callable(v) and takes_time(v)]


def _timed_natural(condition: Condition) -> bool:
    return isinstance(condition, Natural) and takes_time(condition.function)


def _conditions(problem: Problem, kind: type) -> list[Condition]:
    every = [c for by_field in problem.conditions.values() for c in by_field.values()]
    return [c for c in every if isinstance(c, kind) and not isinstance(c, Initial)]
