"""Whether a quantity that a solve is asked for can be computed at all, before any time is spent on it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.func import vmap

from ...discretize.guarded import guard
from ...errors import PcpinnError
from ...problem.problem import Problem, unknown_boundary
from ...problem.shape_base import SpaceTime
from .functional import Sum, parts_of
from .network import within
from .wanted import Flux, Integral

_ENDS = ("initial", "final")


def refuse_unusable(quantity: Any, problem: Problem, x: Tensor) -> None:
    """Look at the time, the boundary, the field and the function of a quantity.

    Args:
        quantity: what the user gave.
        problem: the PDE.
        x: (n, d) points of its domain, at which the function is called.

    Raises:
        PcpinnError: says what is wrong with it.
    """
    if not isinstance(quantity, Integral | Flux):
        raise PcpinnError(
            f"quantity={quantity!r} is not one that a solve can be asked for",
            "give pc.Integral(f) or pc.Flux(boundary), over time with t=...",
        )
    if isinstance(problem.domain, SpaceTime) and problem.over_time:
        within(quantity.t, problem.domain.start, problem.domain.end)
    elif quantity.t is not None:
        raise PcpinnError("the problem has no time of its own", "leave t= out of the quantity")
    if isinstance(quantity.on, str):
        known = [name for name in problem.domain.boundary_names if not (problem.over_time and name in _ENDS)]
        if quantity.on not in known:
            raise unknown_boundary(quantity.on, known)
    functional = quantity.functional(problem)
    if isinstance(quantity, Integral):
        _call(functional, problem, x)


def _call(functional: Any, problem: Problem, x: Tensor) -> None:
    """What the function returns for fields that are about one: numbers or vectors, finite or not."""
    generator = torch.Generator().manual_seed(0)
    state = torch.rand((len(x), problem.components, 1 + x.shape[1]), generator=generator, dtype=x.dtype)
    n = torch.zeros((len(x), problem.dimension), dtype=x.dtype)
    n[:, 0] = 1.0
    for part in parts_of(functional):
        if isinstance(part, Sum) and len(x):
            guard(vmap(part.at_point), x, n, state)
