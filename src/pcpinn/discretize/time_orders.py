"""Which time derivatives stand in the equations of a problem, and whether its initial conditions fit them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import PcpinnError
from ..problem.conditions import Free, Initial
from ..problem.problem import Problem
from .pointwise import Pointwise

_SAMPLES = 64


@dataclass(frozen=True)
class TimeOrders:
    """Derivatives in time, as functions of the problem say.

    Attributes:
        of: by field, the highest time derivative in the equations: 0, 1 or 2.
        mixed: fields whose equation is of first order in time and whose density depends on gradients.
    """

    of: dict[str, int]
    mixed: tuple[str, ...] = ()

    @property
    def second(self) -> tuple[str, ...]:
        """Fields of second order in time."""
        return tuple(name for name, order in self.of.items() if order == 2)


def time_orders(problem: Problem, x: Tensor) -> TimeOrders:
    """Orders in time, from exact derivatives of density, source and flux at points x (n, d) and random states.

    Raises:
        PcpinnError: when u.dt of one field stands in the density of another, or not in that of all components of a field.
    """
    names = [f.name for f in problem.unknowns for _ in range(f.components)]
    if not problem.over_time:
        return TimeOrders(dict.fromkeys(names, 0))
    x = x[torch.linspace(0, len(x) - 1, min(_SAMPLES, len(x))).long()]
    pointwise = Pointwise(problem, strong=True)  # its flux through time is -density
    generator = torch.Generator().manual_seed(0)
    shape = (len(x), problem.components, 1 + problem.domain.dimension)
    found = torch.zeros(shape[1], shape[2], shape[1], shape[2], dtype=torch.bool)
    for draw in (torch.randn, torch.rand):  # states of both signs, and positive ones for roots and logarithms
        J = pointwise.jacobian(x, draw(shape, generator=generator, dtype=x.dtype))
        found |= ((J != 0) & J.isfinite()).any(0)
    density = found[:, -1]  # (C, C, 1 + d)
    second = density[..., -1]
    first = density[..., :-1].any(2) | found[:, :-1, :, -1].any(1)
    orders = torch.where(second.any(0), 2, torch.where(first.any(0), 1, 0)).tolist()
    of = {name: max(o for n, o in zip(names, orders, strict=True) if n == name) for name in names}
    for k, name in enumerate(names):
        if bool(second[k].any()) != (of[name] == 2) or (orders[k] == 2) != (of[name] == 2):
            raise PcpinnError(
                f"the density of {name!r} and its time derivative do not belong together: equations of second order in time "
                "need the rate of their own field, in all components",
                "give the parts of density in the order of the fields, and components of different order as different fields",
            )
    gradients = (density[..., 1:-1].any(2).any(1) & ~second.any(1)).tolist()
    mixed = tuple(dict.fromkeys(name for name, mixed in zip(names, gradients, strict=True) if mixed))
    return TimeOrders(of, mixed)


def check_start(problem: Problem, x: Tensor, every: bool = False) -> TimeOrders:
    """Compare initial conditions with the orders in time at points x (n, d), which are returned.

    Args:
        problem: over time or not.
        x: some points of the domain.
        every: whether fields without a time derivative need an initial value, too.

    Raises:
        PcpinnError: for an initial condition that is missing, not needed, or of the wrong order; with what to write.
    """
    orders = time_orders(problem, x)
    given = problem.conditions.get("initial", {})
    if not problem.over_time:
        return orders
    for f in problem.unknowns:
        name, order, condition = f.name, orders.of[f.name], given.get(f.name)
        needed = "Initial(u0, rate=...)" if order == 2 else "Initial(u0)"
        write = f"{{'initial': {needed}}}" if len(problem.unknowns) == 1 else f"{{'initial': {{{name!r}: {needed}}}}}"
        if condition is None and order:
            derivative = "second time derivative" if order == 2 else "time derivative"
            raise PcpinnError(
                f"{name!r} has no initial value, but its {derivative} appears in the equations", f"add boundary={write}"
            )
        if condition is None and every:
            raise PcpinnError(
                f"{name!r} has no initial value; its time derivative appears in no equation, but slabs of time keep its "
                "initial values",
                f"add boundary={write}, or use time=march, which needs none",
            )
        if condition is not None and not order and not every:
            raise PcpinnError(
                f"{name!r} has an initial condition, but its time derivative appears in no equation",
                "leave it out; or give its equation a density, such as density=lambda x, u: u.value",
            )
        _check_rate(name, order, condition)
    return orders


def _check_rate(name: str, order: int, condition: object) -> None:
    if isinstance(condition, Free) and order == 2:
        raise PcpinnError(
            f"'initial' is Free for {name!r}, whose equation is of second order in time",
            "write two fields, u_t = v and v_t = ..., each Free at the start",
        )
    if not isinstance(condition, Initial):
        return
    if (condition.rate is not None) != (order == 2):
        raise PcpinnError(
            f"Initial for {name!r} has no rate, but its density depends on the time derivative"
            if order == 2
            else f"Initial for {name!r} has a rate, but its density does not depend on the time derivative",
            f"write Initial(u0, rate=...), the value of {name}_t at the start" if order == 2 else "write Initial(u0)",
        )
    if order and isinstance(condition.value, list | tuple) and any(v is None for v in condition.value):
        raise PcpinnError(f"Initial for {name!r} leaves a component open", "give a value for each component")


def refuse_mixed(orders: TimeOrders) -> None:
    """For discretisations that do not know the time derivatives of gradients.

    Raises:
        PcpinnError: when a density of first order depends on gradients.
    """
    if orders.mixed:
        raise PcpinnError(
            f"the density of {orders.mixed[0]!r} depends on a gradient, whose time derivative these elements do not have",
            "use time=slabs with scheme=radau or gauss, or time=march",
        )


def refuse_second(orders: TimeOrders) -> None:
    """For discretisations that step through time.

    Raises:
        PcpinnError: when an equation is of second order in time.
    """
    if orders.second:
        raise PcpinnError(
            f"the equation of {orders.second[0]!r} is of second order in time, and slabs of time are of first order",
            "use time=simplex, or write two fields: u_t = v, v_t = ...",
        )
