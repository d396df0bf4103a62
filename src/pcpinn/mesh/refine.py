"""Uniform refinement: every cell cut into cells of half the size, boundaries keeping their names."""

from __future__ import annotations

import numpy as np

from ..problem.shapes import Domain
from .mesh import Mesh
from .subdivide import Children, edge_table, subdivided

# Children by local numbers: corners first, then the edges in the order of EDGES. The order of a child's corners decides how
# it will be cut itself: with Bey's, repeated refinement of a tetrahedron gives three shapes at most.
_CHILDREN: dict[int, list[tuple[int, ...]]] = {
    0: [(0,)],
    1: [(0, 2), (2, 1)],
    2: [(0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)],
    3: [(0, 4, 6, 7), (4, 1, 5, 8), (6, 5, 2, 9), (7, 8, 9, 3), (4, 6, 5, 8), (4, 6, 7, 8), (6, 5, 8, 9), (6, 7, 8, 9)],
}


def refined(mesh: Mesh, domain: Domain | None = None) -> Mesh:
    """Halve the cells: (c, ...) become (2^d c, ...). Curved triangles are cut along their curves.

    Args:
        mesh: its nodes keep their numbers.
        domain: what was meshed: new nodes on its curved sides are moved there.
    """
    edges = edge_table(mesh)
    return subdivided(mesh, edges, np.ones(len(edges.ends), dtype=bool), _halves, domain)[0]


def _halves(edges: np.ndarray, dimension: int) -> Children:
    count, pattern = len(edges), np.array(_CHILDREN[dimension])
    return Children(np.repeat(pattern, count, axis=0), np.tile(np.arange(count), len(pattern)))
