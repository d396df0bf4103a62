"""What curved tetrahedra leave of a domain, or add to it: the volume between their faces and the walls.

Elements of higher degree on the same cells do not see it, so it is measured by the walls' own equations.
"""

from __future__ import annotations

import numpy as np

from ..mesh.mesh import Mesh
from ..mesh.onto_walls import walls_of_facets
from ..problem.shapes import Domain
from ..problem.walls import walls_of
from .curved_faces import curved_faces

_ORDER = 6  # of the rule on faces: 12 points


def wall_gaps(mesh: Mesh, domain: Domain | None) -> np.ndarray:
    """(c,) volumes between the faces of curved tetrahedra and the curved walls that they are on; 0 for other cells."""
    result = np.zeros(mesh.cell_count)
    walls = [] if domain is None or mesh.dimension < 3 or not mesh.curved else walls_of(domain)
    bent = [w for w in walls if np.any(w.quadratic)]
    if not bent:
        return result
    known = mesh.skfem
    numbers = known.boundary_facets()
    corners = np.unique(mesh.vertices)[known.facets[:, numbers]].T
    wall_of = walls_of_facets(mesh, corners, bent, [w for w in walls if not np.any(w.quadratic)])
    for k, wall in enumerate(bent):
        own = numbers[wall_of == k]
        if len(own):
            faces = curved_faces(mesh, own, _ORDER)
            slope = 2 * faces.x @ wall.quadratic + wall.linear
            apart = np.abs(wall.level(faces.x)) / np.linalg.norm(slope, axis=2)
            np.add.at(result, faces.cells, (apart * faces.dx).sum(axis=1))
    return result
