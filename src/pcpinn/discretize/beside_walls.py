"""What lies between walls and the points of quadrature that are nearest to them.

A smooth function such as a network has one value on both sides of a slit, where a solution has two. It may be right at every
point of quadrature and go from the one to the other between the last of these and the wall.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..mesh.topology import facets_of
from .space import Space
from .unseen import at_places

_PLACES = {1: 1, 2: 8, 3: 6}  # along each side of a facet
_MEAN = 0.5  # of the square at the wall, where what is nearest to it is zero


def beside_walls(
    space: Space, function: Callable[[np.ndarray], np.ndarray], known: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """(C,) each: integrals of (function - u)^2 between walls and the nearest points of quadrature, for every u (N,) known.

    Args:
        space: of u; of space alone.
        function: of points (m, d), with values (m, C).
        known: what it is compared with, in each cell by the cell's own values.
    """
    mesh, quadrature, d = space.mesh, space.quadrature, space.mesh.dimension
    facets, volume = facets_of(mesh.vertices), quadrature.dx.sum(axis=1)
    result = [np.zeros(space.components) for _ in known]
    corners = np.eye(d + 1)[:, 1:]
    for k in range(d + 1):
        cells = np.flatnonzero(facets.count[facets.of_cell[:, k]] == 1)
        if not len(cells):
            continue
        X = (_on_simplex(d, _PLACES[d]) @ np.delete(corners, k, axis=0)).T
        values = function(at_places(mesh, cells, X)).reshape(len(cells), X.shape[1], -1)
        beside = np.column_stack([1 - quadrature.X.sum(axis=0), quadrature.X.T])[:, k].min()
        weight = _MEAN * d * beside * volume[cells] / X.shape[1]
        for c, scalar in enumerate(space.scalar):
            phi, _ = scalar.tabulate(X)
            for part, u in zip(result, known, strict=True):
                own = u[space.offsets[c] + scalar.cell_nodes[cells]] @ phi.T
                part[c] += float(weight @ ((values[:, :, c] - own) ** 2).sum(axis=1))
    return result


def _on_simplex(corners: int, places: int) -> np.ndarray:
    """(q, corners) even barycentric coordinates inside a simplex with so many corners."""
    steps = np.indices((places,) * (corners - 1)).reshape(corners - 1, places ** (corners - 1)).T
    steps = steps[steps.sum(axis=1) < places]
    first = (steps + 1 / corners) / places
    return np.column_stack([1 - first.sum(axis=1), first])
