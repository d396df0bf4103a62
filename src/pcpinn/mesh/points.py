"""Random points in a mesh and on its named boundaries, as dense on the boundary as inside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .mesh import Mesh


@dataclass(frozen=True)
class BoundaryPoints:
    """Points x (m, d) on a boundary and the outward normals (m, d) there."""

    x: np.ndarray
    normals: np.ndarray


def interior_points(mesh: Mesh, count: int, random: np.random.Generator) -> np.ndarray:
    """(count, d) points, uniform over the mesh (on curved cells up to the variation of their Jacobian)."""
    mapping = mesh.skfem.mapping()
    volume = _cell_volumes(mesh)
    cells = random.choice(len(volume), size=count, p=volume / volume.sum()).astype(np.int32)
    X = _simplex(mesh.dimension, count, random)
    return np.ascontiguousarray(mapping.F(X, cells)[:, :, 0].T)


def boundary_points(mesh: Mesh, name: str, spacing: float, random: np.random.Generator) -> BoundaryPoints:
    """Points on a named boundary, `spacing` apart on average; in 1D the end points themselves."""
    sk, d = mesh.skfem, mesh.dimension
    facets = np.asarray(mesh.facets(name), dtype=np.int32)
    mapping = sk.mapping()
    if d > 1:
        centre = np.full((d - 1, len(facets), 1), 1 / d)
        area = np.abs(mapping.detDG(centre, facets)[:, 0]) / (d - 1)
        count = max(1, round(float(area.sum()) / spacing ** (d - 1)))
        facets = facets[random.choice(len(facets), size=count, p=area / area.sum())]
        x = mapping.G(_simplex(d - 1, count, random), facets)
    else:
        x = sk.p[:, facets, None]
    cells = np.asarray(sk.f2t[0, facets], dtype=np.int32)
    normals = mapping.normals(mapping.invF(x, cells), cells, facets, sk.t2f)
    return BoundaryPoints(np.ascontiguousarray(x[:, :, 0].T), np.ascontiguousarray(normals[:, :, 0].T))


def spacing_of(mesh: Mesh, count: int) -> float:
    """Mean distance of `count` points spread over the mesh."""
    return float((_cell_volumes(mesh).sum() / count) ** (1 / mesh.dimension))


def _cell_volumes(mesh: Mesh) -> np.ndarray:
    d = mesh.dimension
    centre = np.full((d, 1), 1 / (d + 1))
    return np.abs(mesh.skfem.mapping().detDF(centre)).reshape(-1) / float(np.prod(np.arange(1, d + 1)))


def _simplex(d: int, count: int, random: np.random.Generator) -> np.ndarray:
    """(d, count, 1) uniform points of the reference simplex."""
    return random.dirichlet(np.ones(d + 1), size=count)[:, :d].T[:, :, None]
