"""Boundary conditions, each said once per named boundary (and field)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ..errors import PcpinnError
from .arguments import takes_time, with_time
from .field import Local
from .real import refuse_complex

Value = float | Sequence[Any] | torch.Tensor | Callable[..., Any]


class Condition:
    """What holds on one boundary for one field."""


@dataclass(frozen=True)
class Dirichlet(Condition):
    """u = value. The value is a number, one per component (None leaves a component free), or a function of x or (x, t)."""

    value: Value = 0.0


@dataclass(frozen=True)
class Initial(Dirichlet):
    """u = value at the start of time, on "initial"; and u_t = rate there, for equations of second order in time.

    Every field whose time derivative stands in the equations needs one; `rate` is given if, and only if, the density of the
    problem depends on u.dt. Both are numbers, one per component, or functions of x.
    """

    value: Value = 0.0
    rate: Value | None = None


@dataclass(frozen=True)
class Free(Dirichlet):
    """Nothing is known here but what data say: for inverse problems (`pcpinn.infer`) alone.

    Values on such boundaries follow a Gaussian process about zero whose size the data choose; boundaries of one `group` share it.
    """

    value: Value = 0.0
    group: str = ""


class NaturalCondition(Condition):
    """A condition on the normal flux, flux . n = g; it enters the weak form as a boundary integral."""

    def normal_flux(self, x: Tensor, t: Tensor | None, n: Tensor, own: Local, fields: Sequence[Local]) -> Any:
        """g at one point: x (d,), time t () or None, outward normal n (d,), the field itself and all fields there."""
        raise NotImplementedError


@dataclass(frozen=True)
class Neumann(NaturalCondition):
    """flux . n = value; Neumann(0) is the natural (insulated, stress-free) condition said aloud."""

    value: Value = 0.0

    def normal_flux(  # noqa: D102
        self, x: Tensor, t: Tensor | None, n: Tensor, own: Local, fields: Sequence[Local]
    ) -> Any:
        return evaluate(self.value, x, t)


@dataclass(frozen=True)
class Robin(NaturalCondition):
    """flux . n + coefficient * u = value."""

    coefficient: Value
    value: Value = 0.0

    def normal_flux(  # noqa: D102
        self, x: Tensor, t: Tensor | None, n: Tensor, own: Local, fields: Sequence[Local]
    ) -> Any:
        return evaluate(self.value, x, t) - evaluate(self.coefficient, x, t) * own.value


@dataclass(frozen=True)
class Natural(NaturalCondition):
    """flux . n = function(x, n, *fields), or function(x, t, n, *fields): the general form, with the outward normal n."""

    function: Callable[..., Any]

    def normal_flux(  # noqa: D102
        self, x: Tensor, t: Tensor | None, n: Tensor, own: Local, fields: Sequence[Local]
    ) -> Any:
        return self._function(x, t, n, *fields) if t is not None else self.function(x, n, *fields)

    @cached_property
    def _function(self) -> Callable[..., Any]:
        return with_time(self.function, over_time=True)


@dataclass(frozen=True)
class Periodic(Condition):
    """The field on this boundary equals the field on `partner`, a translate of this boundary."""

    partner: str


@dataclass(frozen=True)
class Pin:
    """u = value at the mesh node nearest to a point: fixes the constant that a pressure or a pure Neumann problem lacks.

    In a problem over time the point is one of space, and the value holds at all times.
    """

    at: Sequence[float]
    value: float = 0.0
    field: str | None = None
    component: int = 0

    def __post_init__(self) -> None:
        try:
            at = tuple(float(v) for v in self.at)
        except (TypeError, ValueError):
            at = ()
        refuse_complex(self.value, "the value of a pin")
        if not at or not all(map(math.isfinite, (*at, self.value))):
            raise PcpinnError(
                f"Pin(at={self.at!r}, value={self.value!r})", "write Pin(at=(x, y), value=0.0) with finite numbers"
            )


def evaluate(value: Value, x: Tensor, t: Tensor | None = None) -> Any:
    """A constant, or the function's value at x and, in a problem over time, t.

    Raises:
        PcpinnError: for a function of (x, t) where there is no t.
    """
    if not callable(value):
        result: Any = value
    elif not takes_time(value):
        result = value(x)
    elif t is not None:
        result = value(x, t)
    else:
        raise PcpinnError(
            "a value is a function of (x, t) in a problem without a time of its own",
            "write a function of x; where time is a coordinate, it is x[-1]",
        )
    if not isinstance(result, list | tuple):
        return result
    refuse_complex(result, "a value")
    return torch.as_tensor(result, dtype=x.dtype, device=x.device)


def require_condition(condition: object, boundary: str) -> Condition:
    """Refuse anything that is not a condition, with the usual slip named."""
    if isinstance(condition, Condition):
        return condition
    raise PcpinnError(
        f"boundary {boundary!r} is given {condition!r}, which is not a condition",
        "write Dirichlet(...), Neumann(...), Robin(...), Natural(...), Periodic(...), or Initial(...) at the start of time",
    )
