"""Refuse curved cells that fold over themselves or do not meet their neighbours."""

from __future__ import annotations

from itertools import product

import numpy as np

from ..errors import PcpinnError
from .mesh import Mesh
from .quadratic import determinants, lowest_determinants
from .topology import edges_of

_FINE = 8  # subdivisions of the lattice on which a doubtful cell is looked at
_REMEDY = "use a smaller size, or straight cells (curved=False, or a first-order mesh file)"
_NAMES = {2: "triangles", 3: "tetrahedra"}


def check_curved(mesh: Mesh, volume: np.ndarray) -> None:
    """The map from the reference simplex must keep its orientation, and edges must agree between neighbours."""
    _check_edges_agree(mesh)
    folded, d = folded_cells(mesh, volume), mesh.dimension
    if len(folded):
        centre = ", ".join(f"{x:.4g}" for x in mesh.nodes[mesh.vertices[folded[0]]].mean(axis=0))
        raise PcpinnError(
            f"{len(folded)} curved {_NAMES[d]} fold over themselves; the first is cell {folded[0]} at ({centre})",
            _REMEDY,
        )


def folded_cells(mesh: Mesh, volume: np.ndarray) -> np.ndarray:
    """Numbers of curved cells whose map from the reference simplex changes its orientation; volume (c,) has its sign."""
    d, points = mesh.dimension, mesh.nodes[mesh.cells]
    doubtful = np.flatnonzero(lowest_determinants(points, np.sign(volume)) <= 0.0)  # most cells need no sampling
    if len(doubtful) == 0:
        return doubtful
    lattice = np.array([p for p in product(range(_FINE + 1), repeat=d) if sum(p) <= _FINE], dtype=float) / _FINE
    lowest = (determinants(points[doubtful], lattice) / volume[doubtful, None]).min(axis=1)
    return np.asarray(doubtful[lowest <= 1e-10])


def _check_edges_agree(mesh: Mesh) -> None:
    """The cells at an edge must have their middle nodes at the same place."""
    ends, (of_cell,) = edges_of(mesh.vertices)
    own = mesh.nodes[mesh.cells[:, mesh.dimension + 1 :]]
    shared = np.empty((len(ends), mesh.dimension))
    shared[of_cell] = own  # the last cell written decides, the others must agree
    size = np.linalg.norm(np.subtract(*mesh.nodes[ends].swapaxes(0, 1)), axis=1)
    gap = np.linalg.norm(own - shared[of_cell], axis=2) > 1e-8 * size[of_cell]
    if np.any(gap):
        edge = ends[of_cell[gap][0]].tolist()
        raise PcpinnError(
            f"at {np.sum(gap)} edges the curved {_NAMES[mesh.dimension]} have different middle nodes, the first between "
            f"nodes {edge[0]} and {edge[1]}, so the mesh has gaps",
            "merge duplicated nodes where the mesh was made, or export first-order cells",
        )
