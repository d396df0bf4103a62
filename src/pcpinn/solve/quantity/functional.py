"""Numbers that depend on a function: sums over points, and reactions at boundaries where values are prescribed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap

from ...discretize.batches import Batch, facet_batch
from ...discretize.guarded import called, guard
from ...discretize.places import known_boundary
from ...discretize.pointwise import BoundaryFlux, Pointwise, place_and_time, unpack
from ...discretize.space import Space
from ...errors import PcpinnError
from ...problem.arguments import with_time
from ...problem.conditions import Dirichlet, NaturalCondition, Periodic
from ...problem.field import Field
from ...problem.problem import Problem

AtPoint = Callable[[Tensor, Tensor, Tensor], Tensor]  # (x, normal, state) at one point -> (k,)

Seen = Callable[[Batch], tuple[Tensor, Tensor, Tensor]]  # points, normals and states of a batch


class Discrete(Protocol):
    """A discretisation of a steady problem, or of one over time at a moment."""

    @property
    def problem(self) -> Problem:
        """The PDE."""

    @property
    def space(self) -> Space:
        """Of its functions."""

    @property
    def size(self) -> int:
        """Degrees of freedom N."""

    def seen(self, batch: Batch, u: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Of u (N,) at the points of a batch: points, normals and states, as functions of the problem take them."""

    def residual(self, u: Tensor) -> Tensor:
        """(N,) of the weak form."""


class Functional(Protocol):
    """k numbers that depend on a discrete function."""

    def __call__(self, fe: Discrete, u: Tensor) -> tuple[Tensor, Tensor]:
        """Their values (k,), differentiable in u (N,), and the sizes (k,) of what was added up."""

    def tests(self, fe: Discrete) -> list[np.ndarray] | None:
        """(N,) for each number the test function of the weak residual that it is made of; None if it is not."""


@dataclass(frozen=True)
class Sum:
    """The sum of a function over points with weights.

    Attributes:
        at_point: the function.
        where: the points in a space.
    """

    at_point: AtPoint
    where: Callable[[Space], Iterator[Batch]]

    def __call__(self, fe: Discrete, u: Tensor) -> tuple[Tensor, Tensor]:
        """Of a discrete function."""
        return self.over(fe.space, partial(fe.seen, u=u))

    def over(self, space: Space, seen: Seen) -> tuple[Tensor, Tensor]:
        """Of any function, by what is seen at points: places, normals and states."""
        total = size = torch.zeros(1, dtype=torch.float64)
        for batch in self.where(space):
            parts = self.each(batch, seen) * batch.dx.reshape(-1, 1)
            total, size = total + parts.sum(0), size + parts.detach().abs().sum(0)
        return total, size

    def tests(self, fe: Discrete) -> None:
        """It is no residual."""

    def each(self, batch: Batch, seen: Seen) -> Tensor:
        """(n, k) at each point of a batch."""
        return guard(vmap(self.at_point), *seen(batch))

    def apart(self, space: Space, first: Seen, second: Seen) -> Tensor:
        """(k,) the sum of how far two functions are from each other at the points, without signs."""
        total = torch.zeros(1, dtype=torch.float64)
        for batch in self.where(space):
            total = total + ((self.each(batch, first) - self.each(batch, second)).abs() * batch.dx.reshape(-1, 1)).sum(
                0
            )
        return total

    def remembering(self) -> Sum:
        """The same, with its points kept from one call to the next."""
        known: dict[int, tuple[Space, list[Batch]]] = {}

        def where(space: Space) -> Iterator[Batch]:
            if id(space) not in known:
                known[id(space)] = space, list(self.where(space))
            return iter(known[id(space)][1])

        return replace(self, where=where)


def of_point(
    f: Callable[..., Any], fields: tuple[Field, ...], over_time: bool, normals: bool
) -> tuple[AtPoint, list[int]]:
    """A user's function of one point as one of the state; and a list with the dimension of its value, once it was called.

    Raises:
        PcpinnError: when it is no function.
    """
    names = ", ".join(["x", *(["n"] if normals else []), *(field.name for field in fields)])
    arguments = f"write a function of ({names})" + (f", or of ({names.replace('x', 'x, t', 1)})" if over_time else "")
    if not callable(f):
        raise PcpinnError(f"{f!r} is no function", arguments)
    timed = with_time(f, over_time)
    seen: list[int] = []

    def at_point(x: Tensor, n: Tensor, state: Tensor) -> Tensor:
        place, t = place_and_time(x, over_time)
        with called("the function of the quantity", arguments):
            found = timed(place, t, *((n,) if normals else ()), *unpack(state, fields, over_time))
        if isinstance(found, int | float):
            found = x.new_full((), float(found))
        if isinstance(found, tuple | list) and all(isinstance(v, Tensor) and v.ndim == 0 for v in found):
            found = torch.stack(list(found))
        if not isinstance(found, Tensor) or found.ndim > 1:
            what = f"shape {tuple(found.shape)}" if isinstance(found, Tensor) else f"a {type(found).__name__}"
            raise PcpinnError(
                f"the function of the quantity returned {what} at one point",
                "return a number () or a vector (k,), such as u.value or u.grad: functions see one point",
            )
        seen[:] = [found.ndim]
        return found.reshape(-1).to(x.dtype)

    return at_point, seen


def flux_by_gradients(problem: Problem, components: range) -> AtPoint:
    """flux . n of some components, from values and gradients there."""
    pointwise = Pointwise(problem)

    def at_point(x: Tensor, n: Tensor, state: Tensor) -> Tensor:
        return pointwise.at_point(x, state)[components.start : components.stop, 1 : 1 + len(n)] @ n

    return at_point


def prescribed_flux(problem: Problem, boundary: str, components: range) -> AtPoint:
    """The normal flux that conditions prescribe for some components; zero where there is none."""
    flux, longer = BoundaryFlux(problem, boundary), problem.over_time

    def at_point(x: Tensor, n: Tensor, state: Tensor) -> Tensor:
        outward = torch.cat([n, n.new_zeros(1)]) if longer else n
        return flux.at_point(x, outward, state)[components.start : components.stop]

    return at_point


def kind_of(problem: Problem, boundary: str, field: str, component: int) -> str:
    """What holds for a component of a field on a boundary: "values", "periodic" or "flux"."""
    condition = problem.conditions.get(boundary, {}).get(field)
    if isinstance(condition, Dirichlet):
        value = condition.value
        free = isinstance(value, list | tuple) and len(value) > component and value[component] is None
        return "flux" if free else "values"
    if isinstance(condition, Periodic):
        return "periodic"
    if not isinstance(condition, NaturalCondition) and any(
        boundary == partner for _, partner in problem.periodic_pairs
    ):
        return "periodic"
    return "flux"


@dataclass(frozen=True)
class Reaction:
    """The integral of flux . n over a boundary where values are prescribed, by what holds them there.

    With w = 1 at the nodes of the boundary and 0 at all others, the weak residual tested with w is the integral of flux . n w
    over all boundaries where values are prescribed: the wanted flux, and a little around the ends of the boundary that other
    such boundaries share, which is subtracted. Its error is about the square of that of gradients.
    """

    boundary: str
    field: str
    component: int  # among those of the field

    def __call__(self, fe: Discrete, u: Tensor) -> tuple[Tensor, Tensor]:
        """Of a discrete function."""
        problem, space = fe.problem, fe.space
        at = problem.component_range(self.field)[self.component]
        w = torch.from_numpy(self.tests(fe)[0])
        rows = fe.residual(u) * w
        total, size = rows.sum().reshape(1), rows.detach().abs().sum().reshape(1)
        others = self._neighbours(problem, space)
        if len(others):
            batch = facet_batch(space, others)
            flux = guard(vmap(flux_by_gradients(problem, range(at, at + 1))), *fe.seen(batch, u))
            weight = torch.einsum("eqb,eb->eq", batch.shapes[at][:, :, 0], w[batch.unknowns[at]]) * batch.dx
            shared = flux[:, 0] * weight.flatten()
            total, size = total - shared.sum(), size + shared.detach().abs().sum()
        return total, size

    def tests(self, fe: Discrete) -> list[np.ndarray]:
        """1 at the nodes of the boundary."""
        space, at = fe.space, fe.problem.component_range(self.field)[self.component]
        facets = space.mesh.facets(known_boundary(space, self.boundary))
        w = np.zeros(fe.size)
        w[space.offsets[at] + space.scalar[at].boundary_nodes(facets)] = 1.0
        return [w]

    def _neighbours(self, problem: Problem, space: Space) -> np.ndarray:
        """Facets of other boundaries with prescribed values that share a corner with this one."""
        mesh = space.mesh
        facets = mesh.facets(self.boundary)
        if mesh.dimension == 1:
            return np.empty(0, dtype=np.int64)
        corners = np.unique(mesh.skfem.facets[:, facets])
        found = [
            mesh.facets(name)
            for name in mesh.boundary_names
            if name != self.boundary and kind_of(problem, name, self.field, self.component) == "values"
        ]
        others = np.setdiff1d(np.concatenate([np.empty(0, dtype=np.int64), *found]), facets)
        return others[np.isin(mesh.skfem.facets[:, others], corners).any(axis=0)]


@dataclass(frozen=True)
class Together:
    """Several functionals of one number each."""

    parts: tuple[Functional, ...]

    def __call__(self, fe: Discrete, u: Tensor) -> tuple[Tensor, Tensor]:
        """Of a discrete function."""
        values, sizes = zip(*(part(fe, u) for part in self.parts), strict=True)
        return torch.cat(values), torch.cat(sizes)

    def tests(self, fe: Discrete) -> list[np.ndarray]:
        """Zero for those that are no residuals."""
        return [w for part in self.parts for w in part.tests(fe) or [np.zeros(fe.size)]]


def parts_of(functional: Functional) -> tuple[Functional, ...]:
    """Those that it is put together from."""
    return functional.parts if isinstance(functional, Together) else (functional,)
