"""A^-1 and A^-T of a discretisation: slab by slab in time, by sparse factors, or by multigrid where these would be too large."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from ..discretize.discretisation import Discretisation
from ..discretize.finite_differences import FiniteDifferences
from ..discretize.slabs import TimeSlabs
from ..errors import PcpinnError
from ..precondition import AMG, Preconditioner, Refined, Separable, TimeOrder
from ..precondition.inverse_norm import Map, factorised_inverse

FACTORISED = {1: 2 * 10**6, 2: 300_000, 3: 20_000}  # degrees of freedom up to which factors are made
_SLAB_UNKNOWNS = 2 * 10**6
_EXACT = 1e-6  # what an inverse by parts may leave of a right-hand side
_SOLVED = 1e-7  # relative residual of conjugate gradients
_SYMMETRIC = 1e-6  # coordinates of a grid are rounded


@dataclass(frozen=True)
class Inverse:
    """Two maps, and how they are made."""

    solve: Map
    solve_transposed: Map
    how: str


def inverse_of(A: sp.csr_matrix, discretisation: Discretisation) -> Inverse:
    """The inverse of a matrix with constraints as rows.

    Raises:
        PcpinnError: when it is singular, or too large for any of the ways.
    """
    n, d = A.shape[0], discretisation.mesh.dimension
    if isinstance(discretisation, TimeSlabs) and n <= _SLAB_UNKNOWNS:
        found = _of_slabs(A, discretisation)
        if found is not None:
            return found
    if n <= FACTORISED[d]:
        return Inverse(*factorised_inverse(A), "sparse factors")
    scale = np.ones(n)  # finite differences are symmetric in the inner product of their cells
    if isinstance(discretisation, FiniteDifferences):
        scale = discretisation.weights / discretisation.weights.max()
        scale[discretisation.constraints.constrained] = 1.0
    scaled = sp.csr_matrix(sp.diags(scale) @ A)
    if abs(scaled - scaled.T).max() > _SYMMETRIC * abs(scaled).max():
        raise PcpinnError(
            f"{n} degrees of freedom in {d} dimensions are too many to factorise, and multigrid is for symmetric problems",
            "take a coarser mesh (cells, size), or for problems over time time=slabs",
        )
    solve = _by_multigrid(sp.csr_matrix((scaled + scaled.T) / 2))
    return Inverse(lambda r: solve(scale * r), lambda r: scale * solve(r), "multigrid")


def _of_slabs(A: sp.csr_matrix, slabs: TimeSlabs) -> Inverse | None:
    """The preconditioners that know time, where they are exact."""
    recipe: Preconditioner = TimeOrder(slabs.slab_starts.tolist(), drop_tolerance=0.0)
    how, parts = "slab by slab", slabs.kronecker
    if slabs.scheme.test_rate is not None:
        if parts is None:
            return None
        recipe, how = Separable(parts.terms, parts.fixed_layers, parts.fixed_nodes), "fast diagonalisation"
    try:
        state = recipe.build(A)
    except PcpinnError:  # some equation looks ahead in time, or a block is singular
        return None
    refined = Refined(recipe, 1)
    around = refined.around(A, state)
    found = Inverse(lambda r: refined.apply(around, r), lambda r: refined.apply_transpose(around, r), how)
    probe = np.random.default_rng(1).normal(size=A.shape[0])
    for solve, matrix in ((found.solve, A), (found.solve_transposed, around.At)):
        with np.errstate(all="ignore"):
            left = np.linalg.norm(matrix @ solve(probe) - probe)
        if not left <= _EXACT * np.linalg.norm(probe):
            return None
    return found


def _by_multigrid(A: sp.csr_matrix) -> Map:
    amg = AMG(1)
    state = amg.build(A)
    cycle = spla.LinearOperator(A.shape, matvec=lambda r: amg.apply(state, np.ravel(r)), dtype=np.float64)

    def solve(r: np.ndarray) -> np.ndarray:
        x, failed = spla.cg(A, r, rtol=_SOLVED, atol=0.0, maxiter=200, M=cycle)
        if failed:
            raise PcpinnError("multigrid does not converge for this matrix", "take a coarser mesh")
        return x

    return solve
