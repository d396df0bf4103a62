"""Coefficients that vary inside cells, in accuracy mode: the first mesh is cut there, and what stays unseen is said."""

from __future__ import annotations

from ...discretize.space import Space
from ...mesh.mesh import Mesh
from ...problem.problem import Problem
from ...progress import Progress
from ..followed import followed
from .level import Elements
from .limits import Limits

_FIRST = {1: 20_000, 2: 40_000, 3: 15_000}  # degrees of freedom of a first mesh, at most
SAFE = 0.5  # of the accuracy: a part of the error for what is unseen that may be neglected


def cut_first(problem: Problem, mesh: Mesh, elements: Elements, limits: Limits) -> Mesh:
    """A first mesh, cut where coefficients vary between points of quadrature."""
    space = Space(mesh, problem.unknowns, elements.degree, elements.quadrature, elements.element)
    d = mesh.dimension
    dofs = _FIRST[d] * min(1.0, limits.memory / 4)
    while dofs > space.size and not limits.in_time(dofs, d):
        dofs /= 2
    most = dofs * mesh.cell_count / space.size
    return followed(problem, mesh, space, max(most, mesh.cell_count), fit=False).mesh


def say_unseen(part: float, accuracy: float, progress: Progress) -> None:
    """Where coefficients vary inside cells of the last mesh, and this matters. The verdict warns of it."""
    if part > SAFE * accuracy:
        progress.note(
            "coefficients or boundary data vary inside cells, and cells that follow them are not affordable: for that "
            f"{part:.1g} of the answer may be wrong; average them, or allow more memory"
        )
