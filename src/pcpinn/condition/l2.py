"""L2(Omega) for discrete functions and for the right-hand sides that a discretisation sees.

Right-hand sides f are piecewise polynomials of one degree less than the solution, not continuous: their coefficients c in an
orthonormal basis become a load b = B c. With M the mass matrix of the solution's space, ||F^-1|| is the norm of S = A^-1 B
from Euclid's space to (u, M), and S* = B^T A^-T M.
  * finite elements: polynomials on cells; in time, polynomials on slabs (values at the moments, for collocation);
  * finite differences: constants on cells, a node taking the mean of the cells around it.
One degree less matters for equations of first order: central differences and continuous elements answer an f that
alternates from node to node with a u that does, which no refinement would ever cure (a factor of 4/3 for linear elements, 2 for
differences). Such an f is not among these.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import product

import numpy as np
import scipy.sparse as sp
import torch
from scipy.spatial import cKDTree

from ..discretize.constraints import Constraints
from ..discretize.discretisation import Discretisation
from ..discretize.finite_differences import FiniteDifferences
from ..discretize.finite_elements import FiniteElements
from ..discretize.pointwise import Pointwise
from ..discretize.slabs import TimeSlabs
from ..discretize.space import ScalarSpace, Space
from ..discretize.time_scheme import TimeScheme, gauss_points
from ..mesh.mesh import Mesh
from ..problem.problem import Problem

_CHUNK = 200_000  # points evaluated at once


@dataclass(frozen=True)
class Gauge:
    """The matrices of the module's text, for unconstrained degrees of freedom (and those that periodic ones repeat).

    Attributes:
        free: (n,) numbers of these degrees of freedom.
        expand: (N, n) all degrees of freedom from them.
        M: (n, n) mass matrix.
        B: (n, k) load of a right-hand side.
    """

    free: np.ndarray
    expand: sp.csr_matrix
    M: sp.csr_matrix
    B: sp.csr_matrix


def gauge(discretisation: Discretisation, constraints: Constraints, first_order: bool = False) -> Gauge:
    """L2 on both sides of a discretisation."""
    free = constraints.free
    T, _ = constraints.expansion()
    V = sp.csr_matrix(T[:, free])
    M = sp.csr_matrix(V.T @ mass_matrix(discretisation) @ V)
    return Gauge(free, V, M, sp.csr_matrix(V.T @ load_matrix(discretisation, first_order)[constraints.tested_at]))


def load_matrix(discretisation: Discretisation, patches: bool = False) -> sp.csr_matrix:
    """(N, k): loads of right-hand sides, constraints not applied."""
    if isinstance(discretisation, TimeSlabs):
        return sp.kron(_time_load(discretisation.scheme), _space_load(discretisation.space), format="csr")
    if isinstance(discretisation, FiniteElements):
        wide = patches and discretisation.mesh.dimension > 1
        return _space_load(discretisation.space, patches_of(discretisation.mesh) if wide else None)
    assert isinstance(discretisation, FiniteDifferences)
    means = reduce(lambda a, b: sp.kron(a, b, format="csr"), [_node_means(axis) for axis in discretisation.axes])
    return sp.block_diag([means] * discretisation.components, format="csr")


def _space_load(space: Space, patches: np.ndarray | None = None) -> sp.csr_matrix:
    found = {id(scalar): _scalar_load(space, scalar, patches) for scalar in space.scalar}
    return sp.block_diag([found[id(scalar)] for scalar in space.scalar], format="csr")


def _scalar_load(space: Space, scalar: ScalarSpace, patches: np.ndarray | None) -> sp.csr_matrix:
    """(n, patches * k): integrals of shape functions times orthonormal polynomials on patches of cells, or on cells."""
    rule, d = space.quadrature, space.mesh.dimension
    cells = len(rule.x)
    patch_of = np.arange(cells) if patches is None else patches
    count = int(patch_of.max()) + 1
    dx = np.broadcast_to(rule.dx, rule.x.shape[:2])
    centre = (
        np.stack([np.bincount(patch_of, rule.x[:, :, j].mean(1)) for j in range(d)], 1) / np.bincount(patch_of)[:, None]
    )
    local_x = rule.x - centre[patch_of][:, None]
    width = np.full(count, 0.0)
    np.maximum.at(width, patch_of, np.abs(local_x).max(axis=(1, 2)))
    local_x = local_x / width[patch_of][:, None, None]
    powers = [p for p in product(range(scalar.degree), repeat=d) if sum(p) < scalar.degree]
    monomials = np.stack([np.prod(local_x ** np.array(p), axis=-1) for p in powers], axis=-1)  # (c, q, k)
    grams = np.zeros((count, len(powers), len(powers)))
    np.add.at(grams, patch_of, np.einsum("cq,cqk,cql->ckl", dx, monomials, monomials))
    factors = np.linalg.cholesky(grams)  # weights of the rule may be negative, these are not
    phi, _ = scalar.tabulate(rule.X)
    against = np.einsum("cq,cqk,qi->cki", dx, monomials, phi)
    local = np.linalg.solve(factors[patch_of], against)  # (c, k, i)
    rows = np.broadcast_to(scalar.cell_nodes[:, None, :], local.shape)
    columns = patch_of[:, None, None] * len(powers) + np.arange(len(powers))[:, None]
    columns = np.broadcast_to(columns, local.shape)
    return sp.csr_matrix((local.ravel(), (rows.ravel(), columns.ravel())), shape=(scalar.size, count * len(powers)))


def patches_of(mesh: Mesh) -> np.ndarray:
    """(c,) which patch a cell belongs to: all cells around a node, for as many nodes as have room; the rest joins a neighbour."""
    vertices = mesh.vertices
    cells, corners = vertices.shape
    around = sp.csr_matrix((np.ones(vertices.size), (vertices.ravel(), np.repeat(np.arange(cells), corners))))
    patch = np.full(cells, -1)
    inner = np.setdiff1d(np.arange(around.shape[0]), np.concatenate([f.ravel() for f in mesh.boundaries.values()]))
    count = 0
    for node in inner:
        star = around.indices[around.indptr[node] : around.indptr[node + 1]]
        if len(star) and (patch[star] < 0).all():
            patch[star] = count
            count += 1
    if not count:
        return np.arange(cells)
    centres = mesh.nodes[vertices].mean(axis=1)
    taken, left = np.flatnonzero(patch >= 0), np.flatnonzero(patch < 0)
    patch[left] = patch[taken[cKDTree(centres[taken]).query(centres[left])[1]]]
    return patch


def _time_load(scheme: TimeScheme) -> sp.csr_matrix:
    """(L, k): what orthonormal functions of time do to the equations of the time levels."""
    per_slab = len(scheme.moments) // scheme.slabs
    places = (scheme.moments[:per_slab] - scheme.times[0]) / (scheme.times[1] - scheme.times[0])
    lengths = np.diff(scheme.times)
    degrees = np.arange(scheme.order)
    local = np.polynomial.legendre.legvander(2 * places - 1, scheme.order - 1) * np.sqrt(2 * degrees + 1)
    E = sp.block_diag([local / np.sqrt(h) for h in lengths], format="csr")  # (Q, k)
    return sp.csr_matrix(scheme.test @ E)


def _node_means(axis: np.ndarray) -> sp.csr_matrix:
    """(n, n - 1): means over the cells beside each node of an axis, from coefficients of functions of norm one."""
    n, step = len(axis), np.diff(axis)
    value = sp.diags([0.5, 0.5], [-1, 0], shape=(n, n - 1), format="lil")
    value[0, 0] = value[n - 1, n - 2] = 1.0
    return sp.csr_matrix(value @ sp.diags(1 / np.sqrt(step)))


def mass_matrix(discretisation: Discretisation) -> sp.csr_matrix:
    """(N, N), constraints not applied: u^T M u is the squared L2 norm over all components."""
    if isinstance(discretisation, TimeSlabs):
        return sp.kron(_time_mass(discretisation), space_mass(discretisation.space), format="csr")
    if isinstance(discretisation, FiniteElements):
        return space_mass(discretisation.space)
    return sp.diags(discretisation.weights, format="csr")


def space_mass(space: Space) -> sp.csr_matrix:
    """Mass matrix of a finite element space, component by component."""
    found: dict[int, sp.csr_matrix] = {}
    for scalar, (phi, _) in zip(space.scalar, space.tables, strict=True):
        if id(scalar) in found:
            continue
        local = np.einsum("cq,qi,qj->cij", np.broadcast_to(space.quadrature.dx, space.quadrature.x.shape[:2]), phi, phi)
        rows = np.broadcast_to(scalar.cell_nodes[:, :, None], local.shape)
        columns = np.broadcast_to(scalar.cell_nodes[:, None, :], local.shape)
        shape = (scalar.size, scalar.size)
        found[id(scalar)] = sp.csr_matrix((local.ravel(), (rows.ravel(), columns.ravel())), shape=shape)
    return sp.block_diag([found[id(scalar)] for scalar in space.scalar], format="csr")


def _time_mass(slabs: TimeSlabs) -> sp.csr_matrix:
    points, weights = gauss_points(slabs.scheme.order + 1)
    times, lengths = slabs.scheme.times, np.diff(slabs.scheme.times)
    E = slabs.scheme.interpolation((times[:-1, None] + lengths[:, None] * points).ravel())
    return sp.csr_matrix(E.T @ sp.diags((lengths[:, None] * weights).ravel()) @ E)


def norm_of_right_hand_side(discretisation: Discretisation) -> float:
    """||f|| in L2: of what the equations, in strong form, leave at u = 0. Data on the boundary are no part of it."""
    x, w = quadrature_points(discretisation)
    total = 0.0
    for start in range(0, len(x), _CHUNK):
        part = slice(start, start + _CHUNK)
        f = right_hand_side(discretisation.problem, torch.from_numpy(x[part]))
        total += float(w[part] @ (f.numpy() ** 2).sum(axis=1))
    return total**0.5


def quadrature_points(discretisation: Discretisation) -> tuple[np.ndarray, np.ndarray]:
    """Points (m, d) and weights (m,) of an integral over the domain."""
    if isinstance(discretisation, FiniteDifferences):
        return discretisation.nodes, discretisation.volumes
    assert isinstance(discretisation, FiniteElements | TimeSlabs)
    rule = discretisation.space.quadrature
    x = rule.x.reshape(-1, rule.x.shape[-1])
    w = np.broadcast_to(rule.dx, rule.x.shape[:2]).ravel()
    if isinstance(discretisation, FiniteElements):
        return x, w
    points, weights = gauss_points(discretisation.scheme.order)
    times = discretisation.scheme.times
    t = (times[:-1, None] + np.diff(times)[:, None] * points).ravel()
    wt = (np.diff(times)[:, None] * weights).ravel()
    return np.column_stack([np.tile(x, (len(t), 1)), np.repeat(t, len(x))]), np.outer(wt, w).ravel()


def right_hand_side(problem: Problem, x: torch.Tensor) -> torch.Tensor:
    """f = div flux - source - d/dt density at u = 0, at points x (n, d): (n, C)."""
    pointwise = Pointwise(problem, strong=True)
    x = x.detach().clone().requires_grad_()
    state = torch.zeros(len(x), problem.components, 1 + x.shape[1], dtype=x.dtype)
    out = pointwise.evaluate(x, state)
    f = -out[:, :, 0].detach()
    if not pointwise.has_flux or not out.requires_grad:
        return f
    for k in range(out.shape[1]):
        for j in range(x.shape[1]):
            slope = torch.autograd.grad(out[:, k, 1 + j].sum(), x, retain_graph=True, allow_unused=True)[0]
            if slope is not None:
                f[:, k] += slope[:, j]
    return f
