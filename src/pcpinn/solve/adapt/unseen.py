"""Coefficients that vary inside cells, in accuracy mode: the first mesh follows them, and what stays unseen is said."""

from __future__ import annotations

import numpy as np

from ...discretize.lattice import Lattice, lattice_of
from ...discretize.space import Space
from ...discretize.unseen import resolved
from ...discretize.unseen_walls import starts_of
from ...mesh.along_lattice import mesh_along
from ...mesh.mesh import Mesh
from ...problem.problem import Problem
from ...problem.shape_base import SpaceTime
from ...progress import Progress
from ..followed import followed
from ..refinement import shape_of
from ..settings import Settings
from .level import Elements
from .limits import Limits
from .wish import FIRST_CELLS, follows_planes

_FIRST = {1: 20_000, 2: 40_000, 3: 15_000}  # degrees of freedom of a first mesh, at most
_ALONG = 80_000  # those of one whose cells keep to the pixels that coefficients are given on
SAFE = 0.5  # of the accuracy: a part of the error for what is unseen that may be neglected


def cut_first(problem: Problem, mesh: Mesh, elements: Elements, limits: Limits) -> Mesh:
    """A first mesh, cut where coefficients, or initial values, vary between points of quadrature."""
    space = elements.space(problem, mesh)
    most = max(_affordable(space, _FIRST[mesh.dimension], limits), mesh.cell_count)
    mesh = followed(problem, mesh, space, most, fit=False).mesh
    domain = problem.domain
    begun = starts_of(problem, domain.start) if isinstance(domain, SpaceTime) else None
    if begun is None or mesh.dimension == domain.dimension:
        return mesh
    return resolved(mesh, begun, space.quadrature.X, most, shape_of(problem, mesh), problem.periodic_pairs).mesh


def pixels_of(problem: Problem, settings: Settings) -> Lattice | None:
    """The pixels that coefficients over time jump at, where a first mesh can keep to them: such a mesh needs no mesher."""
    domain = problem.domain
    timed = problem.over_time and isinstance(domain, SpaceTime) and follows_planes(domain.shape, settings)
    return lattice_of(problem) if timed else None


def along_pixels(problem: Problem, lattice: Lattice, elements: Elements, limits: Limits) -> tuple[Mesh, Mesh]:
    """Two meshes of a few cells along a side: an even one, and one with more cells at the edges that coefficients jump at."""
    shape, lines, edges, cells = lattice.shape, lattice.lines, lattice.edges, FIRST_CELLS[2]
    even = mesh_along(shape, lines, edges[:0], cells, np.inf)
    most = _affordable(elements.space(problem, even), _ALONG, limits)
    return even, mesh_along(shape, lines, edges, cells, max(most, even.cell_count))


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
