"""A problem on a domain that is the image of another one, pulled back to that: for shapes with parameters.

With x = map(X), J = dx/dX and n = J^-T N / |J^-T N|, functions of the place X see the values of the problem's own at x:
    grad u = J^-T grad_X u,     flux_X = |det J| J^-1 flux,     source_X = |det J| source,     g_X = |det J| |J^-T N| g.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.func import jacfwd

from ..errors import PcpinnError
from .arguments import with_time
from .conditions import Condition, Dirichlet, Initial, Natural, NaturalCondition, evaluate
from .field import Field, Local
from .problem import Problem

Map = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class MappedProblem(Problem):
    """A problem in the coordinates of a reference domain.

    Attributes:
        map: from places X (d,) of the reference domain to places x (d,).
    """

    map: Map | None = None


def mapped(problem: Problem, map: Map) -> MappedProblem:
    """The problem on the image of its domain under a map, in coordinates of the domain itself.

    Args:
        problem: written for places x of the image; its `domain` is the reference, whose boundaries keep their names.
        map: X (d,) -> x (d,) in torch operations, one to one with a positive Jacobian. Parameters of a family may stand in it.

    Raises:
        PcpinnError: for a problem over time whose time is a coordinate, or a map that is no function.
    """
    if problem.domain.has_time and not problem.over_time:
        raise PcpinnError(
            "time is a coordinate of this problem", "map a steady problem, or one over time: shape.over(0, 1)"
        )
    if not callable(map):
        raise PcpinnError(f"map is {map!r}", "give a function of X (d,) that returns x (d,)")
    made = _Pulled(problem, map)
    boundary = {
        name: {f: made.condition(name, f, c) for f, c in by_field.items()}
        for name, by_field in problem.conditions.items()
    }
    functions: dict[str, Any] = {
        what: made.function(what) for what in ("flux", "source", "density") if getattr(problem, what) is not None
    }
    kept: dict[str, Any] = {k: getattr(problem, k) for k in ("domain", "fields", "pins", "name")}
    return MappedProblem(**kept, **functions, boundary=boundary, map=map)


class _Pulled:
    """The functions of a problem as functions of reference places."""

    def __init__(self, problem: Problem, map: Map) -> None:
        self.problem, self.map, self.over_time = problem, map, problem.over_time

    def at(self, X: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """x, J^-1 and det J at X."""
        J = jacfwd(self.map)(X)
        if J.shape != (len(X), len(X)):
            raise PcpinnError(f"the map has a derivative of shape {tuple(J.shape)}", f"it must return ({len(X)},)")
        return self.map(X), torch.linalg.inv(J), torch.linalg.det(J)

    def locals(self, fields: tuple[Local, ...], inverse: Tensor) -> list[Local]:
        """Fields with gradients by x."""
        return [Local(u.value, u.grad @ inverse, u.rate) for u in fields]

    def function(self, what: str) -> Callable[..., Any]:
        """flux, source or density."""
        own = with_time(getattr(self.problem, what), self.over_time)
        several = len(self.problem.unknowns) > 1

        def pulled(X: Tensor, t: Tensor | None, *fields: Local) -> Any:
            x, inverse, det = self.at(X)
            result = own(x, t, *self.locals(fields, inverse))
            parts = result if several and isinstance(result, tuple | list) else (result,)
            turned = tuple(
                self._part(what, p, inverse, det, f) for p, f in zip(parts, self.problem.unknowns, strict=True)
            )
            return turned if several else turned[0]

        if self.over_time:
            return lambda X, t, *fields: pulled(X, t, *fields)
        return lambda X, *fields: pulled(X, None, *fields)

    def _part(self, what: str, part: Any, inverse: Tensor, det: Tensor, f: Field) -> Any:
        if part is None:
            return None
        if what != "flux":
            return part * det
        d = len(inverse)
        flux = torch.as_tensor(part, dtype=inverse.dtype, device=inverse.device)
        flux = flux.expand((d,) if f.components == 1 else (f.components, d)) if flux.ndim == 0 else flux
        return det * (flux.reshape(*(() if f.components == 1 else (f.components,)), d) @ inverse.T)

    def condition(self, boundary: str, name: str, condition: Condition) -> Condition:
        """A condition in reference coordinates; others than values and fluxes are as they are."""
        if isinstance(condition, Initial) and condition.rate is not None:
            return replace(condition, value=self._value(condition.value), rate=self._value(condition.rate))
        if isinstance(condition, Dirichlet):
            return replace(condition, value=self._value(condition.value))
        if not isinstance(condition, NaturalCondition):
            return condition
        position = [f.name for f in self.problem.unknowns].index(name)

        def natural(X: Tensor, t: Tensor | None, N: Tensor, *fields: Local) -> Any:
            x, inverse, det = self.at(X)
            n = N @ inverse
            length = torch.sqrt((n**2).sum())
            here = self.locals(fields, inverse)
            return det * length * condition.normal_flux(x, t, n / length, here[position], here)

        if self.over_time:
            return Natural(lambda X, t, N, *fields: natural(X, t, N, *fields))
        return Natural(lambda X, N, *fields: natural(X, None, N, *fields))

    def _value(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [self._value(v) for v in value]
        if not callable(value):
            return value
        if self.over_time:
            return lambda X, t: evaluate(value, self.map(X), t)
        return lambda X: evaluate(value, self.map(X))
