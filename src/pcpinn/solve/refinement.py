"""Refinement of a problem's mesh: cells that are chosen, or all; new nodes on its curved sides."""

from __future__ import annotations

import numpy as np

from ..mesh.bisect import bisected
from ..mesh.mesh import Mesh
from ..mesh.refine import refined
from ..problem.problem import Problem
from ..problem.shape_base import Domain, SpaceTime

_NEARLY_ALL = 0.6  # with more cells chosen than this part, all are refined


def shape_of(problem: Problem, mesh: Mesh) -> Domain | None:
    """What a mesh of the problem was made of, that of space where time is treated apart; None for a user's own mesh."""
    domain = problem.domain
    if isinstance(domain, SpaceTime) and not mesh.has_time:
        return domain.shape
    return domain if isinstance(domain, Domain) else None


def refined_everywhere(mesh: Mesh, problem: Problem) -> Mesh:
    """A problem's mesh with cells of half the size."""
    return refined(mesh, shape_of(problem, mesh))


def refined_where(mesh: Mesh, chosen: np.ndarray, problem: Problem) -> Mesh:
    """A problem's mesh with the chosen cells (c,) cut, and as many others as this takes; all, if nearly all are chosen."""
    if chosen.mean() > _NEARLY_ALL:
        return refined_everywhere(mesh, problem)
    return bisected(mesh, chosen, shape_of(problem, mesh), problem.periodic_pairs)[0]
