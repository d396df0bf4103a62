"""Coefficients that vary inside cells, in accuracy mode: the first mesh follows them, and what stays unseen is said."""

from __future__ import annotations

from ...discretize.lattice import lattice_of
from ...discretize.space import Space
from ...mesh.along_lattice import mesh_along
from ...mesh.mesh import Mesh
from ...problem.problem import Problem
from ...progress import Progress
from ..followed import followed
from .level import Elements
from .limits import Limits

_FIRST = {1: 20_000, 2: 40_000, 3: 15_000}  # degrees of freedom of a first mesh, at most
_ALONG = 80_000  # those of one whose cells keep to the pixels that coefficients are given on
SAFE = 0.5  # of the accuracy: a part of the error for what is unseen that may be neglected


def cut_first(problem: Problem, mesh: Mesh, elements: Elements, limits: Limits) -> Mesh:
    """A first mesh, cut where coefficients vary between points of quadrature."""
    space = elements.space(problem, mesh)
    most = _affordable(space, _FIRST[mesh.dimension], limits)
    return followed(problem, mesh, space, max(most, mesh.cell_count), fit=False).mesh


def along_pixels(problem: Problem, mesh: Mesh, elements: Elements, limits: Limits, cells: int) -> Mesh:
    """A mesh with about so many cells along a side, and more at the edges of pixels across which coefficients jump.

    The given first mesh is returned where there are no such pixels.
    """
    lattice = lattice_of(problem)
    if lattice is None:
        return mesh
    most = _affordable(elements.space(problem, mesh), _ALONG, limits)
    return mesh_along(lattice.shape, lattice.lines, lattice.edges, cells, max(most, mesh.cell_count))


def _affordable(space: Space, dofs: float, limits: Limits) -> float:
    """Cells of a mesh with so many degrees of freedom, or fewer where there is little memory or time."""
    d = space.mesh.dimension
    dofs *= min(1.0, limits.memory / 4)
    while dofs > space.size and not limits.in_time(dofs, d):
        dofs /= 2
    return dofs * space.mesh.cell_count / space.size


def say_unseen(part: float, accuracy: float, progress: Progress) -> None:
    """Where coefficients vary inside cells of the last mesh, and this matters. The verdict warns of it."""
    if part > SAFE * accuracy:
        progress.note(
            "coefficients or boundary data vary inside cells, and cells that follow them are not affordable: for that "
            f"{part:.1g} of the answer may be wrong; average them, or allow more memory"
        )
