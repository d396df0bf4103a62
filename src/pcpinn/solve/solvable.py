"""What `pcpinn.solve` can solve beside problems: each kind has a solver of its own, which registers itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_SOLVERS: dict[type, Callable[..., Any]] = {}


def solves(kind: type) -> Callable[[F], F]:
    """Make a function the solver of a kind of thing; it takes what `pcpinn.solve` was given."""

    def register(solver: F) -> F:
        _SOLVERS[kind] = solver
        return solver

    return register


def solver_of(thing: object) -> Callable[..., Any] | None:
    """The solver of a thing that is not a `Problem`; None if there is none."""
    return next((solver for kind, solver in _SOLVERS.items() if isinstance(thing, kind)), None)
