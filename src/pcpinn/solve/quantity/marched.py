"""What quantities of a problem over time are computed on: discrete marches with the steps of the solution.

One has the solution's own elements, the other one degree and one time level per step more. A quantity is that of the finer march:
what the network's would be if the finer adjoint march corrected it, which is the same number where the problem is linear. How far
that still is from the truth is judged by the other march: by its difference, also a little before and after the moment, in case
it is small there by chance, and by what the places contribute to it before they cancel each other.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ...discretize.batches import Batch, at_moments
from ...discretize.space import Space
from ...discretize.time_scheme import gauss_points
from ...discretize.transfer import prolongation
from ...errors import PcpinnError, PcpinnWarning
from ...mesh.slab_mesh import SlabMesh
from ...problem.first_order import first_order
from ...problem.problem import Problem
from ...solution.quantity import Quantity
from ...solution.solution import Solution
from ..adapt.level import Elements
from ..adapt.marches import MarchPair, space_of
from ..adapt.stepping import DiscreteMarch, march_discrete
from ..settings import Settings
from .functional import Functional, Sum, Together, parts_of
from .network import seen_by

_VALUES = 2e7  # at most so many values of the finer march
_ORDER = 4  # at least so many time levels per step of it
_SAFETY = 2.0  # of errors, where earlier levels of the solve have confirmed the estimates of later ones
_PLACES = 0.25  # part of the sum of what places contribute, without signs, that the error is at least
_BESIDE = (-1.0, -0.5, 0.5, 1.0)  # steps from a moment, where differences count as well
_MOMENTS = 4  # of a step, to integrate over time
_ROUNDING = 1e-10  # relative to the size of what is added up

Time = tuple[float, ...]  # a moment (t,), or a span (a, b) that is integrated over


@dataclass(frozen=True)
class AtMoment:
    """A discrete march at a moment, as functionals see a discretisation."""

    march: DiscreteMarch
    t: float

    @property
    def problem(self) -> Problem:
        """Of first order in time."""
        return self.march.space.problem

    @property
    def space(self) -> Space:
        """Of its functions of the place."""
        return self.march.space.form.space

    @property
    def size(self) -> int:
        """Degrees of freedom in space."""
        return self.march.space.size

    @cached_property
    def values(self) -> Tensor:
        """(N,) of the march."""
        return torch.from_numpy(self.march.at(np.array([self.t]))[0])

    @cached_property
    def rates(self) -> Tensor:
        """(N,) how fast these change."""
        return torch.from_numpy(self.march.rates_at(self.t))

    def seen(self, batch: Batch, u: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Points with the time, normals in space, and states that end with u_t."""
        state = torch.cat([batch.state(u), batch.state(self.rates)[..., :1]], dim=-1)
        return at_moments(batch.points, [self.t]), batch.outward, state

    def residual(self, u: Tensor) -> Tensor:
        """(N,) of the weak form in space."""
        return self.march.space.form.residual(np.array([self.t]), u[None], self.rates[None])[0]


@dataclass(frozen=True)
class Compared:
    """A quantity of two marches.

    Attributes:
        value: (k,) of the finer one.
        apart: (k,) how far the other one is from it, at the moment or a little before or after.
        by_places: (k,) what places contribute to that, without signs; zero for what is no sum over places.
        rough: (k,) what a coarser quadrature changes.
        sizes: (k,) of what was added up.
    """

    value: np.ndarray
    apart: np.ndarray
    by_places: np.ndarray
    rough: np.ndarray
    sizes: np.ndarray


def compared(
    own: DiscreteMarch, finest: DiscreteMarch, functional: Functional, time: Time, rougher: Functional | None = None
) -> Compared:
    """A functional of a march, integrated over a span of time, beside that of a coarser march.

    Raises:
        PcpinnError: when it is not finite.
    """
    J, rough = _remembering(functional), None if rougher is None else _remembering(rougher)
    up = prolongation(own.space.form.space, finest.space.form.space)
    value = differs = sizes = by_places = left = np.zeros(1)
    for t, weight in _moments(time, finest.times):
        there, before = AtMoment(finest, t), AtMoment(own, t)
        now, size = _numbers(J, there)
        value, sizes = value + weight * now, sizes + weight * size
        differs = differs + weight * (now - _numbers(J, before)[0])
        by_places = by_places + weight * _by_places(J, there, before, up)
        if rough is not None:
            left = left + weight * np.abs(now - _numbers(rough, there)[0])
    if not np.isfinite(value).all():
        raise PcpinnError("the quantity is not finite", "check its function at the points of the domain")
    apart = np.abs(differs)
    for t in _beside(time, finest.times):
        apart = np.maximum(apart, np.abs(_numbers(J, AtMoment(finest, t))[0] - _numbers(J, AtMoment(own, t))[0]))
    return Compared(value, apart, by_places, left, sizes)


def _moments(time: Time, times: np.ndarray) -> Iterator[tuple[float, float]]:
    """Moments and their weights: one, or Gauss points in every step of the span."""
    if len(time) == 1:
        yield time[0], 1.0
        return
    start, end = time
    ends = np.unique(np.concatenate([[start], times[(times > start) & (times < end)], [end]]))
    x, w = gauss_points(_MOMENTS)
    for a, length in zip(ends[:-1].tolist(), np.diff(ends).tolist(), strict=True):
        yield from zip((a + length * x).tolist(), (length * w).tolist(), strict=True)


def _beside(time: Time, times: np.ndarray) -> list[float]:
    """Moments a little before and after the one that is asked for."""
    if len(time) > 1:
        return []
    step = int(np.clip(np.searchsorted(times, time[0]) - 1, 0, len(times) - 2))
    near: list[float] = np.clip(time[0] + np.diff(times)[step] * np.array(_BESIDE), times[0], times[-1]).tolist()
    return near


def _by_places(functional: Functional, there: AtMoment, before: AtMoment, up: sp.csr_matrix) -> np.ndarray:
    """(k,) of two marches at a moment; `up` has the values of the coarser one at the nodes of the other."""
    lifted, rates = (torch.from_numpy(up @ u.numpy()) for u in (before.values, before.rates))

    def theirs(batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        state = torch.cat([batch.state(lifted), batch.state(rates)[..., :1]], dim=-1)
        return at_moments(batch.points, [there.t]), batch.outward, state

    ours = partial(there.seen, u=there.values)
    with torch.no_grad():
        parts = parts_of(functional)
        return np.concatenate([p.apart(there.space, ours, theirs) if isinstance(p, Sum) else [0.0] for p in parts])


@dataclass(frozen=True)
class MarchGround:
    """Two discrete marches with the steps of a solution.

    Attributes:
        solution: of `pcpinn.solve`.
        problem: the solution's, as the user wrote it.
        own, finest: with the solution's elements, and finer in space and in time.
        safety: factor of errors.
        theta: the network's weights, to see whether they have changed.
    """

    solution: Solution
    problem: Problem
    own: DiscreteMarch
    finest: DiscreteMarch
    safety: float
    theta: Tensor


@dataclass(frozen=True)
class OverTime:
    """The marches at a moment, or over a span of time.

    Attributes:
        ground: the marches.
        time: when.
        network: what is asked of the network, if not the functional itself.
    """

    ground: MarchGround
    time: Time
    network: Functional | None = None

    @property
    def best(self) -> tuple[AtMoment, Tensor]:
        """What is nearest to the truth, at the moment or at the end of the span."""
        there = AtMoment(self.ground.finest, self.time[-1])
        return there, there.values

    def quantities(self, functional: Functional, what: str, rougher: Functional | None = None) -> list[Quantity]:
        """Values of a functional, integrated over a span of time, with their errors.

        Args:
            functional: of k numbers.
            what: says what they are.
            rougher: the same by a coarser quadrature; the difference is an error, too.
        """
        ground = self.ground
        found = compared(ground.own, ground.finest, functional, self.time, rougher)
        error = (
            ground.safety * np.maximum(found.apart, _PLACES * found.by_places) + found.rough + _ROUNDING * found.sizes
        )
        how = f"{what}; of a discrete march, finer in space and in time ({ground.finest.values.size} values)"
        of_network = self._of_network(self.network or functional)
        rows = zip(found.value.tolist(), error.tolist(), of_network, strict=True)
        return [Quantity(v, e, how, n) for v, e, n in rows]

    def _of_network(self, functional: Functional) -> list[float | None]:
        """(k,) its values at a moment; over a span they are not computed."""
        ground, parts = self.ground, parts_of(functional)
        space = ground.finest.space.form.space
        if len(self.time) > 1 or not all(isinstance(part, Sum) for part in parts):
            with torch.no_grad():
                return [None] * len(functional(*self.best)[0])
        seen = seen_by(ground.solution, self.time[0])
        return torch.cat([part.over(space, seen)[0] for part in parts if isinstance(part, Sum)]).tolist()


def march_ground(solution: Solution, problem: Problem) -> MarchGround:
    """March a problem over time with the steps of its solution, once for all quantities.

    Raises:
        PcpinnError: when the solution has no steps, the marches are too large, or a step cannot be solved.
    """
    kept, theta = solution.kept.get("ground"), solution.network.theta.detach()
    if isinstance(kept, MarchGround) and kept.problem is problem and torch.equal(kept.theta, theta):
        return kept
    planned = solution.kept.get("marches") if problem is solution.problem else None
    own, finest = (planned.base, planned.finest) if isinstance(planned, MarchPair) else _marches(solution, problem)
    trust = (solution.result.get("adaptation") or {}).get("trust") or 1.0
    ground = MarchGround(solution, problem, own, finest, _SAFETY / trust, theta.clone())
    solution.kept["ground"] = ground
    return ground


def _marches(solution: Solution, problem: Problem) -> tuple[DiscreteMarch, DiscreteMarch]:
    mesh, settings, system = solution.mesh, Settings.from_dict(solution.settings), first_order(problem)
    if not isinstance(mesh, SlabMesh):
        raise PcpinnError("the solution has no steps in time", "solve with time=march, or with an accuracy")
    elements = Elements(settings.mesh.degree, settings.mesh.element, settings.mesh.quadrature)
    order = max(_ORDER, settings.time.order + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PcpinnWarning)  # they were given with the solve
        coarse = space_of(system, mesh.space, elements, mesh.times)
        fine = space_of(*elements.raised(system, mesh.space), mesh.times)
    if fine.size * order * len(mesh.times) > _VALUES:
        raise PcpinnError(
            f"a finer march has {fine.size} degrees of freedom and {len(mesh.times) - 1} steps, too many to be kept",
            "solve on a coarser mesh if you need an error",
        )
    own = march_discrete(coarse, "radau", order - 1, mesh.times)
    return own, march_discrete(fine, "radau", order, mesh.times)


def _numbers(functional: Functional, there: AtMoment) -> tuple[np.ndarray, np.ndarray]:
    with torch.no_grad():
        values, sizes = functional(there, there.values)
    return values.numpy(), sizes.numpy()


def _remembering(functional: Functional) -> Functional:
    parts = tuple(part.remembering() if isinstance(part, Sum) else part for part in parts_of(functional))
    return Together(parts) if isinstance(functional, Together) else parts[0]
