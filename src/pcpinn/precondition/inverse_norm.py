"""Norms of inverses, ||A^-1|| and ||A^-1 P||: largest singular values by a Krylov method, never a dense inverse.

A map S between two spaces with inner products has the norm sqrt(theta), theta being the largest eigenvalue of S* S, which is
self-adjoint in the inner product of the first. Nothing but S, S* and that inner product is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
import torch

from ..discretize.singular import Degenerate
from ..errors import PcpinnError
from .diagonal import Identity, Jacobi, RowBalancing
from .factorised import ILU, LU, Factors
from .maps import HostMatrix, HostSolver
from .preconditioned import Preconditioned
from .protocol import Preconditioner

Map = Callable[[np.ndarray], np.ndarray]

_BASIS, _KEPT = 40, 10  # vectors of a Krylov space, and those that survive its restart
_ROUNDING = 1e-14  # a new direction this small, beside its image, is rounding


def largest_singular(
    forward: Map,
    adjoint: Map,
    size: int,
    inner: Map | None = None,
    tolerance: float = 1e-5,
    most: int = 400,
) -> tuple[float, np.ndarray]:
    """The norm of a map and the unit vector that it magnifies most, by Lanczos' method with thick restarts.

    Args:
        forward, adjoint: S and S*, adjoint in the inner products of both spaces.
        size: of vectors that S takes.
        inner: G v for the inner product v^T G v of these; None is Euclid's.
        tolerance: ||S* S v - theta v|| relative to theta; the error of theta is of its square, where theta is not in a crowd.
        most: applications of S.
    """
    gram = inner or (lambda v: v)
    start = np.random.default_rng(0).normal(size=size)
    Q = [start / np.sqrt(start @ gram(start))]
    H = np.zeros((_BASIS + 1, _BASIS + 1))
    theta, best = 0.0, np.ones(1)
    for _ in range(most):
        k = len(Q) - 1
        image = adjoint(forward(Q[k]))
        length = _root(image, gram(image))
        rest = image
        for _ in range(2):  # once is not enough in floating point
            weighted = gram(rest)
            coefficients = np.array([q @ weighted for q in Q])
            rest = rest - _combined(Q, coefficients)
            H[: k + 1, k] += coefficients
        H[k, : k + 1] = H[: k + 1, k]
        beta = _root(rest, gram(rest))
        values, vectors = np.linalg.eigh(H[: k + 1, : k + 1])
        theta, best = float(values[-1]), vectors[:, -1]
        if beta <= _ROUNDING * length or len(Q) == size or beta * abs(best[-1]) <= tolerance * theta:
            break
        if len(Q) == _BASIS:
            Q = [_combined(Q, vectors[:, j]) for j in range(_BASIS - _KEPT, _BASIS)]
            H[:] = np.diag(np.append(values[-_KEPT:], np.zeros(len(H) - _KEPT)))
            best = np.append(np.zeros(_KEPT - 1), 1.0)
        Q.append(rest / beta)
    return math.sqrt(max(theta, 0.0)), _combined(Q[: len(best)], best)


def _root(v: np.ndarray, weighted: np.ndarray) -> float:
    return math.sqrt(max(float(np.dot(v, weighted)), 0.0))


def _combined(Q: list[np.ndarray], coefficients: np.ndarray) -> np.ndarray:
    total = np.zeros_like(Q[0])
    for c, q in zip(coefficients, Q, strict=True):
        total += c * q
    return total


def measures(
    A: sp.csr_matrix,
    b: np.ndarray,
    preconditioner: Preconditioner,
    state: Any,
    weights: np.ndarray | None = None,
    inverse: tuple[Map, Map] | None = None,
) -> dict[str, Any]:
    """The paper's numbers of a preconditioner, in the norm sqrt(sum of weights v^2), or Euclid's.

    condition: ||P^-1 b|| / ||u|| * ||A^-1 P||, by which an error of the preconditioned residual is magnified, relative to
        relative; 1 for P = A. None where P^-1 A cannot be inverted by iteration.
    inverse_norm: ||A^-1 P||; ratio: ||P^-1 b|| / ||u||, both of it.
    applied_error: ||P^-1 b - u|| / ||u||, with A u = b.

    Args:
        A, b: the system; preconditioner, state: P, built.
        weights: (N,) of the norm.
        inverse: A^-1 and A^-T, if they are there already.
    """
    solve, solve_transposed = inverse or factorised_inverse(A)
    root = np.ones(len(b)) if weights is None else np.sqrt(weights)

    def norm(v: np.ndarray) -> float:
        return float(np.linalg.norm(root * v))

    u = solve(b)
    applied = preconditioner.apply(state, b)
    size = norm(u) or 1.0
    ratio = norm(applied) / size
    result: dict[str, Any] = {"ratio": ratio, "applied_error": norm(applied - u) / size, "note": ""}
    try:
        value = preconditioned_inverse_norm(A, preconditioner, state, weights, (solve, solve_transposed))
    except PcpinnError as error:
        return {**result, "condition": None, "inverse_norm": None, "note": error.problem}
    return {**result, "condition": ratio * value, "inverse_norm": value}


def preconditioned_inverse_norm(
    A: sp.csr_matrix,
    preconditioner: Preconditioner,
    state: Any,
    weights: np.ndarray | None = None,
    inverse: tuple[Map, Map] | None = None,
) -> float:
    """||A^-1 P|| in the norm sqrt(sum of weights v^2); arguments as of `measures`."""
    root = np.ones(A.shape[0]) if weights is None else np.sqrt(weights)
    P = explicit(preconditioner, state)
    forward: Map
    adjoint: Map
    if P is not None:
        solve, solve_transposed = inverse or factorised_inverse(A)
        forward = lambda v: root * solve(P.matvec(v / root))  # noqa: E731
        adjoint = lambda v: P.rmatvec(solve_transposed(root * v)) / root  # noqa: E731
    else:  # (P^-1 A)^-1, near the identity, by Krylov's method
        zero = torch.zeros(A.shape[0], dtype=torch.float64)
        WPA = Preconditioned(HostMatrix(A), HostSolver(preconditioner, state), zero, root**2)
        forward = _iterated(
            lambda v: WPA.multiply(torch.from_numpy(v / root), transpose=False).numpy(), A.shape[0], preconditioner.name
        )
        adjoint = _iterated(
            lambda v: WPA.multiply(torch.from_numpy(v), transpose=True).numpy() / root, A.shape[0], preconditioner.name
        )
    return largest_singular(forward, adjoint, A.shape[0], tolerance=1e-4)[0]


def _iterated(B: Map, n: int, name: str) -> Map:
    operator = spla.LinearOperator((n, n), matvec=lambda v: B(np.ravel(v)), dtype=np.float64)

    def solve(r: np.ndarray) -> np.ndarray:
        x, failed = spla.gmres(operator, r, x0=r, rtol=1e-7, atol=0.0, restart=60, maxiter=2)
        if failed or not np.isfinite(x).all():
            raise PcpinnError(
                f"{name} has no matrix, and P^-1 A is too far from the identity to be inverted by iteration",
                "lower its drop tolerance, or measure ilu",
            )
        return x

    return solve


def factorised_inverse(A: sp.csr_matrix) -> tuple[Map, Map]:
    """A^-1 and A^-T by sparse factors; symmetric matrices with a positive diagonal in the order that suits them.

    Raises:
        PcpinnError: when the matrix is singular.
    """
    columns = A.tocsc()
    definite = A.shape[0] > 0 and (A.diagonal() > 0).all() and abs(A - A.T).max() <= 1e-10 * abs(A).max()
    orders: list[dict[str, Any]] = [{"permc_spec": "COLAMD"}]
    if definite:
        symmetric = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
        orders.insert(0, symmetric)
    probe = np.random.default_rng(1).normal(size=A.shape[0])
    right = A @ probe
    for options in orders:
        try:
            lu = spla.splu(columns, **options)
        except (RuntimeError, MemoryError):
            continue
        with np.errstate(all="ignore"):
            found = lu.solve(right)
        # The residual, not the error: an ill-conditioned matrix is not a failed factorisation.
        if np.isfinite(found).all() and np.linalg.norm(A @ found - right) <= 1e-6 * np.linalg.norm(right):
            return _solver(lu, "N"), _solver(lu, "T")
    raise Degenerate("the matrix is singular", "check the boundary conditions")


def _solver(lu: spla.SuperLU, mode: str) -> Map:
    return lambda r: lu.solve(np.ascontiguousarray(r, dtype=np.float64), mode)


def explicit(preconditioner: Preconditioner, state: Any) -> spla.LinearOperator | None:
    """P itself as an operator, where its kind allows it."""
    if isinstance(preconditioner, Jacobi | RowBalancing | Identity):
        return spla.aslinearoperator(sp.diags(state))
    if isinstance(preconditioner, ILU | LU) and isinstance(state, Factors):
        lu = state.lu
        L, U, n = lu.L, lu.U, lu.shape[0]
        # SuperLU: row perm_r[i] of L U Pc is row i of P, and (Pc v)[perm_c] = v
        back, forth = np.argsort(lu.perm_r), np.argsort(lu.perm_c)
        return spla.LinearOperator(
            (n, n),
            matvec=lambda v: (L @ (U @ np.ravel(v)[forth]))[lu.perm_r],
            rmatvec=lambda v: (U.T @ (L.T @ np.ravel(v)[back]))[lu.perm_c],
            dtype=np.float64,
        )
    return None
