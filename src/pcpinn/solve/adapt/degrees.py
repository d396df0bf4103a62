"""Degrees in accuracy mode: cubic elements for solids whose matrices multigrid inverts, one degree more for mixed forms."""

from __future__ import annotations

from typing import Any

from ...discretize.saddle import of_first_order
from ...problem.problem import Problem
from .level import Elements, Level
from .wish import Wish

RAISED = {3: (3, 6)}  # degree, and order of the quadrature, by dimension: 15 points with positive weights
_MIXED = 4  # degree of elements for mixed forms
_GIVEN = ("mesh.degree", "mesh.element", "mesh.quadrature")


def raised(problem: Problem, wish: Wish, elements: Elements) -> Elements | None:
    """Elements of a higher degree for all meshes but the first, if multigrid inverts their matrices; None for none.

    For a smooth solution cubic elements need a third of the unknowns of quadratic ones, or less. Their complete factors have
    so many entries that two levels, which a verdict takes, might not fit.
    """
    d = problem.domain.dimension
    if d not in RAISED or any(key in wish.asked.asked for key in _GIVEN) or any(f.degree for f in problem.unknowns):
        return None
    return Elements(RAISED[d][0], elements.element, RAISED[d][1])


def first_order(problem: Problem, wish: Wish) -> dict[str, Any]:
    """Settings of elements of one degree more for mixed forms in the plane, which lose an order; none for others."""
    if problem.domain.dimension != 2 or any(key in wish.asked.asked for key in _GIVEN) or not of_first_order(problem):
        return {}
    return {"degree": _MIXED, "element": "lobatto", "quadrature": 2 * _MIXED + 2}


def degree_of(level: Level) -> dict[str, Any]:
    """Settings of the elements that a level has."""
    space = level.coarse.space
    return {"degree": space.degree, "element": space.element, "quadrature": space.quadrature_order}
