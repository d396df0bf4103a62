"""Random points in a mesh and on its named boundaries, as dense on the boundary as inside.

Over slabs of time points are drawn in space and in time: nothing is cut into simplices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .mesh import Mesh
from .slab_mesh import ENDS, AnyMesh, SlabMesh


@dataclass(frozen=True)
class BoundaryPoints:
    """Points x (m, d) on a boundary and the outward normals (m, d) there."""

    x: np.ndarray
    normals: np.ndarray


def interior_points(mesh: AnyMesh, count: int, random: np.random.Generator) -> np.ndarray:
    """(count, d) points, uniform over the mesh (on curved cells up to the variation of their Jacobian)."""
    if isinstance(mesh, SlabMesh):
        return np.column_stack([interior_points(mesh.space, count, random), _moments(mesh, count, random)])
    mapping = mesh.skfem.mapping()
    volume = _cell_volumes(mesh)
    cells = random.choice(len(volume), size=count, p=volume / volume.sum()).astype(np.int32)
    X = _simplex(mesh.dimension, count, random)
    return np.ascontiguousarray(mapping.F(X, cells)[:, :, 0].T)


def boundary_points(mesh: AnyMesh, name: str, spacing: float, random: np.random.Generator) -> BoundaryPoints:
    """Points on a named boundary, `spacing` apart on average; in 1D the end points themselves."""
    d = mesh.dimension
    count = max(1, round(boundary_size(mesh, name) / spacing ** (d - 1)))
    return (
        _slab_boundary(mesh, name, count, random) if isinstance(mesh, SlabMesh) else _drawn(mesh, name, count, random)
    )


def boundary_size(mesh: AnyMesh, name: str) -> float:
    """Number of points, length or area of a named boundary."""
    if not isinstance(mesh, SlabMesh):
        return float(_facet_areas(mesh, name).sum())
    if name in ENDS:
        return float(_cell_volumes(mesh.space).sum())
    return boundary_size(mesh.space, name) * float(mesh.times[-1] - mesh.times[0])


def spacing_of(mesh: AnyMesh, count: int) -> float:
    """Mean distance of `count` points spread over the mesh."""
    if isinstance(mesh, SlabMesh):
        volume = float(_cell_volumes(mesh.space).sum()) * float(mesh.times[-1] - mesh.times[0])
    else:
        volume = _cell_volumes(mesh).sum()
    return float((volume / count) ** (1 / mesh.dimension))


def _drawn(mesh: Mesh, name: str, count: int, random: np.random.Generator) -> BoundaryPoints:
    sk, d = mesh.skfem, mesh.dimension
    facets = np.asarray(mesh.facets(name), dtype=np.int32)
    mapping = sk.mapping()
    if d > 1:
        area = _facet_areas(mesh, name)
        facets = facets[random.choice(len(facets), size=count, p=area / area.sum())]
        x = mapping.G(_simplex(d - 1, count, random), facets)
    else:
        x = sk.p[:, facets, None]
    cells = np.asarray(sk.f2t[0, facets], dtype=np.int32)
    normals = mapping.normals(mapping.invF(x, cells), cells, facets, sk.t2f)
    return BoundaryPoints(np.ascontiguousarray(x[:, :, 0].T), np.ascontiguousarray(normals[:, :, 0].T))


def _slab_boundary(mesh: SlabMesh, name: str, count: int, random: np.random.Generator) -> BoundaryPoints:
    if name in ENDS:
        x = interior_points(mesh.space, count, random)
        at, outward = (mesh.times[0], -1.0) if name == ENDS[0] else (mesh.times[-1], 1.0)
        normals = np.zeros((count, mesh.dimension))
        normals[:, -1] = outward
        return BoundaryPoints(np.column_stack([x, np.full(count, at)]), normals)
    there = _drawn(mesh.space, name, count, random)
    if mesh.space.dimension == 1:  # its end points, at random times
        chosen = random.integers(len(there.x), size=count)
        there = BoundaryPoints(there.x[chosen], there.normals[chosen])
    x = np.column_stack([there.x, _moments(mesh, len(there.x), random)])
    return BoundaryPoints(x, np.column_stack([there.normals, np.zeros(len(there.x))]))


def _moments(mesh: SlabMesh, count: int, random: np.random.Generator) -> np.ndarray:
    return random.uniform(mesh.times[0], mesh.times[-1], count)


def _facet_areas(mesh: Mesh, name: str) -> np.ndarray:
    """Areas of the facets of a boundary; in 1D each counts one."""
    facets, d = np.asarray(mesh.facets(name), dtype=np.int32), mesh.dimension
    if d == 1:
        return np.ones(len(facets))
    centre = np.full((d - 1, len(facets), 1), 1 / d)
    return np.abs(mesh.skfem.mapping().detDG(centre, facets)[:, 0]) / (d - 1)


def _cell_volumes(mesh: Mesh) -> np.ndarray:
    d = mesh.dimension
    centre = np.full((d, 1), 1 / (d + 1))
    return np.abs(mesh.skfem.mapping().detDF(centre)).reshape(-1) / float(np.prod(np.arange(1, d + 1)))


def _simplex(d: int, count: int, random: np.random.Generator) -> np.ndarray:
    """(d, count, 1) uniform points of the reference simplex."""
    return random.dirichlet(np.ones(d + 1), size=count)[:, :d].T[:, :, None]
