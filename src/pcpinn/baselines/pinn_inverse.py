"""The ordinary PINN of an inverse problem: misfit of the data, strong form at random points, penalties on the boundary.

The networks are those of `pcpinn.infer`; nothing is discretised, nothing preconditioned, and there is no prior.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..discretize.pointwise import Pointwise, dirichlet_values
from ..errors import PcpinnError
from ..invert.model import InverseModel
from ..invert.observations import Observations
from ..invert.setup import value_function
from ..mesh.mesh import Mesh
from ..mesh.points import boundary_points, interior_points, spacing_of
from ..problem.conditions import Condition, Dirichlet, Free, Natural
from ..problem.family import Family
from ..problem.problem import Problem
from ..problem.unknowns import Coefficient
from ..solve.settings import Settings
from ..strong.conditions import condition_terms
from ..strong.form import state_at, strong_residual
from ..train import Loss

_HUBER = 1.345  # standard deviations beyond which a residual counts linearly


@dataclass(frozen=True)
class KnownValues:
    """A coefficient's values at points of a boundary."""

    name: str
    x: Tensor
    target: Tensor
    scale: float


class InverseStrongLoss(Loss):
    """0.5 (mean squared misfit + equations * mean squared residual of the PDE + boundary_weight * that of each condition).

    Args:
        model: networks and parameters.
        data, noise: observations, and their standard deviations (for Huber's loss alone: squares are plain, as is usual).
        mesh: of simplices, where random points come from.
        settings: collocation, equations, boundary_weight, loss, seed.
    """

    def __init__(
        self,
        model: InverseModel,
        data: Sequence[Observations],
        noise: Sequence[np.ndarray],
        mesh: Mesh,
        settings: Settings,
    ) -> None:
        self.model, self.data, self.network = model, list(data), model.network
        self.equations, self.robust = settings.loss.equation_weight, settings.loss.misfit == "huber"
        family, like = model.family, model.theta.detach()
        self._columns = [None if d.observable is not None else d.component_in(family.base) for d in data]
        self._x, self._y, self._noise = (
            [torch.as_tensor(np.ascontiguousarray(a)).to(like) for a in arrays]
            for arrays in ([d.points for d in data], [d.values for d in data], noise)
        )
        problem = closed(family, lambda x: self._unknowns(x[None])[0])
        _refuse_moving_values(family, mesh)
        random = np.random.default_rng(settings.run.seed)
        self.points = torch.as_tensor(interior_points(mesh, settings.loss.collocation, random)).to(like)
        spacing = spacing_of(mesh, settings.loss.collocation)
        self.pointwise = _Extended(family.extended, self._unknowns)
        self.terms = condition_terms(problem, mesh, spacing, settings.loss.boundary_weight, like, random)
        self.known = _known(family, mesh, spacing, settings.loss.boundary_weight, like, random)
        self.loss()  # what fails, fails here

    @property
    def theta(self) -> torch.nn.Parameter:
        """All weights."""
        return self.model.theta

    def _unknowns(self, x: Tensor) -> Tensor:
        """(m, K) values of the unknowns at points (m, d)."""
        places = {name: x[:, : net.base.inputs].to(self.theta.dtype) for name, net in self.model.coefficients.items()}
        return self.model.coefficient_values(places, len(x)).to(x.dtype)

    def loss(self) -> Tensor:
        """A scalar, differentiable in theta."""
        u = _Evaluated(self.model)
        total = sum((self._misfit(i, u) for i in range(len(self.data))), torch.zeros_like(self.theta[0]))
        inside = strong_residual(self.pointwise, u, self.points)
        total = total + 0.5 * self.equations * (inside**2).sum() / len(self.points)
        for term in self.terms:
            r = term.residual(u)  # type: ignore[arg-type]
            total = total + 0.5 * (r @ r)
        for known in self.known:
            net = self.model.coefficients[known.name]
            part = self.model.parts[1 + list(self.model.coefficients).index(known.name)]
            value = net.bounded.value(net.base.evaluate(self.theta[part], known.x[:, : net.base.inputs])[:, 0])
            total = total + 0.5 * known.scale * ((value - known.target) ** 2).mean()
        return total

    def _misfit(self, i: int, u: Callable[[Tensor], Tensor]) -> Tensor:
        r = self.predictions(i, u) - self._y[i]
        if not self.robust:
            return 0.5 * (r**2).mean()
        s = r / self._noise[i]
        slope = s.clamp(-_HUBER, _HUBER)
        return 0.5 * (self._noise[i] ** 2 * slope * (2 * s - slope)).mean()

    def predictions(self, i: int, u: Callable[[Tensor], Tensor] | None = None) -> Tensor:
        """(m,) what one set of data should be."""
        u, column = u or _Evaluated(self.model), self._columns[i]
        if column is not None:
            return u(self._x[i])[:, column]
        x = self._x[i].detach().requires_grad_()
        return torch.func.vmap(self.data[i].observed(self.model.family.base))(x, state_at(u, x))

    def describe(self) -> dict[str, Any]:
        """Facts for the report."""
        return {
            "collocation": len(self.points),
            "conditions": sum(t.size for t in self.terms) + sum(len(k.x) for k in self.known),
            "equations": self.equations,
        }


class _Extended(Pointwise):
    """The PDE on extended points, found from the points themselves; networks see all points at once."""

    def __init__(self, extended: Problem, values: Callable[[Tensor], Tensor]) -> None:
        super().__init__(extended, strong=True)
        self._values_at = values

    def evaluate(self, x: Tensor, state: Tensor) -> Tensor:
        """As of `Pointwise`, with points (n, d)."""
        return super().evaluate(torch.cat([self._values_at(x), x], dim=1), state)


class _Evaluated:
    """u_theta as a function of points whose gradients go to the common vector of weights."""

    def __init__(self, model: InverseModel) -> None:
        self.model, self.network = model, model.network
        self.theta: Tensor = model.theta
        self.outputs = model.network.outputs

    def __call__(self, x: Tensor) -> Tensor:
        return self.model.u(x)


def closed(family: Family, values: Callable[[Tensor], Tensor]) -> Problem:
    """The problem whose unknowns are given functions: values(x) is (K,) at one point."""
    extended, over_time = family.extended, family.base.over_time

    def located(own: Callable[..., Any]) -> Callable[..., Any]:
        """A function of extended points as one of the points alone."""
        if over_time:
            return lambda x, t, *others: own(torch.cat([values(torch.cat([x, t[None]])), x]), t, *others)
        return lambda x, *others: own(torch.cat([values(x), x]), *others)

    def fixed(value: Any) -> Any:
        """A prescribed value, of which no derivative is taken."""
        if not callable(value):
            return value
        own = located(value)
        if over_time:
            return lambda x, t: torch.as_tensor(own(x, t), dtype=x.dtype).detach()
        return lambda x: torch.as_tensor(own(x), dtype=x.dtype).detach()

    def condition(given: Condition) -> Condition:
        if isinstance(given, Natural):
            return replace(given, function=located(given.function))
        if isinstance(given, Dirichlet) and not isinstance(given, Free):
            value = given.value
            parts = isinstance(value, list | tuple)
            return replace(given, value=[fixed(v) for v in value] if parts else fixed(value))  # type: ignore[union-attr]
        return given

    boundary = {name: {f: condition(c) for f, c in by_field.items()} for name, by_field in extended.conditions.items()}
    return replace(
        family.base,
        flux=extended.flux and located(extended.flux),
        source=extended.source and located(extended.source),
        density=extended.density and located(extended.density),
        boundary=boundary,
    )


def _constant(values: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda x: values.to(x)


def _refuse_moving_values(family: Family, mesh: Mesh) -> None:
    """Targets are evaluated once: they must not depend on what is looked for."""
    pair = [closed(family, _constant(factor * family.start + factor - 1)) for factor in (1.0, 1.25)]
    for name in mesh.boundary_names:
        at = torch.as_tensor(mesh.nodes[np.unique(mesh.boundaries[name])][:8])
        for f in family.base.unknowns:
            found = [p.conditions.get(name, {}).get(f.name) for p in pair]
            if not all(isinstance(c, Dirichlet) and not isinstance(c, Free) for c in found):
                continue
            both = [dirichlet_values(c, f, at, name, family.base.over_time) for c in found]  # type: ignore[arg-type]
            if any(a is not None and b is not None and not torch.equal(a, b) for a, b in zip(*both, strict=True)):
                raise PcpinnError(
                    f"values of {f.name!r} on {name!r} depend on the unknowns, which the ordinary PINN does not take",
                    "use method=infer or adjoint",
                )


def _known(
    family: Family, mesh: Mesh, spacing: float, weight: float, like: Tensor, random: np.random.Generator
) -> list[KnownValues]:
    """One term per boundary on which a coefficient is known."""
    result = []
    for name, unknown in family.unknowns.items():
        if isinstance(unknown, Coefficient):
            for boundary, given in unknown.known.items():
                x = torch.as_tensor(boundary_points(mesh, boundary, spacing, random).x)
                value = torch.func.vmap(value_function(given, family.base.over_time))(x)
                result.append(KnownValues(name, x.to(like), value.to(like), weight))
    return result
