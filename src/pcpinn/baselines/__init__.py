"""Other methods on the same problems, networks and optimisers, to compare with."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import PcpinnError
from ..solution.solution import Solution
from ..solve.linear import solve
from .fem_fit import solve_fem_fit
from .pinn import solve_pinn

METHODS: dict[str, Callable[..., Solution]] = {"pcpinn": solve, "pinn": solve_pinn, "fem-fit": solve_fem_fit}


def find_method(name: str) -> Callable[..., Solution]:
    """The solver of a method; all have the signature of `pcpinn.solve`."""
    if name not in METHODS:
        raise PcpinnError(f"there is no method {name!r}", f"use one of {', '.join(METHODS)}")
    return METHODS[name]


__all__ = ["METHODS", "find_method", "solve_fem_fit", "solve_pinn"]
