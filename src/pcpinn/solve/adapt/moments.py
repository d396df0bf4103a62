"""What data do between the moments of the first steps: a pulse that is over before the next look is made would never be seen.

And what jumps inside a step would be wrong in the same way with any number of time levels, so that no estimate would see it: a
step begins there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from ...discretize.bursts import Burst, TimedData, at_moments_of, timed
from ...discretize.jumps import Values, jumps_between
from ...discretize.step_scheme import step_scheme
from ...discretize.unseen import MISFIT, polynomial, resolved
from ...mesh.bisect import evened_out
from ...mesh.mesh import Mesh
from ...problem.problem import Problem
from .marches import Steps

_MOST = 300  # steps to begin with
_USUAL = 997  # moments by which the size of each function is known, and between which jumps are looked for
_JUMPS = 280  # at most; more of them are a pattern that no first steps follow
_BEFORE = 2e-13  # of the span: so far before a jump the next step begins, so that a step sees one side of it alone
_SAME = 1e-6  # of the span: steps do not end so near to a jump
_GROWTH = 4.0  # of steps away from a burst
_RATIO = 4.0  # of the lengths of steps beside each other: a long one would not see the end of what short ones follow


def steps_that_see(problem: Problem, mesh: Mesh, steps: Steps) -> Steps:
    """First steps, cut where sources, fluxes or boundary data jump, or vary unseen between their moments; else as they are.

    Cuts for what varies are left out where so many would be needed that the rest of them cannot be followed.

    Args:
        problem: over time.
        mesh: of space.
        steps: to begin with.
    """
    start, span = float(steps.times[0]), float(np.ptp(steps.times))
    found = timed(problem, mesh)
    if not found:
        return steps
    bursts = [burst for one in found for burst in one.bursts]
    at = [(one.data, place) for one in found for place in (*one.data.places, *(b.place for b in one.bursts))]
    moments = np.sort(np.append(start + span * np.linspace(0, 1, _USUAL), [b.moment for b in bursts]))
    values = _over_time(at, moments)
    X = step_scheme(steps.scheme, steps.order).nodes[None]
    steps = replace(steps, times=_with_jumps(values, steps.times, moments))
    times = _about(bursts, steps.times, X)
    line = Mesh(times[:, None], np.column_stack([np.arange(len(times) - 1), np.arange(1, len(times))]), {})
    cut = resolved(line, values, X, _MOST)
    if cut.unseen.any() or cut.mesh.cell_count == len(steps.times) - 1:
        return steps
    return replace(steps, times=np.sort(evened_out(cut.mesh, _RATIO).nodes[:, 0]))


def _about(bursts: Sequence[Burst], times: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Times of steps, with shorter ones about bursts that these do not see."""
    start, end, span = float(times[0]), float(times[-1]), float(np.ptp(times))
    for burst in bursts:
        step = int(np.clip(np.searchsorted(times, burst.moment) - 1, 0, len(times) - 2))
        length = times[step + 1] - times[step]
        nodes = times[step] + length * X[0]
        part = (burst.moment - times[step]) / length
        if abs(burst.top - polynomial(X, np.array([[part]]))[0] @ burst.at(nodes)) <= MISFIT * burst.height:
            continue
        away, more = burst.width(span), []
        while away < span:
            more += [burst.moment - away, burst.moment + away]
            away *= _GROWTH
        new = np.array([t for t in more if start < t < end and np.abs(times - t).min() > _SAME * span])
        if len(new) and len(times) + len(new) <= _MOST:
            times = np.sort(np.append(times, new))
    return times


def _with_jumps(values: Values, times: np.ndarray, moments: np.ndarray) -> np.ndarray:
    """Times of steps, with those of jumps between moments among them."""
    start, span = float(times[0]), float(np.ptp(times))
    found = jumps_between(lambda t: values(t)[:, :, 0], moments[:-1, None], moments[1:, None])
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


def _over_time(at: Sequence[tuple[TimedData, torch.Tensor]], moments: np.ndarray) -> Values:
    """(m, 1) moments -> (m, v, 2): data at places, each in units of its own, known from some moments."""

    def plain(t: np.ndarray) -> np.ndarray:
        own = torch.from_numpy(np.ascontiguousarray(t[:, 0]))
        return np.concatenate([data.at(at_moments_of(place, own)).numpy() for data, place in at], axis=1)

    sizes = np.abs(plain(moments[:, None])).max(axis=0)
    sizes = np.where(sizes > 0, sizes, 1.0)

    def values(t: np.ndarray) -> np.ndarray:
        found = plain(t) / sizes
        return np.stack([found, np.zeros_like(found)], axis=2)

    return values
