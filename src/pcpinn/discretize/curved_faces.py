"""Curved faces of tetrahedra: where the points of a rule lie in the cells, areas and outward normals.

scikit-fem finds these points by Newton's method, which need not converge on coarse cells. In the reference cell faces are flat.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from skfem.quadrature import get_quadrature
from skfem.refdom import RefTri

from ..mesh.mesh import Mesh

_CORNERS = np.vstack([np.zeros(3), np.eye(3)])


@dataclass(frozen=True)
class Faces:
    """Points of a rule on faces of tetrahedra, or on edges of triangles.

    Attributes:
        cells: (f,) the cell inside of each face.
        X: (d, f, q) points in the reference cell.
        x: (f, q, d) points.
        dx: (f, q) weights.
        normals: (f, q, d) outward.
        inverse: (d, d, f, q) inverse Jacobian of the cell's map.
    """

    cells: np.ndarray
    X: np.ndarray
    x: np.ndarray
    dx: np.ndarray
    normals: np.ndarray
    inverse: np.ndarray


def curved_faces(mesh: Mesh, facets: np.ndarray, order: int) -> Faces:
    """Of facets, by their numbers in `mesh.skfem`, with a rule of this order on each."""
    known, mapping = mesh.skfem, mesh.skfem.mapping()
    cells = known.f2t[0, facets].astype(np.int32)
    own = known.t[:, cells].T  # (f, 4)
    local = (own[:, None, :] == known.facets[:, facets].T[:, :, None]).argmax(axis=2)  # (f, 3) corners in the cell
    corners = _CORNERS[local]
    at, weights = get_quadrature(RefTri, order)
    share = np.vstack([1 - at.sum(axis=0), at])
    X = np.einsum("kq,fkj->jfq", share, corners)
    slope = mapping.DF(X, cells)  # (3, 3, f, q)
    along = [np.einsum("ijfq,fj->fqi", slope, corners[:, k] - corners[:, 0]) for k in (1, 2)]
    area = np.cross(along[0], along[1])
    away = corners.mean(axis=1) - _CORNERS[6 - local.sum(axis=1)]  # from the corner opposite
    area *= np.sign(np.einsum("fqi,ijfq,fj->fq", area, slope, away))[..., None]
    size = np.linalg.norm(area, axis=2)
    x = np.moveaxis(mapping.F(X, cells), 0, -1)
    return Faces(cells, X, x, size * weights, area / size[..., None], mapping.invDF(X, cells))
