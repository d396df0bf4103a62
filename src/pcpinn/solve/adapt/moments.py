"""What data do between the moments of the first steps: a pulse that is over before the next look is made would never be seen.

And what jumps inside a step would be wrong in the same way with any number of time levels, so that no estimate would see it: a
step begins there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch.func import vmap

from ...discretize.guarded import guard
from ...discretize.jumps import Values, jumps_between
from ...discretize.pointwise import BoundaryFlux, Pointwise, place_and_time
from ...discretize.samples import data_states, sample_points
from ...discretize.step_scheme import step_scheme
from ...discretize.unseen import resolved
from ...mesh.mesh import Mesh
from ...problem.arguments import takes_time
from ...problem.conditions import Natural, evaluate
from ...problem.problem import Problem
from ...problem.timed import timed_data, timed_functions
from .marches import Steps

_PLACES = 6  # in the domain, and at most half as many on each boundary
_MOST = 300  # steps to begin with
_USUAL = 997  # moments by which the size of each function is known, and between which jumps are looked for
_JUMPS = 280  # at most; more of them are a pattern that no first steps follow
_BEFORE = 2e-13  # of the span: so far before a jump the next step begins, so that a step sees one side of it alone
_SAME = 1e-6  # of the span: steps do not end so near to a jump


def steps_that_see(problem: Problem, mesh: Mesh, steps: Steps) -> Steps:
    """First steps, cut where sources, fluxes or boundary data jump, or vary unseen between their moments; else as they are.

    Cuts for what varies are left out where so many would be needed that the rest of them cannot be followed.

    Args:
        problem: over time.
        mesh: of space.
        steps: to begin with.
    """
    values = _over_time(problem, mesh, float(steps.times[0]), float(np.ptp(steps.times)))
    if values is None:
        return steps
    steps = replace(steps, times=_with_jumps(values, steps.times))
    count = len(steps.times) - 1
    line = Mesh(steps.times[:, None], np.column_stack([np.arange(count), np.arange(1, count + 1)]), {})
    X = step_scheme(steps.scheme, steps.order).nodes[None]
    found = resolved(line, values, X, _MOST)
    return steps if found.unseen.any() else replace(steps, times=np.sort(found.mesh.nodes[:, 0]))


def _with_jumps(values: Values, times: np.ndarray) -> np.ndarray:
    """Times of steps, with those of jumps among them."""
    start, span = float(times[0]), float(np.ptp(times))
    moments = start + span * np.linspace(0, 1, _USUAL)[:, None]
    found = jumps_between(lambda t: values(t)[:, :, 0], moments[:-1], moments[1:])
    if found is None:
        return times
    at = np.sort((found.at[:, 0] - start) / span) - _BEFORE
    at = at[(at > _SAME) & (at < 1 - _SAME)]
    at = at[np.diff(at, prepend=-1.0) > _SAME]
    if not 0 < len(at) <= _JUMPS:
        return times
    others = (times - start) / span
    far = np.abs(others[:, None] - at).min(axis=1) > _SAME
    return start + span * np.sort(np.concatenate([others[far], at]))


def _over_time(problem: Problem, mesh: Mesh, start: float, duration: float) -> Values | None:
    """(m, 1) moments -> (m, v, 2): all that depends on time at some places, each in units of its own; None without any."""
    functions = [*_inside(problem), *_on_walls(problem, mesh)]
    if not functions:
        return None

    def at(t: np.ndarray) -> np.ndarray:
        moments = torch.from_numpy(np.ascontiguousarray(t[:, 0]))
        found = [np.asarray(f(moments)).reshape(len(t), -1) for f in functions]
        return np.nan_to_num(np.concatenate(found, axis=1), posinf=0.0, neginf=0.0)

    sizes = np.abs(at(start + duration * np.linspace(0, 1, _USUAL)[:, None])).max(axis=0)
    sizes = np.where(sizes > 0, sizes, 1.0)

    def values(t: np.ndarray) -> np.ndarray:
        found = at(t) / sizes
        return np.stack([found, np.zeros_like(found)], axis=2)

    return values


def _inside(problem: Problem) -> list[Callable[[torch.Tensor], torch.Tensor]]:
    """Source, flux and density as functions of moments (m,), at some places."""
    if not timed_functions(problem):
        return []
    x = sample_points(problem, _PLACES)
    pointwise = Pointwise(problem, strong=True)

    def function(place: torch.Tensor, state: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
        return lambda t: pointwise.evaluate(_at(place, t), state.expand(len(t), -1, -1))

    return [function(place[:-1], state) for place, state in zip(x, data_states(problem, x), strict=True)]


def _on_walls(problem: Problem, mesh: Mesh) -> list[Callable[[torch.Tensor], torch.Tensor]]:
    """Data of conditions that depend on time, at some places of their boundaries."""
    result: list[Callable[[torch.Tensor], torch.Tensor]] = []
    for name, by_field in problem.conditions.items():
        facets = mesh.boundaries.get(name, np.empty((0, mesh.dimension), dtype=np.int64))
        some = facets[np.unique(np.linspace(0, len(facets) - 1, _PLACES // 2).astype(int))] if len(facets) else facets
        places = torch.from_numpy(mesh.nodes[some].mean(axis=1)) if len(some) else torch.empty((0, mesh.dimension))
        for value in (v for condition in by_field.values() for v in timed_data(condition)):
            result += [_data(value, place) for place in places]
        if any(isinstance(c, Natural) and takes_time(c.function) for c in by_field.values()):
            result += [_flux(problem, name, place) for place in places]
    return result


def _data(value: Callable[..., object], place: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    def at_point(p: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(evaluate(value, *place_and_time(p, True)), dtype=p.dtype).reshape(-1)

    return lambda t: guard(vmap(at_point), _at(place, t))


def _flux(problem: Problem, boundary: str, place: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    """Natural conditions, with a normal along the diagonal: it matters only when they change."""
    flux = BoundaryFlux(problem, boundary)
    normal = torch.zeros(len(place) + 1, dtype=torch.float64)
    normal[:-1] = len(place) ** -0.5
    state = data_states(problem, sample_points(problem, 1))

    def values(t: torch.Tensor) -> torch.Tensor:
        return flux.evaluate(_at(place, t), normal.expand(len(t), -1), state.expand(len(t), -1, -1))

    return values


def _at(place: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """(m, d + 1) a place at moments (m,)."""
    return torch.cat([place.expand(len(t), -1), t[:, None]], dim=1)
