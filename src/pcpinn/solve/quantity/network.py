"""The network itself at points of space: at one time of a problem over time, or where no finer discretisation is affordable."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from ...discretize.batches import Batch, at_moments
from ...discretize.space import Space
from ...discretize.time_scheme import gauss_points
from ...errors import PcpinnError
from ...mesh.generate import generate_mesh
from ...mesh.mesh import Mesh
from ...mesh.slab_mesh import SlabMesh
from ...problem.problem import Problem
from ...problem.shape_base import SpaceTime
from ...solution.solution import Solution
from ..settings import Settings
from .functional import Seen

_ROUNDING = 1e-9  # of the time: moments that are sums of steps may be so far outside
_PIECES, _POINTS = 16, 4  # of a span of time, and moments of each, where nothing is known of steps


def space_of(solution: Solution, problem: Problem) -> Space:
    """A finite element space on the mesh of space, for its points of quadrature."""
    recipe, mesh = Settings.from_dict(solution.settings).mesh, solution.mesh
    if isinstance(mesh, SlabMesh):
        mesh = mesh.space
    elif problem.over_time:
        if not isinstance(problem.domain, SpaceTime):
            raise PcpinnError("the mesh of space is not known", "use a domain over time, shape.over(0, 1)")
        options = {**recipe.options(), "cells": None, "periodic": problem.periodic_pairs}
        mesh = generate_mesh(problem.domain.shape, **options)
    assert isinstance(mesh, Mesh)
    return Space(mesh, problem.unknowns, recipe.degree, 2 * recipe.degree + 4, recipe.element)


def time_of(solution: Solution, problem: Problem, t: float | tuple[float, float] | None) -> tuple[float, ...]:
    """The time that is asked for: (), of a steady problem; a moment (t,); a span (a, b) to integrate over.

    Raises:
        PcpinnError: when it is missing, given for nothing, or outside the solution's time.
    """
    if not problem.over_time:
        if t is not None:
            raise PcpinnError("the problem has no time of its own", "leave t= out")
        return ()
    start, end = (float(b[-1]) for b in solution.mesh.bounds)
    return within(t, start, end)


def within(t: float | tuple[float, float] | None, start: float, end: float) -> tuple[float, ...]:
    """A moment (t,) or span (a, b) of a problem from `start` to `end`; the same is raised."""
    try:
        time = np.asarray(np.nan if t is None else t, dtype=np.float64).ravel()
    except (ValueError, TypeError):
        time = np.full(1, np.nan)
    beyond = _ROUNDING * (end - start)
    if len(time) not in (1, 2) or not np.all((start - beyond <= time) & (time <= end + beyond)):
        raise PcpinnError(f"t={t!r} is no time of the solution", f"give t= from {start:g} to {end:g}")
    if len(time) == 2 and not time[0] < time[1]:
        raise PcpinnError(f"t={t!r} is no span of time", "give its start, then its end")
    return tuple(np.clip(time, start, end).tolist())


def over_time(solution: Solution, time: tuple[float, ...]) -> Iterator[tuple[Seen, float]]:
    """What the network says at a moment, or at moments of a span with weights to integrate over it; at no time, steadily."""
    if len(time) < 2:
        yield seen_by(solution, time[0] if time else None), 1.0
        return
    x, w = gauss_points(_POINTS)
    length = (time[1] - time[0]) / _PIECES
    for a in time[0] + length * np.arange(_PIECES):
        for place, weight in zip(x, w, strict=True):
            yield seen_by(solution, float(a + length * place)), float(length * weight)


def seen_by(solution: Solution, t: float | None) -> Seen:
    """What the network says at the points of a batch: places (with the time), normals, values and gradients."""

    def seen(batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        x = batch.points if t is None else at_moments(batch.points, [t])
        return x, batch.outward, jets(solution, x)

    return seen


def jets(solution: Solution, x: Tensor) -> Tensor:
    """Value and gradient of each component of the network at points (n, d): (n, C, 1 + d)."""
    network = solution.network
    at = x.detach().to(network.theta).requires_grad_()
    with torch.enable_grad():
        values = network(at)
        slopes = [torch.autograd.grad(v.sum(), at, retain_graph=True)[0] for v in values.unbind(1)]
    result = torch.cat([values[:, :, None], torch.stack(slopes, dim=1)], dim=2)
    return result.detach().to(dtype=torch.float64, device="cpu")
