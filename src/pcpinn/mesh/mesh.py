"""A simplex mesh as plain arrays, with named boundaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import skfem

from ..errors import PcpinnError
from .topology import EDGES, row_keys

_CURVED = {2: skfem.MeshTri2, 3: skfem.MeshTet2}
_STRAIGHT = {1: skfem.MeshLine1, 2: skfem.MeshTri1, 3: skfem.MeshTet1}


@dataclass(frozen=True)
class Mesh:
    """Simplices (intervals, triangles, tetrahedra) and the names of the facets on their boundary.

    Attributes:
        nodes: (n, d) coordinates, float64. With time as an extra dimension, the last coordinate is time.
        cells: (c, d + 1) vertex numbers of straight cells; (c, 6) of curved quadratic triangles, the last
            three being the nodes on the edges 01, 12, 02; (c, 10) of such tetrahedra, the last six on 01, 12, 02, 03, 13, 23.
        boundaries: name -> (f, d) vertex numbers of the facets that carry the name.
        has_time: whether the last coordinate is time.
    """

    nodes: np.ndarray
    cells: np.ndarray
    boundaries: Mapping[str, np.ndarray] = field(default_factory=dict)
    has_time: bool = False

    @property
    def dimension(self) -> int:
        """Number of coordinates d."""
        return int(self.nodes.shape[1])

    @property
    def curved(self) -> bool:
        """Whether the cells are quadratic triangles or tetrahedra."""
        return self.cells.shape[1] > self.dimension + 1

    @property
    def simplices(self) -> Mesh:
        """Itself: a mesh of simplices (see SlabMesh)."""
        return self

    @property
    def cell_count(self) -> int:
        """Number of cells c."""
        return len(self.cells)

    @property
    def boundary_names(self) -> tuple[str, ...]:
        """Names of the boundaries, sorted."""
        return tuple(sorted(self.boundaries))

    @property
    def vertices(self) -> np.ndarray:
        """(c, d + 1) corner numbers of each cell."""
        return self.cells[:, : self.dimension + 1]

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of the box around the mesh."""
        return self.nodes.min(axis=0), self.nodes.max(axis=0)

    @cached_property
    def skfem(self) -> skfem.Mesh:
        """The same mesh as scikit-fem's object: nodes in columns, corners of each cell in ascending order.

        Ascending corners give neighbouring cells the same direction along a shared edge, which cubic and quartic
        elements need.
        """
        order = np.argsort(self.vertices, axis=1)
        corners = np.take_along_axis(self.vertices, order, axis=1)
        if not self.curved:
            used, renumbered = np.unique(corners, return_inverse=True)
            cells = renumbered.reshape(corners.shape)
            return _STRAIGHT[self.dimension](np.ascontiguousarray(self.nodes[used].T), np.ascontiguousarray(cells.T))
        return _curved_cells(self.nodes, self.cells, order, corners)

    def facets(self, name: str) -> np.ndarray:
        """Numbers, in `self.skfem`, of the facets called `name`."""
        wanted = np.sort(np.searchsorted(self._used_vertices, self.boundaries[name]), axis=1)
        have = np.sort(self.skfem.facets.T, axis=1)
        if self.dimension == 1:  # a facet of an interval is a vertex; scikit-fem numbers them alike
            return wanted[:, 0]
        keys = row_keys(np.concatenate([have, wanted]))
        order = np.argsort(keys[: len(have)])
        place = np.searchsorted(keys[: len(have)], keys[len(have) :], sorter=order)
        found = order[np.minimum(place, len(have) - 1)]
        if not np.array_equal(have[found], wanted):
            raise PcpinnError(
                f"boundary {name!r} names facets that are not faces of the mesh's cells",
                "export the boundary group together with the cells it bounds",
            )
        return found

    @cached_property
    def _used_vertices(self) -> np.ndarray:
        return np.unique(self.vertices)


def _curved_cells(nodes: np.ndarray, cells: np.ndarray, order: np.ndarray, corners: np.ndarray) -> skfem.Mesh:
    """MeshTri2 and MeshTet2 keep corners first, then one node per edge, in their own numbering of edges."""
    d = nodes.shape[1]
    used, renumbered = np.unique(corners, return_inverse=True)
    simplices = renumbered.reshape(corners.shape)
    straight = _STRAIGHT[d](np.ascontiguousarray(nodes[used].T), np.ascontiguousarray(simplices.T))
    of_cell = straight.t2f if d == 2 else straight.t2e  # by cell in the order of EDGES
    points = np.empty((d, int(of_cell.max()) + 1))
    for row, (i, j) in enumerate(EDGES[d]):
        a, b = np.sort(np.stack([order[:, i], order[:, j]]), axis=0)
        column = np.select([(a == p) & (b == q) for p, q in EDGES[d]], list(range(d + 1, cells.shape[1])))
        points[:, of_cell[row]] = nodes[cells[np.arange(len(cells)), column]].T
    return _CURVED[d](np.hstack([straight.p, points]), straight.t)
