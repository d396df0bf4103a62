"""Quantities that a solve is asked for: the mesh is refined for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...discretize.batches import Batch
from ...discretize.places import Inside, places
from ...discretize.space import Space
from ...errors import PcpinnError
from ...problem.first_order import SUFFIX
from ...problem.problem import Problem
from .functional import Functional, Reaction, Sum, Together, flux_by_gradients, kind_of, of_point, prescribed_flux

When = float | tuple[float, float] | None  # a moment, or a span that is integrated over


class Wanted(Protocol):
    """A quantity, before there is a solution."""

    def functional(self, problem: Problem) -> Functional:
        """Its numbers."""

    @property
    def label(self) -> str:
        """What it is."""

    @property
    def t(self) -> When:
        """When, in a problem over time."""


@dataclass(frozen=True)
class Integral:
    """The integral of a function f(x, *fields), or f(x, n, *fields) on a boundary, as of `pcpinn.integrate`."""

    f: Callable[..., Any]
    on: str | Inside | None = None
    t: When = None

    def functional(self, problem: Problem) -> Functional:
        """Its numbers."""
        at_point, _ = of_point(self.f, problem.unknowns, problem.over_time, normals=isinstance(self.on, str))
        return Sum(at_point, lambda space: places(space, self.on))

    @property
    def label(self) -> str:
        """What it is."""
        where = "" if self.on is None else f" over {self.on!r}" if isinstance(self.on, str) else " over a region"
        return f"integral{where}{_when(self.t)}"


@dataclass(frozen=True)
class Flux:
    """The flux through a boundary, as of `pcpinn.flux`; of a vector field all of it, or one component."""

    on: str
    field: str | None = None
    component: int | None = None
    t: When = None

    def functional(self, problem: Problem) -> Functional:
        """Its numbers."""
        parts = flux_parts(problem, self.on, self.field)[0]
        if self.component is None:
            return Together(parts)
        if not (isinstance(self.component, int) and 0 <= self.component < len(parts)):
            raise PcpinnError(f"there is no component {self.component!r}", f"the field has {len(parts)}, from 0")
        return Together((parts[self.component],))

    @property
    def label(self) -> str:
        """What it is."""
        of = "" if self.field is None else f" of {self.field!r}"
        component = "" if self.component is None else f", component {self.component}"
        return f"flux{of} through {self.on!r}{component}{_when(self.t)}"


def _when(t: When) -> str:
    """In words."""
    if t is None:
        return ""
    moments = np.ravel(t).tolist()
    return f" at t = {moments[0]:g}" if len(moments) == 1 else f" from t = {moments[0]:g} to {moments[-1]:g}"


def flux_parts(
    problem: Problem, on: str, field: str | None, gradients: bool = False
) -> tuple[tuple[Functional, ...], str]:
    """The flux of each component of a field through a boundary, and how it is computed.

    Args:
        problem: the PDE.
        on: the boundary.
        field: by default the first.
        gradients: integrate flux . n even where values or fluxes are prescribed.

    Raises:
        PcpinnError: for no boundary, or an unknown field.
    """
    if not isinstance(on, str):
        raise PcpinnError(f"{on!r} is no boundary", "give the name of one, as the problem has it")
    name = field or problem.unknowns[0].name

    def where(space: Space) -> Iterator[Batch]:
        return places(space, on)

    parts: list[Functional] = []
    used: dict[str, None] = {}
    for k, at in enumerate(problem.component_range(name)):
        own, kind = range(at, at + 1), kind_of(problem, on, name, k)
        if kind == "flux" and not gradients:
            parts.append(Sum(prescribed_flux(problem, on, own), where))
            used["the prescribed flux, integrated"] = None
        elif gradients or (kind == "periodic" and problem.over_time):  # a march adds up the rows of periodic nodes
            parts.append(Sum(flux_by_gradients(problem, own), where))
            used["flux . n by gradients, integrated"] = None
        else:  # of second order in time, the equation is that of the rate
            parts.append(Reaction(on, name + SUFFIX if name in problem.second_order_fields else name, k))
            used["reaction: the weak residual at the nodes"] = None
    return tuple(parts), "; ".join(used)
