"""The fields of a PDE, and what a flux or source sees of them at one point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from ..errors import PcpinnError


@dataclass(frozen=True)
class Field:
    """One function that the PDE determines.

    Attributes:
        name: how results and conditions refer to it.
        components: 1 for a scalar; more for a vector.
        degree: polynomial degree of its elements; None takes the degree of the solve.
        lower: how many degrees below that of the solve, where degree is None: the pressure of a flow needs one less than the
            velocity (Taylor-Hood elements).
        auxiliary: a helper, such as w = u_xx in a system: its error does not count when an accuracy is asked for.
    """

    name: str
    components: int = 1
    degree: int | None = None
    lower: int = 0
    auxiliary: bool = False

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise PcpinnError(
                f"field name {self.name!r} is not an identifier", "use letters, digits and _, such as 'u'"
            )
        if self.components < 1:
            raise PcpinnError(f"field {self.name!r} has {self.components} components", "give it at least one")
        if self.degree is not None and not 1 <= self.degree <= 4:
            raise PcpinnError(f"field {self.name!r} has degree {self.degree}", "degrees 1 to 4 are available")
        if not 0 <= self.lower <= 3:
            raise PcpinnError(f"field {self.name!r} is {self.lower} degrees lower", "give 0 to 3")

    def degree_in(self, degree: int) -> int:
        """Its degree in a solve of some degree.

        Raises:
            PcpinnError: when nothing would be left.
        """
        own = degree - self.lower if self.degree is None else self.degree
        if own < 1 <= degree:
            raise PcpinnError(f"field {self.name!r} would have degree {own}", f"use degree={1 + self.lower} or more")
        return own


@dataclass(frozen=True)
class Local:
    """A field at one point.

    Attributes:
        value: () for a scalar, (c,) for a vector.
        grad: (d,) for a scalar, (c, d) for a vector: `grad[i, j]` is the derivative of component i along axis j of space.
            Only where time is a coordinate (`shape.over(0, 1, coordinate=True)`) is its last axis time.
        rate: derivative in time, of the shape of value; None in problems without time. Read it as `dt`.
    """

    value: torch.Tensor
    grad: torch.Tensor
    rate: torch.Tensor | None = None

    @property
    def dt(self) -> torch.Tensor:
        """Derivative in time, () or (c,).

        Raises:
            PcpinnError: when the problem has no time, or has it as a coordinate.
        """
        if self.rate is None:
            raise PcpinnError(
                "u.dt is used in a problem without a time of its own",
                "use a domain over time, shape.over(0, 1); where time is a coordinate, u_t is u.grad[..., -1]",
            )
        return self.rate


def as_fields(fields: object) -> tuple[Field, ...]:
    """Accept "u", Field("u"), a sequence of either, or {"u": 2, "p": 1}: numbers of components."""
    if isinstance(fields, Mapping):
        for name, components in fields.items():
            if isinstance(components, bool) or not isinstance(components, int):
                raise PcpinnError(
                    f"field {name!r} has {components!r} components", "give a number, such as fields={'u': 2, 'p': 1}"
                )
        fields = [Field(name, components) for name, components in fields.items()]
    items = [fields] if isinstance(fields, str | Field) else list(fields)  # type: ignore[call-overload]
    result = tuple(Field(f) if isinstance(f, str) else f for f in items)
    names = [f.name for f in result]
    if not result or len(set(names)) != len(names):
        raise PcpinnError(f"fields {names} are empty or repeat a name", "give each field its own name")
    return result


def component_names(fields: Sequence[Field]) -> tuple[str, ...]:
    """A name per component: u, or u1, u2 for a vector."""
    return tuple(f.name if f.components == 1 else f"{f.name}{k + 1}" for f in fields for k in range(f.components))
