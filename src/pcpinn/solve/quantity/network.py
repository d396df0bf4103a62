"""The network itself at points of space: at one time of a problem over time, or where no finer discretisation is affordable."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ...discretize.batches import Batch, at_moments
from ...discretize.space import Space
from ...errors import PcpinnError
from ...mesh.generate import generate_mesh
from ...mesh.mesh import Mesh
from ...mesh.slab_mesh import SlabMesh
from ...problem.problem import Problem
from ...problem.shape_base import SpaceTime
from ...solution.solution import Solution
from ..settings import Settings


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


def moment(solution: Solution, problem: Problem, t: float | None) -> float | None:
    """The time that is asked for, None in a steady problem.

    Raises:
        PcpinnError: when it is missing, given for nothing, or outside the solution's time.
    """
    if not problem.over_time:
        if t is not None:
            raise PcpinnError("the problem has no time of its own", "leave t= out")
        return None
    start, end = (float(b[-1]) for b in solution.mesh.bounds)
    if t is None or not start <= t <= end:
        raise PcpinnError(f"t={t!r} is no time of the solution", f"give t= from {start:g} to {end:g}")
    return float(t)


def seen_by(solution: Solution, t: float | None) -> Callable[[Batch], tuple[Tensor, Tensor, Tensor]]:
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
