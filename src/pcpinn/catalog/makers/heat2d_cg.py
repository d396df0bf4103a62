"""heat2d-cg: curved cubic and quartic triangles; time steps that grow from the jump at the start."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import skfem
from scipy.spatial import cKDTree
from skfem.models.poisson import laplace, mass, unit_load

from ...mesh.netgen_mesher import mesh_shape
from ..evaluation import points_outside_disks
from ..heat2d_cg import LARGE, LOWER, SMALL, UPPER, plate
from ..reference_file import space_time_points
from .maker import MAKERS, Level, Maker
from .radau import radau

_TIMES = np.linspace(0, 3, 31)
_ELEMENTS = {2: skfem.ElementTriP2, 3: skfem.ElementTriP3, 4: skfem.ElementTriP4}
_CHOICES = ((2, 0.8, 1), (3, 0.5, 2), (4, 0.35, 3), (4, 0.25, 4))  # degree, mesh size, time steps per 0.1
_DOUBLINGS = 8  # of the time step, from the start to the first time of output


def places() -> np.ndarray:
    """A grid outside of the disks; none of its points is on a rim."""
    return points_outside_disks(LOWER, UPPER, LARGE + SMALL, 57)


def points() -> np.ndarray:
    """The places at all times."""
    return space_time_points(places(), _TIMES)


def values(level: int) -> np.ndarray:
    """u at the points."""
    degree, mesh_size, steps = _CHOICES[level]
    mesh = mesh_shape(plate(), mesh_size, curved=True, curvature=1.5 / mesh_size).skfem
    basis = skfem.Basis(mesh, _ELEMENTS[degree](), intorder=2 * degree + 2)
    M, K, f = mass.assemble(basis), laplace.assemble(basis), np.zeros(basis.N)
    for facets, outside in _boundaries(mesh):
        rim = skfem.FacetBasis(mesh, basis.elem, facets=facets, intorder=2 * degree + 4)
        K = K + mass.assemble(rim)
        f = f + outside * unit_load.assemble(rim)
    at_places = _evaluation(basis, places())
    times, kept = time_steps(_TIMES, steps, _DOUBLINGS)
    result = np.zeros((at_places.shape[0], len(_TIMES)))
    for k, u in enumerate(radau(M, K, lambda t: f, np.zeros(basis.N), times), start=1):
        if k in kept:
            result[:, kept[k]] = at_places @ u
    return result.reshape(-1, 1)


def time_steps(output: np.ndarray, steps: int, doublings: int) -> tuple[np.ndarray, dict[int, int]]:
    """Times to step through, and which of them (by number) are which of the output.

    `steps` equal steps between two times of output; the first stretch is halved again and again towards its start, and
    each piece takes `steps` too.
    """
    first = output[0] + (output[1] - output[0]) * np.concatenate([[0.0], 0.5 ** np.arange(doublings, -1, -1.0)])
    stops = np.concatenate([first, output[2:]])
    times = np.interp(np.arange((len(stops) - 1) * steps + 1) / steps, np.arange(len(stops)), stops)
    return times, {(doublings + k) * steps: k for k in range(1, len(output))}


def _boundaries(mesh: skfem.MeshTri2) -> list[tuple[np.ndarray, float]]:
    """Facets and the temperature outside, distinguished by the position of their corners."""
    facets = mesh.boundary_facets()
    ends = mesh.p[:, mesh.facets[:, facets]]  # (2, 2, n)

    def on(disks: tuple[tuple[float, float, float], ...]) -> np.ndarray:
        gaps = [np.abs(np.hypot(ends[0] - x, ends[1] - y) - r).max(axis=0) for x, y, r in disks]
        found: np.ndarray = np.min(gaps, axis=0) < 1e-6
        return found

    large, small = on(LARGE), on(SMALL)
    return [(facets[large], 5.0), (facets[small], 1.0), (facets[~large & ~small], 0.1)]


def _evaluation(basis: skfem.Basis, x: np.ndarray) -> sp.csr_matrix:
    """Matrix (n, N) from nodal values to values at x (n, 2): the cell is found by Newton among the nearest."""
    mapping = basis.mapping
    centres = mapping.F(np.full((2, 1), 1 / 3))[:, :, 0].T
    near = cKDTree(centres).query(x, 12)[1]
    best, cells, X = np.full(len(x), -np.inf), near[:, 0].copy(), np.zeros((2, len(x)))
    for column in near.T.astype(np.int32):
        guess = np.full((2, len(x), 1), 1 / 3)
        for _ in range(8):
            guess += np.einsum(
                "ijck,jck->ick", mapping.invDF(guess, column), x.T[:, :, None] - mapping.F(guess, column)
            )
        inside = np.minimum(guess[:, :, 0].min(axis=0), 1 - guess[:, :, 0].sum(axis=0))
        better = inside > best
        best[better], cells[better], X[:, better] = inside[better], column[better], guess[:, better, 0]
    phi = np.stack([basis.elem.lbasis(X, i)[0] * np.ones(len(x)) for i in range(basis.Nbfun)])
    nodes = basis.element_dofs[:, cells]
    rows = np.broadcast_to(np.arange(len(x)), nodes.shape)
    return sp.csr_matrix((phi.ravel(), (rows.ravel(), nodes.ravel())), shape=(len(x), basis.N))


MAKER = Maker(
    name="heat2d-cg",
    method="curved finite elements, Radau IIA of order 5 in time with steps that grow from the start",
    levels=tuple(
        Level(f"P{degree}, mesh size {size:g}, time step {0.1 / steps:.3g}", seconds)
        for (degree, size, steps), seconds in zip(_CHOICES, (3.0, 10.0, 35.0, 70.0), strict=True)
    ),
    points=points,
    values=values,
    check_level=2,
)
MAKERS.register(MAKER)
