"""flux, source and boundary functions of a Problem at many points, and their pointwise Jacobians.

The state at a point is (C, 1 + d): for each of the C scalar components of all fields, its value and its gradient.
What the PDE makes of it has the same shape: source and flux for each component.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.func import jacfwd, vmap

from ..errors import PcpinnError
from ..problem.conditions import Dirichlet, NaturalCondition, evaluate
from ..problem.field import Field, Local
from ..problem.problem import Problem


def unpack(state: Tensor, fields: tuple[Field, ...]) -> list[Local]:
    """(C, 1 + d) at one point -> one Local per field."""
    result, at = [], 0
    for f in fields:
        rows = state[at] if f.components == 1 else state[at : at + f.components]
        result.append(Local(rows[..., 0], rows[..., 1:]))
        at += f.components
    return result


class Pointwise:
    """The PDE of a problem, evaluated on batches of points."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.fields = problem.unknowns

    def evaluate(self, x: Tensor, state: Tensor) -> Tensor:
        """(n, d), (n, C, 1 + d) -> (n, C, 1 + d): source and flux."""
        return guard(vmap(self.at_point), x, state)

    def jacobian(self, x: Tensor, state: Tensor) -> Tensor:
        """(n, d), (n, C, 1 + d) -> (n, C, 1 + d, C, 1 + d): derivative of (source, flux) by (value, gradient)."""
        return guard(vmap(jacfwd(self.at_point, argnums=1)), x, state)

    def at_point(self, x: Tensor, state: Tensor) -> Tensor:
        """The same at one point: (d,), (C, 1 + d) -> (C, 1 + d)."""
        fields = unpack(state, self.fields)
        d = state.shape[1] - 1
        source = self._call("source", x, fields, lambda f: () if f.components == 1 else (f.components,))
        flux = self._call("flux", x, fields, lambda f: (d,) if f.components == 1 else (f.components, d))
        rows = [
            torch.cat([s.reshape(f.components, 1), q.reshape(f.components, d)], dim=1)
            for f, s, q in zip(self.fields, source, flux, strict=True)
        ]
        return torch.cat(rows)

    def _call(
        self, what: str, x: Tensor, fields: list[Local], shape: Callable[[Field], tuple[int, ...]]
    ) -> list[Tensor]:
        function = getattr(self.problem, what)
        result = None if function is None else function(x, *fields)
        parts = result if isinstance(result, tuple) else (result,) if len(fields) == 1 else None
        if function is None:
            parts = (None,) * len(fields)
        if parts is None or len(parts) != len(fields):
            names = ", ".join(f.name for f in self.fields)
            raise PcpinnError(
                f"{what} must return a tuple of {len(fields)} parts, one for each of the fields {names}",
                f"write {what}=lambda x, {names}: (..., ...); None stands for zero",
            )
        return [
            _shaped(part, shape(f), x, f"{what} of field {f.name!r}")
            for f, part in zip(self.fields, parts, strict=True)
        ]


class BoundaryFlux:
    """The prescribed normal fluxes g on one named boundary, for all components at once."""

    def __init__(self, problem: Problem, boundary: str) -> None:
        self.fields = problem.unknowns
        self.boundary = boundary
        by_field = problem.conditions.get(boundary, {})
        self.conditions = [by_field.get(f.name) for f in self.fields]

    @property
    def is_zero(self) -> bool:
        """Whether no field has a natural condition here."""
        return not any(isinstance(c, NaturalCondition) for c in self.conditions)

    def evaluate(self, x: Tensor, n: Tensor, state: Tensor) -> Tensor:
        """(m, d) points, (m, d) outward normals, (m, C, 1 + d) -> (m, C)."""
        return guard(vmap(self.at_point), x, n, state)

    def jacobian(self, x: Tensor, n: Tensor, state: Tensor) -> Tensor:
        """Derivative of `evaluate`: (m, C, C, 1 + d)."""
        return guard(vmap(jacfwd(self.at_point, argnums=2)), x, n, state)

    def at_point(self, x: Tensor, n: Tensor, state: Tensor) -> Tensor:
        """The same at one point."""
        locals_ = unpack(state, self.fields)
        rows = []
        for f, own, condition in zip(self.fields, locals_, self.conditions, strict=True):
            g = condition.normal_flux(x, n, own, locals_) if isinstance(condition, NaturalCondition) else 0.0
            shape = () if f.components == 1 else (f.components,)
            rows.append(
                _shaped(g, shape, x, f"condition of field {f.name!r} on {self.boundary!r}").reshape(f.components)
            )
        return torch.cat(rows)


def dirichlet_values(condition: Dirichlet, f: Field, x: Tensor, boundary: str) -> list[Tensor | None]:
    """Prescribed values of each component at points x (m, d); None for a component left free."""
    value = condition.value
    if isinstance(value, list | tuple) and any(v is None or callable(v) for v in value):
        if len(value) != f.components:
            raise PcpinnError(
                f"Dirichlet on {boundary!r} has {len(value)} values for field {f.name!r} of {f.components} components",
                "give one value per component; None leaves a component free",
            )
        return [None if v is None else _values(v, (), x, boundary) for v in value]
    values = _values(value, () if f.components == 1 else (f.components,), x, boundary).reshape(len(x), f.components)
    return list(values.unbind(1))


def _values(value: Any, shape: tuple[int, ...], x: Tensor, boundary: str) -> Tensor:
    label = f"Dirichlet value on {boundary!r}"

    def at_point(p: Tensor) -> Tensor:
        return _shaped(evaluate(value, p), shape, p, label)

    result = guard(vmap(at_point), x)
    if not torch.isfinite(result).all():
        bad = x[int((~torch.isfinite(result)).reshape(len(x), -1).any(1).nonzero()[0])]
        raise PcpinnError(f"{label} is not finite at x = {bad.tolist()}", "check the formula at that point")
    return result


def _shaped(part: Any, shape: tuple[int, ...], x: Tensor, label: str) -> Tensor:
    """Make a tensor of the wanted shape; numbers and None spread, anything else must fit."""
    if part is None:
        return x.new_zeros(shape)
    if isinstance(part, int | float):
        return x.new_full(shape, float(part))
    if not isinstance(part, Tensor):
        raise PcpinnError(
            f"{label} returned a {type(part).__name__}", "return a torch tensor or a number, not NumPy or a list"
        )
    if part.shape != shape:
        if part.ndim == 0:
            return part.to(x.dtype).expand(shape)
        raise PcpinnError(
            f"{label} has shape {tuple(part.shape)}, expected {shape}",
            "functions see one point: x is (d,), a scalar's value is () and its gradient (d,)",
        )
    return part.to(x.dtype)


def guard(function: Callable[..., Tensor], *args: Tensor) -> Tensor:
    """Run the user's function; turn whatever it raises into a message that names the cause."""
    try:
        return function(*args)
    except PcpinnError:
        raise
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise PcpinnError(
            f"a function of the problem (flux, source or condition) failed: {type(error).__name__}: {reason}",
            "write it with differentiable torch operations on one point (torch.where instead of if; no NumPy, no .item()); "
            "constant tensors must be float64",
        ) from error
