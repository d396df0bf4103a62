"""Boundary conditions, each said once per named boundary (and field)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..errors import PcpinnError
from .field import Local

Value = float | Sequence[Any] | torch.Tensor | Callable[..., Any]


class Condition:
    """What holds on one boundary for one field."""


@dataclass(frozen=True)
class Dirichlet(Condition):
    """u = value. The value is a number, one per component (None leaves a component free), or a function of x."""

    value: Value = 0.0


@dataclass(frozen=True)
class Free(Dirichlet):
    """Nothing is known here but what data say: for inverse problems (`pcpinn.infer`) alone.

    Values on such boundaries follow a Gaussian process about zero whose size the data choose; boundaries of one `group` share it.
    """

    value: Value = 0.0
    group: str = ""


class NaturalCondition(Condition):
    """A condition on the normal flux, flux . n = g; it enters the weak form as a boundary integral."""

    def normal_flux(self, x: torch.Tensor, n: torch.Tensor, own: Local, fields: Sequence[Local]) -> Any:
        """g at one point: x (d,), outward normal n (d,), the field itself and all fields there."""
        raise NotImplementedError


@dataclass(frozen=True)
class Neumann(NaturalCondition):
    """flux . n = value; Neumann(0) is the natural (insulated, stress-free) condition said aloud."""

    value: Value = 0.0

    def normal_flux(self, x: torch.Tensor, n: torch.Tensor, own: Local, fields: Sequence[Local]) -> Any:  # noqa: D102
        return evaluate(self.value, x)


@dataclass(frozen=True)
class Robin(NaturalCondition):
    """flux . n + coefficient * u = value."""

    coefficient: Value
    value: Value = 0.0

    def normal_flux(self, x: torch.Tensor, n: torch.Tensor, own: Local, fields: Sequence[Local]) -> Any:  # noqa: D102
        return evaluate(self.value, x) - evaluate(self.coefficient, x) * own.value


@dataclass(frozen=True)
class Natural(NaturalCondition):
    """flux . n = function(x, n, *fields): the general form, with the outward normal n."""

    function: Callable[..., Any]

    def normal_flux(self, x: torch.Tensor, n: torch.Tensor, own: Local, fields: Sequence[Local]) -> Any:  # noqa: D102
        return self.function(x, n, *fields)


@dataclass(frozen=True)
class Cauchy(Dirichlet, NaturalCondition):
    """u = value *and* flux . n = rate: the initial data of a problem of second order in time, as a boundary of space-time.

    Its counterpart is `Open` on the opposite boundary. For u_tt = c^2 u_xx with flux (c^2 u_x, -u_t), the outward normal
    at the start is (0, -1), so rate = u_t. Stable if the time step resolves the crossing of a cell, c dt <= dx / 2 or so.
    """

    rate: Value = 0.0

    def normal_flux(self, x: torch.Tensor, n: torch.Tensor, own: Local, fields: Sequence[Local]) -> Any:  # noqa: D102
        return evaluate(self.rate, x)


@dataclass(frozen=True)
class Open(Condition):
    """Nothing is known here (the final time of a wave): the equations tested on the `Cauchy` boundary `partner` take the
    place of those tested here."""

    partner: str = "initial"


@dataclass(frozen=True)
class Periodic(Condition):
    """The field on this boundary equals the field on `partner`, a translate of this boundary."""

    partner: str


@dataclass(frozen=True)
class Pin:
    """u = value at the mesh node nearest to a point: fixes the constant that a pressure or a pure Neumann problem lacks."""

    at: Sequence[float]
    value: float = 0.0
    field: str | None = None
    component: int = 0

    def __post_init__(self) -> None:
        try:
            at = tuple(float(v) for v in self.at)
        except (TypeError, ValueError):
            at = ()
        if not at or not all(map(math.isfinite, (*at, self.value))):
            raise PcpinnError(
                f"Pin(at={self.at!r}, value={self.value!r})", "write Pin(at=(x, y), value=0.0) with finite numbers"
            )


def evaluate(value: Value, x: torch.Tensor) -> Any:
    """A constant, or the function's value at x."""
    result = value(x) if callable(value) else value
    return torch.as_tensor(result, dtype=x.dtype, device=x.device) if isinstance(result, list | tuple) else result


def require_condition(condition: object, boundary: str) -> Condition:
    """Refuse anything that is not a condition, with the usual slip named."""
    if isinstance(condition, Condition):
        return condition
    raise PcpinnError(
        f"boundary {boundary!r} is given {condition!r}, which is not a condition",
        "write Dirichlet(...), Neumann(...), Robin(...), Natural(...), Periodic(...), or Cauchy(...) with Open()",
    )
