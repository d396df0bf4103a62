"""Which points lie outside of where a problem is solved."""

from __future__ import annotations

import numpy as np

from ..mesh.slab_mesh import AnyMesh, SlabMesh
from .space import ScalarSpace


def outside_of(mesh: AnyMesh, x: np.ndarray, beside: float = 1e-6) -> np.ndarray:
    """(m,) which points (m, d) lie outside a mesh.

    Args:
        mesh: of simplices or of slabs.
        x: points, time last if the mesh has one.
        beside: how far beside a cell, in parts of it, a point may lie.
    """
    if isinstance(mesh, SlabMesh):
        lower, upper = mesh.bounds
        margin = 1e-9 * (upper[-1] - lower[-1])
        meanwhile = (x[:, -1] >= lower[-1] - margin) & (x[:, -1] <= upper[-1] + margin)
        return ~meanwhile | ScalarSpace(mesh.space, 1).outside(x[:, :-1], beside)
    return ScalarSpace(mesh, 1).outside(x, beside)
