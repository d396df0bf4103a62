"""The reference of poisson3d-cg: cubic elements on curved tetrahedra, with the plane of the jump a plane of the mesh."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
import skfem
from scipy.spatial import cKDTree
from skfem.element import ElementH1
from skfem.helpers import dot, grad
from skfem.refdom import RefTet

from ..poisson3d_cg import BALLS, JUMP, K_ABOVE, K_BELOW
from .maker import MAKERS, Level, Maker

_SIZES = (0.1, 0.0707, 0.05, 0.0354, 0.025)
_CHUNK = 5_000  # cells that are integrated together
_ORDER = 7  # of the quadrature


def points() -> np.ndarray:
    """A regular grid over the cube without the insides of the balls, (n, 3)."""
    axis = np.linspace(0, 1, 28)
    x = np.stack([g.ravel() for g in np.meshgrid(axis, axis, axis, indexing="ij")], axis=1)
    return x[np.all([np.linalg.norm(x - centre, axis=1) >= r for centre, r in BALLS], axis=0)]


def values(level: int) -> np.ndarray:
    """u at the points."""
    return solve(_SIZES[level], points())[:, None]


def solve(mesh_size: float, x: np.ndarray, curvature: float = 3.0) -> np.ndarray:
    """u at x (n, 3) with a given cell size and number of cells per radius of the balls."""
    mesh = make_mesh(mesh_size, curvature)
    element = CubicTetrahedron()
    dofs = skfem.Dofs(mesh, element)
    A = sp.csr_matrix((dofs.N, dofs.N))
    b = np.zeros(dofs.N)
    for chunk in np.array_split(np.arange(mesh.nelements), -(-mesh.nelements // _CHUNK)):
        basis = skfem.CellBasis(mesh, element, intorder=_ORDER, elements=chunk, dofs=dofs)
        A += _matrix.assemble(basis)
        b += _load.assemble(basis)
    u = _conjugate_gradients(A, b)
    return _evaluate(mesh, dofs, u, x)


def make_mesh(mesh_size: float, curvature: float = 3.0) -> skfem.MeshTet2:
    """Curved tetrahedra outside the balls; the plane z = JUMP consists of faces."""
    import netgen.occ as occ

    halves = []
    for low, high in ((0.0, JUMP), (JUMP, 1.0)):
        half = occ.Box(occ.Pnt(0, 0, low), occ.Pnt(1, 1, high))
        for centre, r in BALLS:
            half = half - occ.Sphere(occ.Pnt(*centre), r)
        halves.append(half)
    result = occ.OCCGeometry(occ.Glue(halves)).GenerateMesh(maxh=mesh_size, curvaturesafety=curvature)
    nodes = np.array(result.Coordinates(), dtype=np.float64)
    cells = result.Elements3D().NumPy()["nodes"][:, :4].astype(np.int64) - 1
    used, cells = np.unique(cells, return_inverse=True)
    cells = np.sort(cells.reshape(-1, 4), axis=1)  # cells agree on the direction of their edges
    straight = skfem.MeshTet1(np.ascontiguousarray(nodes[used].T), np.ascontiguousarray(cells.T))
    return _bend(straight)


def _bend(straight: skfem.MeshTet1) -> skfem.MeshTet2:
    """Move the middles of the edges along the spheres onto them; along the circles where a sphere meets the jump, too."""
    curved = skfem.MeshTet2.from_mesh(straight)
    edges = np.unique(straight.f2e[:, straight.boundary_facets()])
    ends = straight.p[:, straight.edges[:, edges]]  # (3, 2, edges)
    number = curved.dofs.edge_dofs[0, edges]
    nodes = curved.doflocs.copy()
    flat = np.all(np.abs(ends[2] - JUMP) < 1e-9, axis=0)
    for centre, r in BALLS:
        c = np.array(centre)[:, None]
        on = np.all(np.abs(np.linalg.norm(ends - c[:, :, None], axis=0) - r) < 1e-6, axis=0)
        across, along = number[on & ~flat], number[on & flat]
        offset = nodes[:, across] - c
        nodes[:, across] = c + r * offset / np.linalg.norm(offset, axis=0)
        offset = nodes[:2, along] - c[:2]
        radius = np.sqrt(max(r**2 - (JUMP - centre[2]) ** 2, 0.0))
        nodes[:2, along] = c[:2] + radius * offset / np.linalg.norm(offset, axis=0)
    return replace(curved, doflocs=nodes)


class CubicTetrahedron(ElementH1):
    """The Lagrange element of degree 3: values at corners, thirds of edges and middles of faces."""

    refdom = RefTet
    nodal_dofs, edge_dofs, facet_dofs, interior_dofs = 1, 2, 1, 0
    maxdeg = 3

    def __init__(self) -> None:
        corners = np.vstack([np.zeros(3), np.eye(3)])
        edges = [corners[list(e)] for e in RefTet.edges]
        thirds = [((3 - k) * a + k * b) / 3 for a, b in edges for k in (1, 2)]
        middles = [corners[list(face)].mean(axis=0) for face in RefTet.facets]
        self.doflocs = np.array([*corners, *thirds, *middles])
        self.dofnames = ["u"] * 4
        powers = [(i, j, k) for i in range(4) for j in range(4 - i) for k in range(4 - i - j)]
        self._powers = np.array(powers)
        self._coefficients = np.linalg.inv(np.prod(self.doflocs[:, None, :] ** self._powers, axis=2))

    def lbasis(self, X: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Value and gradient of shape function i at reference points X (3, ...)."""
        table = np.stack([X**n for n in range(4)])  # (power, axis, ...)
        value, slope = 0.0, [0.0, 0.0, 0.0]
        for c, n in zip(self._coefficients[:, i], self._powers, strict=True):
            factors = [table[n[a], a] for a in range(3)]
            value = value + c * factors[0] * factors[1] * factors[2]
            for a in range(3):
                if n[a]:
                    others = factors[(a + 1) % 3] * factors[(a + 2) % 3]
                    slope[a] = slope[a] + c * n[a] * table[n[a] - 1, a] * others
        return np.asarray(value), np.stack([np.broadcast_to(s, X[0].shape) for s in slope])


@skfem.BilinearForm
def _matrix(u: Any, v: Any, w: Any) -> np.ndarray:
    k = np.where(w.x[2].mean(axis=-1, keepdims=True) < JUMP, K_BELOW, K_ABOVE)  # one value per cell
    return dot(grad(u), grad(v)) + k**2 * u * v


@skfem.LinearForm
def _load(v: Any, w: Any) -> np.ndarray:
    x, y, z = w.x
    s1, s2, s3 = np.sin(np.pi * x), np.sin(10 * np.pi * y), np.sin(5 * np.pi * z)
    r2 = x**2 + y**2 + z**2
    return (20 * np.exp(s1 + s2 + s3) * (r2 - 1) / (r2 + 1) + 100 * s1 * s2 * s3) * v


def _conjugate_gradients(A: sp.csr_matrix, b: np.ndarray) -> np.ndarray:
    import pyamg

    levels = pyamg.smoothed_aggregation_solver(A, max_coarse=500)
    u, failed = spla.cg(A, b, M=levels.aspreconditioner(), rtol=1e-10, maxiter=500)
    if failed:
        raise RuntimeError("conjugate gradients did not converge")
    return u


def _evaluate(mesh: skfem.MeshTet2, dofs: skfem.Dofs, u: np.ndarray, x: np.ndarray) -> np.ndarray:
    """u at points: cells are found as if straight (a point just beyond a curved side is extrapolated to)."""
    corners = mesh.doflocs[:, mesh.t].transpose(2, 1, 0)  # (cells, 4, 3)
    cells, X = _locate(corners, x)
    curved = mesh.mapping()
    X = X.T[:, :, None]
    for _ in range(8):  # Newton's method
        X = X + np.einsum("ijnq,jnq->inq", curved.invDF(X, cells), x.T[:, :, None] - curved.F(X, cells))
    if np.abs(curved.F(X, cells)[:, :, 0] - x.T).max() > 1e-10:
        raise RuntimeError("a point could not be found in its curved cell")
    element = CubicTetrahedron()
    return np.sum([u[d[cells]] * element.lbasis(X[:, :, 0], k)[0] for k, d in enumerate(dofs.element_dofs)], axis=0)


def _locate(corners: np.ndarray, x: np.ndarray, candidates: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """The straight cell that each point is in, or is least outside of, and the local coordinates there."""
    inverse = np.linalg.inv((corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1))
    _, near = cKDTree(corners.mean(axis=1)).query(x, k=min(candidates, len(corners)))
    best, chosen, local = np.full(len(x), -np.inf), near[:, 0].copy(), np.zeros_like(x)
    for cell in near.T:
        X = np.einsum("nij,nj->ni", inverse[cell], x - corners[cell, 0])
        inside = np.minimum(X.min(axis=1), 1 - X.sum(axis=1))
        better = inside > best
        best[better], chosen[better], local[better] = inside[better], cell[better], X[better]
    return chosen, local


MAKER = Maker(
    name="poisson3d-cg",
    method="cubic elements on curved tetrahedra, conjugate gradients with algebraic multigrid",
    levels=tuple(
        Level(f"mesh size {size:g}, {thousands} 000 unknowns", seconds)
        for size, thousands, seconds in zip(
            _SIZES, (47, 82, 152, 435, 1170), (6.0, 10.0, 17.0, 60.0, 180.0), strict=True
        )
    ),
    points=points,
    values=values,
)
MAKERS.register(MAKER)
