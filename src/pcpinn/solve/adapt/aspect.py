"""Cells longer along axes on which a solution varies slowly: an even mesh wastes them there."""

from __future__ import annotations

import numpy as np

from ...discretize.transfer import slopes, squares
from ...mesh.generate import generate_mesh
from ...mesh.mesh import Mesh
from ...problem.problem import Problem
from ...problem.shape_base import SpaceTime
from ...problem.shapes_2d import Rectangle
from ...problem.shapes_3d import Box
from .stepping import DiscreteMarch

_WORTH = 4.0  # least ratio of slopes for which another mesh is made
_LEAST = 2.0  # cells along an axis
_TINY = 1e-9  # of the steepest axis
_MOMENTS = 8


def stretched_mesh(problem: Problem, mesh: Mesh, march: DiscreteMarch) -> Mesh | None:
    """A mesh of a box with about as many cells, stretched as the solution is; None where there is little to gain."""
    domain = problem.domain
    shape = domain.shape if isinstance(domain, SpaceTime) else domain
    if not isinstance(shape, Rectangle | Box):
        return None
    steep = steepness(march)
    if steep.max() < _WORTH * steep.min():
        return None
    sides = np.ptp(mesh.nodes, axis=0)
    wanted = sides * steep
    each = mesh.cell_count / (2 if mesh.dimension == 2 else 6)  # boxes are cut into so many simplices
    counts = np.round(_shared_out(each, wanted)).astype(int)
    return generate_mesh(shape, cells=tuple(counts.tolist()), periodic=problem.periodic_pairs)


def _shared_out(each: float, wanted: np.ndarray) -> np.ndarray:
    """(d,) cells along each axis, in the ratios that are wanted and at least two, whose product is `each` where that is possible.

    An axis along which nothing varies would ask for none, and leave all of them, and far more, to the others.
    """
    wanted, few = np.maximum(wanted, _TINY * wanted.max()), np.zeros(len(wanted), dtype=bool)
    while not few.all():
        counts, rest = np.full(len(wanted), _LEAST), wanted[~few]
        counts[~few] = rest * (each / (_LEAST ** few.sum() * rest.prod())) ** (1 / len(rest))
        if (counts >= _LEAST).all():
            return counts
        few |= counts < _LEAST
    return np.full(len(wanted), _LEAST)


def steepness(march: DiscreteMarch) -> np.ndarray:
    """(d,) root mean square slope along each axis, relative to each component's size; the components' mean."""
    space = march.space.form.space
    total = np.zeros((space.components, space.mesh.dimension))
    size = np.zeros(space.components)
    for k in np.unique(np.linspace(0, len(march.values) - 1, _MOMENTS).astype(int)):
        total += slopes(space, march.values[k]) ** 2
        size += squares(space, march.values[k]).sum(axis=0)
    return np.sqrt((total / np.maximum(size, 1e-300)[:, None])[size > 1e-24 * size.max()].mean(axis=0))
