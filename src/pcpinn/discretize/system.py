"""The linear system A u = b that the network is trained on, boundary conditions built in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from ..errors import PcpinnError
from ..mesh.slab_mesh import AnyMesh
from ..problem.problem import Problem
from .check import check_boundary, check_pointwise
from .constraints import Constraints
from .pointwise import BoundaryFlux, Pointwise
from .slabs import TimeSlabs


class Discretisation(Protocol):
    """Finite elements, finite differences or slabs of time: unknowns at nodes, a residual and its matrix."""

    name: str
    problem: Problem
    pointwise: Pointwise

    @property
    def mesh(self) -> AnyMesh:
        """Where the unknowns sit."""

    @property
    def size(self) -> int:
        """Number of unknowns N."""

    @property
    def components(self) -> int:
        """Number of scalar components C."""

    @property
    def unknown_nodes(self) -> np.ndarray:
        """(N, d) position of each unknown."""

    @property
    def unknown_components(self) -> np.ndarray:
        """(N,) component of each unknown."""

    @property
    def constraints(self) -> Constraints:
        """Essential conditions."""

    @property
    def weights(self) -> np.ndarray:
        """(N,) weights of a discrete L2 norm."""

    def sample_points(self, count: int = 64) -> Tensor:
        """Some points (m, d) inside the domain."""

    def boundary_samples(self) -> Iterator[tuple[BoundaryFlux, Tensor, Tensor]]:
        """Each boundary with natural conditions: its flux, some points and the normals there."""

    def residual(self, u: Tensor) -> Tensor:
        """R(u), without constraints."""

    def matrix(self, u: Tensor) -> sp.csr_matrix:
        """dR/du, without constraints."""

    def interpolate(self, u: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The discrete function at points: (m, C)."""


@dataclass(frozen=True)
class LinearSystem:
    """A u = b over *all* nodes.

    Rows of constrained unknowns say u_i = value (Dirichlet) or u_i - u_j = 0 (periodic), so the network sees the boundary
    nodes too; their columns are eliminated from the other rows, which keeps a symmetric problem symmetric.

    Attributes:
        A: (N, N) sparse matrix.
        b: (N,) right-hand side.
        points: (M, d) distinct positions of the unknowns; M <= N.
        point_of: (N,) which point an unknown sits at.
        component_of: (N,) which network output it is.
        weights: (N,) of a discrete L2 norm.
    """

    discretisation: Discretisation
    A: sp.csr_matrix
    b: np.ndarray
    points: np.ndarray
    point_of: np.ndarray
    component_of: np.ndarray
    weights: np.ndarray

    @property
    def size(self) -> int:
        """Number of unknowns N."""
        return len(self.b)

    def norm(self, u: np.ndarray) -> float:
        """Discrete L2 norm of (N,) unknowns."""
        return float(np.sqrt(self.weights @ u**2))

    @cached_property
    def solution(self) -> np.ndarray:
        """The discrete solution u_h by a direct solve: for measuring errors; training never sees it."""
        return solve_sparse(self.A, self.b)


def linear_system(discretisation: Discretisation) -> LinearSystem:
    """Assemble A and b; refuse nonlinear or singular problems.

    Raises:
        PcpinnError: for a flux or source of the wrong shape, that is not finite or not differentiable, or not linear.
    """
    if not check_functions(discretisation):
        raise PcpinnError(
            "the PDE or a boundary condition is nonlinear in its fields, and this solver is for linear problems",
            "make flux, source and conditions linear in u.value and u.grad (coefficients may depend on x only)",
        )
    return linear_part(discretisation)


def check_functions(discretisation: Discretisation) -> bool:
    """Try flux, source and conditions at some points; tells whether the problem is linear in its fields.

    Raises:
        PcpinnError: for one of the wrong shape, that is not finite or not differentiable.
    """
    linear = check_pointwise(discretisation.pointwise, discretisation.sample_points())
    for flux, x, normals in discretisation.boundary_samples():
        linear &= check_boundary(flux, x, normals, discretisation.components)
    return linear


def linear_part(discretisation: Discretisation) -> LinearSystem:
    """The linearisation at u = 0; all there is to a linear problem. Singular ones are refused."""
    zero = torch.zeros(discretisation.size, dtype=torch.float64)
    tested_at = discretisation.constraints.tested_at
    f = -discretisation.residual(zero).numpy()[tested_at]
    system = discretisation.eliminated(f) if isinstance(discretisation, TimeSlabs) else None
    A, b = system or eliminate(discretisation.matrix(zero)[tested_at], f, discretisation.constraints)
    if not (np.isfinite(A.data).all() and np.isfinite(b).all()):
        raise PcpinnError(
            "the assembled matrix or right-hand side is not finite", "check flux, source and conditions for NaN"
        )
    refuse_singular(A, discretisation)
    points, point_of = distinct_points(discretisation.unknown_nodes, discretisation.components)
    return LinearSystem(
        discretisation, A, b, points, point_of, np.asarray(discretisation.unknown_components), discretisation.weights
    )


def eliminate(K: sp.csr_matrix, f: np.ndarray, constraints: Constraints) -> tuple[sp.csr_matrix, np.ndarray]:
    """Put the constraints into K u = f; columns of constrained unknowns vanish from the other rows."""
    n, c = len(f), constraints.constrained
    identity = sp.csr_matrix((np.ones(len(c)), (c, c)), shape=(n, n))
    has_master = constraints.master >= 0
    if has_master.any():
        T, g = constraints.expansion()
        coupling = (np.ones(has_master.sum()), (c[has_master], constraints.master[has_master]))
        A = T.T @ K @ T + identity - sp.csr_matrix(coupling, shape=(n, n))
        b = T.T @ (f - K @ g)
    else:  # the same without products of large matrices
        free, g = np.ones(n), np.zeros(n)
        free[c], g[c] = 0.0, constraints.value
        b = free * (f - K @ g)
        data = K.data * free[K.indices] * np.repeat(free, np.diff(K.indptr))
        A = sp.csr_matrix((data, K.indices, K.indptr), shape=(n, n))
        A.eliminate_zeros()
        A = A + identity
    b[c] = constraints.value
    A = A.tocsr()
    A.eliminate_zeros()
    return A, b


def solve_sparse(A: sp.csr_matrix, b: np.ndarray) -> np.ndarray:
    """Direct sparse solve with a fill-reducing ordering."""
    with np.errstate(all="ignore"):
        try:
            u = spla.splu(A.tocsc(), permc_spec="COLAMD").solve(b)
        except RuntimeError as error:
            raise _singular() from error
    if not np.isfinite(u).all():
        raise _singular()
    return u


def solve_krylov(
    A: sp.csr_matrix, b: np.ndarray, apply: Callable[[np.ndarray], np.ndarray], tolerance: float, steps: int = 60
) -> np.ndarray | None:
    """A^-1 b by GMRES with a preconditioner's `apply`, started from P^-1 b; None if `steps` do not reach the tolerance."""
    n = len(b)
    P = spla.LinearOperator((n, n), matvec=apply)
    u, failed = spla.gmres(A, b, x0=apply(b), M=P, rtol=tolerance, atol=0.0, restart=steps, maxiter=5)
    return None if failed or not np.isfinite(u).all() else u


def refuse_singular(A: sp.csr_matrix, discretisation: Discretisation) -> None:
    """Find the usual kernels without factorising: empty rows, and a component whose constant is never fixed."""
    if (np.diff(A.indptr) == 0).any():
        raise _singular()
    scale = abs(A) @ np.ones(A.shape[1])
    for component in range(discretisation.components):
        constant = (discretisation.unknown_components == component).astype(float)
        if (np.abs(A @ constant) <= 1e-9 * scale).all():
            name = _field_of(discretisation.problem, component)
            raise _singular(f"field {name!r} is fixed only up to a constant")


def _singular(why: str = "no unique solution") -> PcpinnError:
    return PcpinnError(
        f"the matrix is singular: {why}",
        "a pure Neumann problem needs a Dirichlet or Robin condition somewhere, or pins=[Pin(at=(x, y), value=0)]; "
        "a field that appears in no equation needs one",
    )


def _field_of(problem: Problem, component: int) -> str:
    return [f.name for f in problem.unknowns for _ in range(f.components)][component]


def distinct_points(nodes: np.ndarray, components: int) -> tuple[np.ndarray, np.ndarray]:
    """Merge nodes of different components that sit at the same place: points (M, d), index of each node (N,)."""
    first = np.arange(len(nodes))
    if components == 1:
        return nodes, first
    scale = np.ptp(nodes, axis=0).max()
    pairs = cKDTree(nodes).query_pairs(1e-9 * scale, output_type="ndarray")
    np.minimum.at(first, pairs[:, 1], pairs[:, 0])
    kept, point_of = np.unique(first, return_inverse=True)
    return nodes[kept], point_of
