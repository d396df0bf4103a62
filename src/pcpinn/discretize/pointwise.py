"""flux, source, density and boundary functions of a Problem at many points, and their pointwise Jacobians.

The state at a point is (C, 1 + d): for each of the C scalar components of all fields, its value and its gradient.
Its image under the PDE has the same shape: source and flux for each component. In a problem over time the last of the d
coordinates is time: the state ends with u_t, the flux with what flows through time; the user's functions see space alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.func import jacfwd, jvp, vmap

from ..errors import PcpinnError
from ..problem.arguments import takes_time, with_time
from ..problem.conditions import Dirichlet, Initial, NaturalCondition, Neumann, evaluate
from ..problem.field import Field, Local
from ..problem.problem import Problem
from ..problem.real import refuse_complex
from .guarded import called, guard


def unpack(state: Tensor, fields: tuple[Field, ...], over_time: bool) -> list[Local]:
    """(C, 1 + d) at one point -> one Local per field; over time the last of d is u_t."""
    return _locals(state[:, :-1], state[:, -1], fields) if over_time else _locals(state, None, fields)


def _locals(now: Tensor, rate: Tensor | None, fields: tuple[Field, ...]) -> list[Local]:
    """Values and gradients in space (C, 1 + d) and, over time, u_t (C,) -> one Local per field."""
    result, at = [], 0
    for f in fields:
        which = at if f.components == 1 else slice(at, at + f.components)
        rows = now[which]
        result.append(Local(rows[..., 0], rows[..., 1:], None if rate is None else rate[which]))
        at += f.components
    return result


def place_and_time(x: Tensor, over_time: bool) -> tuple[Tensor, Tensor | None]:
    """A point (d,) as functions of the problem see it: x and, over time, t."""
    return (x[:-1], x[-1]) if over_time else (x, None)


class Pointwise:
    """The PDE of a problem, evaluated on batches of points.

    d/dt density of an equation of first order in time joins its source, by the chain rule. That of second order in time (the
    field's `Initial` has a rate) is left to be tested: -density is the flux through time.

    Args:
        problem: the PDE.
        strong: make every density a flux through time; for those who differentiate all fluxes themselves, as the strong form.
    """

    def __init__(self, problem: Problem, strong: bool = False) -> None:
        self.problem = problem
        self.fields = problem.unknowns
        self.over_time = problem.over_time
        self.has_flux = problem.flux is not None or problem.density is not None
        functions = {"source": problem.source, "flux": problem.flux, "density": problem.density}
        self._functions = {k: None if f is None else with_time(f, self.over_time) for k, f in functions.items()}
        self._timed = {k: self.over_time and f is not None and takes_time(f) for k, f in functions.items()}
        self._tested = [strong or f.name in problem.second_order_fields for f in self.fields]
        self._values_alone = not any(self._tested)  # the density, for all that is known so far

    def evaluate(self, x: Tensor, state: Tensor) -> Tensor:
        """(n, d), (n, C, 1 + d) -> (n, C, 1 + d): source and flux."""
        return guard(vmap(self.at_point), x, state)

    def jacobian(self, x: Tensor, state: Tensor) -> Tensor:
        """(n, d), (n, C, 1 + d) -> (n, C, 1 + d, C, 1 + d): derivative of (source, flux) by (value, gradient)."""
        return guard(vmap(jacfwd(self.at_point, argnums=1)), x, state)

    def at_point(self, x: Tensor, state: Tensor) -> Tensor:
        """The same at one point: (d,), (C, 1 + d) -> (C, 1 + d). Over time, gradients in the density count as steady."""
        if not self.over_time:
            return self._rows(*self._source_and_flux(x, None, _locals(state, None, self.fields)))
        source, flux, through = self._over_time(x, state[:, :-1], state[:, -1], None)
        return self._rows(
            source,
            flux,
            [x.new_zeros(_shape(f)) if q is None else q for f, q in zip(self.fields, through, strict=True)],
        )

    def in_space(self, x: Tensor, jet: Tensor) -> Tensor:
        """Over time, source and flux in space at one point where derivatives in time of gradients are known as well.

        Args:
            x: the point (d,).
            jet: (C, 2, 1 + dx) values and gradients in space, and their derivatives in time.
        """
        slope = jet[:, 1]
        return self._rows(*self._over_time(x, jet[:, 0], slope[:, 0], slope)[:2])

    def density(self, x: Tensor, state: Tensor) -> Tensor:
        """The density at one point of a problem that has one: (d,), (C, 1 + d) -> (C,)."""
        place, t = place_and_time(x, self.over_time)
        parts = self._density(place, t, unpack(state, self.fields, self.over_time))
        return torch.cat([part.reshape(f.components) for f, part in zip(self.fields, parts, strict=True)])

    def _over_time(
        self, x: Tensor, now: Tensor, rate: Tensor, slope: Tensor | None
    ) -> tuple[list[Tensor], list[Tensor], list[Tensor | None]]:
        """For each field, the source with the density that joins it, the flux in space and that through time (None is zero)."""
        place, t = x[:-1], x[-1] if any(self._timed.values()) else None
        fields = _locals(now, rate, self.fields)
        source, flux = self._source_and_flux(place, t, fields)
        nothing: list[Tensor | None] = [None] * len(fields)
        if self._functions["density"] is None:
            return source, flux, nothing
        if all(self._tested):
            return source, flux, [-part for part in self._density(place, t, fields)]
        rates, through = self._rate_of_values(place, t, fields), nothing
        if rates is None:
            density, changes = self._with_rate(place, t, now, rate, slope)
            rates = [None if tested else r for tested, r in zip(self._tested, changes, strict=True)]
            through = [-part if tested else None for tested, part in zip(self._tested, density, strict=True)]
        return [s if r is None else s + r for s, r in zip(source, rates, strict=True)], flux, through

    def _rate_of_values(self, x: Tensor, t: Tensor | None, fields: list[Local]) -> list[Tensor | None] | None:
        """d/dt density of each field where each part of it is the value of a field itself, or nothing; None for others.

        Almost all are, and a march evaluates them by the thousand: there is no need to differentiate. Others are not called
        for nothing a second time.
        """
        if not self._values_alone:
            return None
        rates = {id(f.value): f.dt for f in fields}
        parts = self._call("density", x, t, fields)
        self._values_alone = all(part is None or id(part) in rates for part in parts)
        if not self._values_alone:
            return None
        shaped = self._shaped("density", [rates.get(id(part)) for part in parts], x, _shape)
        return [None if part is None else r for part, r in zip(parts, shaped, strict=True)]

    def _with_rate(
        self, x: Tensor, t: Tensor | None, now: Tensor, rate: Tensor, slope: Tensor | None
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """density and d/dt density of each field by the chain rule; x stands still, and t matters only to functions of it."""

        def density(now: Tensor, t: Tensor | None = t) -> tuple[Tensor, ...]:
            return tuple(self._density(x, t, _locals(now, rate, self.fields)))

        if slope is None:
            slope = torch.cat([rate[:, None], torch.zeros_like(now[:, 1:])], dim=1)
        if t is None or not self._timed["density"]:
            return jvp(density, (now,), (slope,))  # type: ignore[return-value]
        return jvp(density, (now, t), (slope, torch.ones_like(t)))  # type: ignore[return-value]

    def _density(self, x: Tensor, t: Tensor | None, fields: list[Local]) -> list[Tensor]:
        return self._shaped("density", self._call("density", x, t, fields), x, _shape)

    def _source_and_flux(self, x: Tensor, t: Tensor | None, fields: list[Local]) -> tuple[list[Tensor], list[Tensor]]:
        """As the functions give them: () and (d,) for each scalar field, (c,) and (c, d) for a vector."""
        d = fields[0].grad.shape[-1]
        return (
            self._shaped("source", self._call("source", x, t, fields), x, _shape),
            self._shaped("flux", self._call("flux", x, t, fields), x, lambda f: (*_shape(f), d)),
        )

    def _rows(self, source: list[Tensor], flux: list[Tensor], through: list[Tensor] | None = None) -> Tensor:
        """Source, flux and flux through time of each field -> (C, 1 + d), in one step if all fields are scalar."""
        parts: list[Tensor] = []
        for k, f in enumerate(self.fields):
            own = [source[k].unsqueeze(-1), flux[k], *([] if through is None else [through[k].unsqueeze(-1)])]
            parts += own if f.components == 1 else [torch.cat(own, dim=1).flatten()]
        return torch.cat(parts).unflatten(0, (sum(f.components for f in self.fields), -1))

    def _call(self, what: str, x: Tensor, t: Tensor | None, fields: list[Local]) -> tuple[Any, ...]:
        """What a function returns, one part per field."""
        function = self._functions[what]
        if function is None:
            return (None,) * len(fields)
        with called(what):
            result = function(x, t, *fields)
        if what != "density":  # without one there is no rate, and initial values are refused: a slip is told there
            _said(result, what)
        parts = result if isinstance(result, tuple) else (result,) if len(fields) == 1 else None
        if parts is None or len(parts) != len(fields):
            names = ", ".join(f.name for f in self.fields)
            raise PcpinnError(
                f"{what} must return a tuple of {len(fields)} parts, one for each of the fields {names}",
                f"write {what}=lambda x, {names}: (..., ...); None stands for zero",
            )
        return parts

    def _shaped(
        self, what: str, parts: Sequence[Any], x: Tensor, shape: Callable[[Field], tuple[int, ...]]
    ) -> list[Tensor]:
        return [
            _shaped(part, shape(f), x, f"{what} of field {f.name!r}", self.over_time)
            for f, part in zip(self.fields, parts, strict=True)
        ]


def _shape(f: Field) -> tuple[int, ...]:
    return () if f.components == 1 else (f.components,)


class BoundaryFlux:
    """The prescribed normal fluxes g on one named boundary, for all components at once.

    At the start of time the flux through time of an equation of second order is prescribed: with the outward normal -1 it is
    g = density(x, u, u_t = rate).
    """

    def __init__(self, problem: Problem, boundary: str) -> None:
        self.fields = problem.unknowns
        self.boundary, self.over_time = boundary, problem.over_time
        by_field = problem.conditions.get(boundary, {})
        self.conditions = [by_field.get(f.name) for f in self.fields]
        self._pointwise = Pointwise(problem)

    @property
    def is_zero(self) -> bool:
        """Whether no field has a natural condition here."""
        return not self._starts and not any(isinstance(c, NaturalCondition) for c in self.conditions)

    @property
    def vanishes(self) -> bool:
        """Whether g = 0 whatever the state: no natural condition, or only Neumann(0), which a weak form need not integrate."""
        natural = [c for c in self.conditions if isinstance(c, NaturalCondition)]
        return not self._starts and all(isinstance(c, Neumann) and _is_zero(c.value) for c in natural)

    @property
    def _starts(self) -> bool:
        """Whether a rate is given here."""
        return any(isinstance(c, Initial) and c.rate is not None for c in self.conditions)

    def evaluate(self, x: Tensor, n: Tensor, state: Tensor) -> Tensor:
        """(m, d) points, (m, d) outward normals, (m, C, 1 + d) -> (m, C)."""
        return guard(vmap(self.at_point), x, n, state)

    def jacobian(self, x: Tensor, n: Tensor, state: Tensor) -> Tensor:
        """Derivative of `evaluate`: (m, C, C, 1 + d)."""
        return guard(vmap(jacfwd(self.at_point, argnums=2)), x, n, state)

    def at_point(self, x: Tensor, n: Tensor, state: Tensor) -> Tensor:
        """The same at one point."""
        if self._starts:
            return self._density_at_start(x, state)
        locals_ = unpack(state, self.fields, self.over_time)
        place, t = place_and_time(x, self.over_time)
        normal = n[:-1] if self.over_time else n
        rows = []
        for f, own, condition in zip(self.fields, locals_, self.conditions, strict=True):
            g: Any = 0.0
            if isinstance(condition, NaturalCondition):
                with called(self._label(f)):
                    g = _said(condition.normal_flux(place, t, normal, own, locals_), self._label(f))
                self._refuse_one_for_all(g, f)
            rows.append(self._row(g, f, x))
        return torch.cat(rows)

    def _density_at_start(self, x: Tensor, state: Tensor) -> Tensor:
        """density(x, u, rate) of the fields that have a rate, else 0: (C,)."""
        rates, given = [], []
        for f, rows, condition in zip(self.fields, self._by_field(state), self.conditions, strict=True):
            rate = condition.rate if isinstance(condition, Initial) else None
            given += [rate is not None] * f.components
            place, t = place_and_time(x, self.over_time)
            rates.append(rows[:, -1] if rate is None else self._row(evaluate(rate, place, t), f, x))
        started = torch.cat([state[:, :-1], torch.cat(rates)[:, None]], dim=1)
        return torch.where(torch.tensor(given, device=x.device), self._pointwise.density(x, started), 0.0)

    def _refuse_one_for_all(self, g: Any, f: Field) -> None:
        """A number as the load on a vector: on all components alike is hardly ever meant."""
        alone = g.ndim == 0 if isinstance(g, Tensor) else isinstance(g, int | float) and g != 0
        if f.components > 1 and alone:
            raise PcpinnError(
                f"the condition of field {f.name!r} on {self.boundary!r} is one number for {f.components} components",
                f"give one per component, such as Neumann(({', '.join(['0.0'] * (f.components - 1))}, 5.0)), or a load along the "
                "normal: Natural(lambda x, n, u: 5.0 * n)",
            )

    def _by_field(self, state: Tensor) -> tuple[Tensor, ...]:
        return state.split([f.components for f in self.fields])

    def _row(self, g: Any, f: Field, x: Tensor) -> Tensor:
        return _shaped(g, _shape(f), x, self._label(f), self.over_time).reshape(f.components)

    def _label(self, f: Field) -> str:
        return f"condition of field {f.name!r} on {self.boundary!r}"


def _is_zero(value: Any) -> bool:
    return isinstance(value, int | float) and value == 0


def dirichlet_values(condition: Dirichlet, f: Field, x: Tensor, boundary: str, over_time: bool) -> list[Tensor | None]:
    """Prescribed values of each component at points x (m, d), over time with t last; None for a component left free."""
    value, label = condition.value, f"{type(condition).__name__} value on {boundary!r}"
    if isinstance(value, list | tuple) and any(v is None or callable(v) for v in value):
        if len(value) != f.components:
            raise PcpinnError(
                f"{type(condition).__name__} on {boundary!r} has {len(value)} values for field {f.name!r} "
                f"of {f.components} components",
                "give one value per component; None leaves a component free",
            )
        return [None if v is None else _values(v, (), x, label, over_time) for v in value]
    values = _values(value, _shape(f), x, label, over_time).reshape(len(x), f.components)
    return list(values.unbind(1))


def _values(value: Any, shape: tuple[int, ...], x: Tensor, label: str, over_time: bool) -> Tensor:
    def at_point(p: Tensor) -> Tensor:
        with called(label):
            given = _said(evaluate(value, *place_and_time(p, over_time)), label)
        return _shaped(given, shape, p, label, over_time)

    result = guard(vmap(at_point), x)
    if not torch.isfinite(result).all():
        bad = x[int((~torch.isfinite(result)).reshape(len(x), -1).any(1).nonzero()[0])]
        raise PcpinnError(f"{label} is not finite at x = {bad.tolist()}", "check the formula at that point")
    return result


def _said(value: Any, label: str) -> Any:
    """What a function says: a forgotten `return` would be taken for zero."""
    if value is None:
        raise PcpinnError(f"{label} is None", "is a `return` missing? 0.0 stands for zero")
    return value


def _shaped(part: Any, shape: tuple[int, ...], x: Tensor, label: str, over_time: bool) -> Tensor:
    """Make a tensor of the wanted shape; numbers and None spread, anything else must fit, but for axes of length 1.

    In one dimension a gradient is (1,), so that u.grad as a source or u.grad[0] of a vector as its flux leave no doubt.
    """
    if part is None:
        return x.new_zeros(shape)
    if isinstance(part, int | float):
        return x.new_full(shape, float(part))
    refuse_complex(part, label)
    if not isinstance(part, Tensor):
        raise PcpinnError(
            f"{label} returned a {type(part).__name__}", "return a torch tensor or a number, not NumPy or a list"
        )
    if part.shape != shape:
        if part.ndim == 0 and label.startswith("flux") and shape[-1] > 1:
            raise PcpinnError(
                f"{label} is one number, but has {shape[-1]} components here",
                "write a vector, such as k * u.grad or torch.stack([...]); 0.0 stands for zero",
            )
        if part.ndim == 0:
            return part.to(x.dtype).expand(shape)
        if part.ndim != len(shape) and _without_ones(part.shape) == _without_ones(shape):
            return part.to(x.dtype).reshape(shape)
        raise PcpinnError(
            f"{label} has shape {tuple(part.shape)}, expected {shape}",
            "functions see one point: x is (d,), a scalar's value is () and its gradient (d,)"
            + (", d counting space alone; the time derivative is u.dt" if over_time else ""),
        )
    return part if part.dtype == x.dtype else part.to(x.dtype)


def _without_ones(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(length for length in shape if length != 1)
