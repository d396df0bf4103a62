"""Which of given planes run along the sides of a mesh's cells."""

from __future__ import annotations

import numpy as np

from ..recipes import PerAxis
from .mesh import Mesh

_ON = 1e-9  # of the mesh


def uncrossed(mesh: Mesh, planes: PerAxis) -> PerAxis:
    """The coordinates c along each axis whose plane x_i = c cuts no cell; empty if there are none."""
    corners = mesh.nodes[mesh.vertices]
    near = _ON * float(np.max(mesh.bounds[1] - mesh.bounds[0]))
    result = []
    for axis, line in enumerate(planes):
        low, high = corners[:, :, axis].min(axis=1) + near, corners[:, :, axis].max(axis=1) - near
        result.append(tuple(c for c in line if not np.any((low < c) & (c < high))))
    return tuple(result) if any(result) else ()
