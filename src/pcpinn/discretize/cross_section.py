"""The mesh of space that a mesh in space and time has at every moment."""

from __future__ import annotations

import math

import numpy as np

from ..mesh.mesh import Mesh
from ..mesh.slab_mesh import AnyMesh, SlabMesh
from .space import ScalarSpace


def cross_section(mesh: AnyMesh) -> Mesh | None:
    """The mesh of space if the domain is the same at all times, else None.

    Of slabs, their mesh of space; of simplices, the facets at the start. These are the domain at all times if every node
    stands over them and the volume is theirs times the duration.
    """
    if isinstance(mesh, SlabMesh):
        return mesh.space
    if mesh.curved:  # curved in time
        return None
    lower, upper = mesh.bounds
    duration = upper[-1] - lower[-1]
    at_start = mesh.nodes[mesh.vertices, -1] <= lower[-1] + 1e-9 * duration
    standing = at_start.sum(axis=1) == mesh.dimension
    if not standing.any():
        return None
    facets = mesh.vertices[standing][at_start[standing]].reshape(-1, mesh.dimension)
    used, renumbered = np.unique(facets, return_inverse=True)
    section = Mesh(mesh.nodes[used, :-1], renumbered.reshape(facets.shape))
    if not math.isclose(_volume(mesh), _volume(section) * duration, rel_tol=1e-6):
        return None
    places = np.unique(mesh.nodes[np.unique(mesh.vertices), :-1], axis=0)
    return None if ScalarSpace(section, 1).outside(places).any() else section


def _volume(mesh: Mesh) -> float:
    """Of straight simplices."""
    corners = mesh.nodes[mesh.vertices]
    return float(np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])).sum()) / math.factorial(mesh.dimension)
