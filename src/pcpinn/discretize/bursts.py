"""Data over time, and when and where they do what they do at hardly any other moment: a shot somewhere that is over at once.

Sources, coefficients and boundary data are compared at very many places, each at three moments at random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap

from ..mesh.mesh import Mesh
from ..problem.arguments import takes_time
from ..problem.conditions import Natural, evaluate
from ..problem.problem import Problem
from ..problem.shape_base import SpaceTime
from ..problem.timed import timed_data, timed_functions
from .guarded import guard
from .pointwise import BoundaryFlux, Pointwise, place_and_time
from .samples import data_states, lengths, sample_points

_INSIDE, _ON_WALLS = 1_000_000, 200_000  # places
_AT_ONCE = 100_000
_STRETCHES = 24  # of the span of time: the largest burst of each is looked at more closely
_COUNT = 16  # bursts of each kind of data, at most
_PLACES = 3  # at random, of each kind of data
_FEW = 6  # moments of bursts at which all of space is looked at
_SMALL = 1e-3  # of the largest of its kind: less is none
_ROUNDING = 1e-9  # of the value itself
_CLIMBS, _ABOUT = 20, 64  # rounds of looking for the top of a burst, and points of each


@dataclass(frozen=True)
class TimedData:
    """A function of place and time that the problem is given.

    Attributes:
        function: points (m, d + 1), time last, to values (m, ...).
        places: (n, d) at random where it holds.
        inside: (m, d) -> (m,) bool, whether it holds at other places; None where these are not to be had, as on walls.
    """

    function: Callable[[Tensor], Tensor]
    places: Tensor
    inside: Callable[[np.ndarray], np.ndarray] | None = None

    def at(self, points: Tensor) -> Tensor:
        """(m, v) at points (m, d + 1); zero where it is not finite."""
        found = self.function(points).reshape(len(points), -1)
        return torch.nan_to_num(found, posinf=0.0, neginf=0.0)


@dataclass(frozen=True)
class Burst:
    """What a value does at a place and a moment, and not at two others.

    Attributes:
        data: of which it is one.
        value: its number.
        place: (d,).
        moment: when.
        height: by which it differs from the middle one of three moments.
        share: the same beside the largest burst of this value.
    """

    data: TimedData
    value: int
    place: Tensor
    moment: float
    height: float
    share: float

    def at(self, t: np.ndarray) -> np.ndarray:
        """(m,) the value at its place, at moments (m,)."""
        return self.data.at(at_moments_of(self.place, torch.from_numpy(t)))[:, self.value].numpy()

    @property
    def top(self) -> float:
        """The value itself."""
        return float(self.at(np.array([self.moment]))[0])

    def width(self, span: float) -> float:
        """Time after which, and before which, less than half of it is over, to a factor of two; at most the span."""
        away = span * 2.0 ** -np.arange(45.0)  # longest first
        near = [np.abs(self.at(self.moment + sign * away) - self.top) < 0.5 * self.height for sign in (-1, 1)]
        over = np.flatnonzero(~(near[0] & near[1]))
        return float(away[min(over[-1] + 1, len(away) - 1)]) if len(over) else span


@dataclass(frozen=True)
class Timed:
    """Data over time, with its bursts.

    Attributes:
        data: with a few places.
        bursts: the largest first.
    """

    data: TimedData
    bursts: tuple[Burst, ...]


def timed(problem: Problem, mesh: Mesh) -> tuple[Timed, ...]:
    """All data of a problem that depend on time; looked at once for each problem, on the first mesh of space that is given."""
    return _looked_at(_Same(problem, mesh))


def burst_moments(problem: Problem, mesh: Mesh) -> list[float]:
    """Moments of the largest bursts, a few."""
    bursts = [burst for one in timed(problem, mesh) for burst in one.bursts]
    return [burst.moment for burst in sorted(bursts, key=lambda burst: -burst.share)[:_FEW]]


class _Same:
    """A problem, known by being the same object."""

    def __init__(self, problem: Problem, mesh: Mesh) -> None:
        self.problem, self.mesh = problem, mesh

    def __hash__(self) -> int:
        return id(self.problem)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.problem is self.problem


@lru_cache(maxsize=4)
def _looked_at(same: _Same) -> tuple[Timed, ...]:
    start, end = (float(b[-1]) for b in same.problem.domain.bounds)  # type: ignore[attr-defined]
    return tuple(
        Timed(replace(data, places=data.places[:_PLACES].clone()), tuple(bursts_of(data, start, end - start)))
        for data in timed_data_of(same.problem, same.mesh)
    )


def timed_data_of(problem: Problem, mesh: Mesh) -> list[TimedData]:
    """All that depends on time: source, flux and density inside; values, fluxes and coefficients on walls.

    Args:
        problem: over time.
        mesh: of space.
    """
    result, state = [], _state(problem)
    if timed_functions(problem):
        pointwise = Pointwise(problem, strong=True)
        places = sample_points(problem, _INSIDE // problem.components)[:, :-1]
        inside = problem.domain.shape.contains if isinstance(problem.domain, SpaceTime) else None
        result.append(TimedData(lambda p: pointwise.evaluate(p, state.expand(len(p), -1, -1)), places, inside))
    for name, by_field in problem.conditions.items():
        facets = mesh.boundaries.get(name)
        if facets is None or not len(facets):
            continue
        functions = [_value(v) for condition in by_field.values() for v in timed_data(condition)]
        if any(isinstance(c, Natural) and takes_time(c.function) for c in by_field.values()):
            functions.append(_flux(problem, name, state))
        if functions:
            places = _on_facets(mesh.nodes[facets])
            result += [TimedData(function, places) for function in functions]
    return result


def bursts_of(data: TimedData, start: float, span: float) -> list[Burst]:
    """The largest, the first of them first; of data that vary slowly these are any moments.

    Args:
        data: to look at.
        start, span: of time.
    """
    random = np.random.default_rng(7)
    best: dict[tuple[int, int], tuple[float, Tensor, float, float]] = {}
    sizes = torch.zeros(1)
    for first in range(0, len(data.places), _AT_ONCE):
        places = data.places[first : first + _AT_ONCE]
        t = torch.from_numpy(start + span * random.uniform(size=(3, len(places))))
        found = torch.stack([data.at(torch.cat([places, own[:, None]], dim=1)) for own in t])  # (3, m, v)
        sizes = torch.maximum(sizes, found.abs().amax(dim=(0, 1)))
        usual = found.median(dim=0).values
        height = (found[0] - usual).abs()
        stretch = ((t[0] - start) / span * _STRETCHES).long().clamp(max=_STRETCHES - 1)
        for k in range(_STRETCHES):
            rows = torch.nonzero(stretch == k)[:, 0]
            if len(rows):
                size, at = height[rows].max(dim=0)
                for v, (value, row) in enumerate(zip(size.tolist(), rows[at].tolist(), strict=True)):
                    if value > best.get((k, v), (0.0,))[0]:
                        best[k, v] = value, places[row], float(t[0, row]), float(usual[row, v])
    largest = {v: max(best[one][0] for one in best if one[1] == v) for _, v in best}
    shares = {one: found[0] / largest[one[1]] for one, found in best.items()}
    counted = [one for one in best if shares[one] > _SMALL and best[one][0] > _ROUNDING * sizes[one[1]]]
    chosen = sorted(counted, key=lambda one: -shares[one])[:_COUNT]
    few = replace(data, places=data.places[:_PLACES].clone())
    return [Burst(few, one[1], *_climbed(data, one[1], best[one], start, span), shares[one]) for one in chosen]


def _climbed(
    data: TimedData, v: int, found: tuple[float, Tensor, float, float], start: float, span: float
) -> tuple[Tensor, float, float]:
    """Place, moment and height of the top of a burst, from a point of its slope: the highest of some about it, and so on."""
    height, place, moment, usual = found
    random = np.random.default_rng(5)
    extent = np.ptp(data.places.numpy(), axis=0) if data.inside is not None else 0.0
    for reach in 0.1 * 2.0 ** -np.arange(_CLIMBS):
        x = place.numpy() + reach * extent * random.normal(size=(_ABOUT, len(place)))
        t = np.clip(moment + reach * span * random.normal(size=_ABOUT), start, start + span)
        x[::2], t[1::4] = place.numpy(), moment  # some in time alone, some in space alone
        if data.inside is not None:
            x, t = x[inside := data.inside(x)], t[inside]
        if len(x):
            heights = np.abs(data.at(torch.from_numpy(np.column_stack([x, t])))[:, v].numpy() - usual)
            k = int(heights.argmax())
            if heights[k] > height:
                height, place, moment = float(heights[k]), torch.from_numpy(x[k]), float(t[k])
    return place, moment, height


def at_moments_of(place: Tensor, t: Tensor) -> Tensor:
    """(m, d + 1) a place at moments (m,)."""
    return torch.cat([place.expand(len(t), -1), t[:, None]], dim=1)


def _state(problem: Problem) -> Tensor:
    """(1, C, 2 + d) of the size of the data, with slopes also where initial values have none: else no flux would be seen."""
    state = data_states(problem, sample_points(problem, 1))
    length, duration = lengths(problem)
    slope = (state[:, :, :1].abs() + (state[:, :, :1] == 0)) / length
    slope = slope.expand_as(state[:, :, 1:]).clone()
    slope[:, :, -1] *= length / duration
    return torch.cat([state[:, :, :1], torch.where(state[:, :, 1:] == 0, slope, state[:, :, 1:])], dim=2)


def _value(value: Callable[..., object]) -> Callable[[Tensor], Tensor]:
    def at_point(p: Tensor) -> Tensor:
        return torch.as_tensor(evaluate(value, *place_and_time(p, True)), dtype=p.dtype).reshape(-1)

    return lambda points: guard(vmap(at_point), points)


def _flux(problem: Problem, boundary: str, state: Tensor) -> Callable[[Tensor], Tensor]:
    """Natural conditions, with a normal along the diagonal: it matters only when they change."""
    flux = BoundaryFlux(problem, boundary)
    normal = torch.zeros(problem.dimension + 1, dtype=torch.float64)
    normal[:-1] = problem.dimension**-0.5
    return lambda points: flux.evaluate(points, normal.expand(len(points), -1), state.expand(len(points), -1, -1))


def _on_facets(corners: np.ndarray) -> Tensor:
    """(n, d) places at random on facets with corners (f, k, d)."""
    if corners.shape[1] == 1:
        return torch.from_numpy(np.repeat(corners[:, 0], -(-_ON_WALLS // len(corners)), axis=0))
    random = np.random.default_rng(3)
    own = corners[random.integers(len(corners), size=_ON_WALLS)]
    weights = random.dirichlet(np.ones(corners.shape[1]), size=_ON_WALLS)
    return torch.from_numpy(np.einsum("nk,nkd->nd", weights, own))
