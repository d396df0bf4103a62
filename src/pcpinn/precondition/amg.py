"""Algebraic multigrid for symmetric, elliptic problems with one field: set up by pyamg, applied by torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
import torch

from ..discretize.system import Discretisation
from ..errors import PcpinnError
from .by_degree import levels_by_degree, lower_degrees
from .chebyshev import contraction
from .coarsening import OTHERWISE, Levels, coarsenings, make_hierarchy, not_positive
from .multigrid import Cycle, Hierarchy, MultigridSolver
from .recipe import PRECONDITIONERS, Assembled

_LANCZOS = 15


@dataclass(frozen=True)
class AMGState:
    """The parts of A, the levels for its free part, and what was measured.

    Attributes:
        kinds: numbers of heads, free degrees of freedom and tails (see MultigridSolver).
        bounds: eigenvalues of B A for one cycle B.
        solver: for numpy arrays, in double precision.
    """

    A: sp.csr_matrix
    kinds: tuple[np.ndarray, np.ndarray, np.ndarray]
    hierarchy: Hierarchy
    bounds: tuple[float, float]
    coarsening: str
    solver: MultigridSolver


@PRECONDITIONERS.register
@dataclass(frozen=True)
class AMG(Assembled):
    """V-cycles with a Chebyshev smoother, accelerated by Chebyshev's polynomial. The work grows as N.

    Everything that is applied is symmetric.

    Attributes:
        cycles: V-cycles per application.
        smoother_steps: products with A before and after each coarse correction.
        coarsening: "best": two of pyamg's ways are tried, and the better kept; "quick": the one that is set up fastest. On
            tetrahedra lower degrees on the same mesh come first, and are enough for "quick".
        degrees: prolongations from these.
    """

    cycles: int = 3
    smoother_steps: int = 2
    coarsening: Literal["best", "quick"] = "best"
    degrees: tuple[sp.csr_matrix, ...] = field(default=(), compare=False, repr=False, metadata={"hidden": True})

    name: ClassVar[str] = "amg"
    positive: ClassVar[tuple[str, ...]] = ("cycles", "smoother_steps")
    prefers_torch: ClassVar[bool] = True

    def fitted(self, discretisation: Discretisation, memory: float) -> AMG:
        """With the lower degrees of a discretisation."""
        return replace(self, degrees=lower_degrees(discretisation))

    def build(self, A: sp.csr_matrix) -> AMGState:
        """Coarsen the free part of A, which must be symmetric and positive definite."""
        A = sp.csr_matrix(A)
        kinds = split_unknowns(A)
        free = sp.csr_matrix(A[kinds[1]][:, kinds[1]])
        _check(A, free)
        best: tuple[float, str, Hierarchy, tuple[float, float]] | None = None
        for coarsening, levels in self._tried(A, free, kinds):
            hierarchy = make_hierarchy(levels)
            bounds = self._measure(hierarchy, free)
            work = max(1.0, sum(M.nnz for M, _ in levels) / max(free.nnz, 1))
            score = math.log(contraction(bounds, 2)) / work
            if best is None or score < best[0]:
                best = (score, coarsening, hierarchy, bounds)
        if best is None:
            raise PcpinnError(
                f"algebraic multigrid found no coarser matrices for {free.shape[0]} degrees of freedom", OTHERWISE
            )
        _, coarsening, hierarchy, bounds = best
        solver = MultigridSolver(
            A, kinds, hierarchy, bounds, self.cycles, self.smoother_steps, torch.float64, torch.device("cpu")
        )
        return AMGState(A, kinds, hierarchy, bounds, coarsening, solver)

    def _tried(
        self, A: sp.csr_matrix, free: sp.csr_matrix, kinds: tuple[np.ndarray, np.ndarray, np.ndarray]
    ) -> Iterator[tuple[str, Levels]]:
        """Levels to choose from, with their names. Copies of periodic sides would need functions of their own."""
        known = bool(self.degrees) and not len(kinds[2]) and self.degrees[0].shape[0] == A.shape[0]
        found = levels_by_degree(A, self.degrees, kinds[1]) if known else None
        if found is not None:
            yield "lower degrees", found
        if found is None or self.coarsening == "best":
            yield from coarsenings(free, self.coarsening)

    def apply(self, state: AMGState, r: np.ndarray) -> np.ndarray:
        """P^-1 r."""
        return state.solver.apply(torch.from_numpy(np.ascontiguousarray(r, dtype=np.float64))).numpy()

    def apply_transpose(self, state: AMGState, r: np.ndarray) -> np.ndarray:
        """P^-T r."""
        return state.solver.apply_transpose(torch.from_numpy(np.ascontiguousarray(r, dtype=np.float64))).numpy()

    def on_device(
        self, state: AMGState, dtype: torch.dtype, device: torch.device | str, columns: int = 1
    ) -> MultigridSolver:
        """The same levels for tensors on a device."""
        if dtype == torch.float64 and torch.device(device).type == "cpu":
            return state.solver
        return MultigridSolver(
            state.A, state.kinds, state.hierarchy, state.bounds, self.cycles, self.smoother_steps, dtype, device
        )

    def describe(self, state: AMGState) -> dict[str, Any]:
        """Settings, levels, and the factor by which an application should reduce an error."""
        levels = state.hierarchy.levels
        entries = sum(level.A.nnz for level in levels) + state.hierarchy.coarse.size
        return {
            "cycles": self.cycles,
            "smoother_steps": self.smoother_steps,
            "coarsening": state.coarsening,
            "levels": len(levels) + 1,
            "fill": round(entries / state.A.nnz, 3),
            "contraction": float(f"{contraction(state.bounds, self.cycles):.2g}") if levels else 0.0,
        }

    def _measure(self, hierarchy: Hierarchy, free: sp.csr_matrix) -> tuple[float, float]:
        """Extreme eigenvalues of B A by conjugate gradients, which also notice if A is not positive definite."""
        if not hierarchy.levels:
            return 0.99, 1.01
        cycle = Cycle(hierarchy, self.smoother_steps, torch.float64, "cpu")

        def apply(r: np.ndarray) -> np.ndarray:
            return cycle(torch.from_numpy(r)).numpy()

        low, high = ritz_values(free, apply, _LANCZOS)
        if not low > 0:
            raise not_positive("a direction of negative energy was found")
        return 0.95 * low, 1.01 * high


def split_unknowns(A: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of the heads (row: a diagonal entry alone), of the free, and of the tails (column: a diagonal entry alone)."""
    diagonal = A.diagonal() != 0
    head = (np.diff(A.indptr) == 1) & diagonal
    tail = (np.diff(A.tocsc().indptr) == 1) & diagonal & ~head
    return np.flatnonzero(head), np.flatnonzero(~head & ~tail), np.flatnonzero(tail)


def ritz_values(A: sp.csr_matrix, apply: Callable[[np.ndarray], np.ndarray], steps: int) -> tuple[float, float]:
    """Smallest and largest Ritz value of B A from conjugate gradients; (-inf, inf) if A or B is not positive definite."""
    r = np.random.default_rng(0).normal(size=A.shape[0])
    z = apply(r)
    p, rz = z, float(r @ z)
    start = rz
    diagonal: list[float] = []
    beside: list[float] = []
    alpha, beta = 1.0, 0.0
    for _ in range(min(steps, A.shape[0])):
        Ap = A @ p
        energy = float(p @ Ap)
        if not (energy > 0 and rz > 0):
            return -math.inf, math.inf
        previous, alpha = alpha, rz / energy
        diagonal.append(1 / alpha + beta / previous)
        r = r - alpha * Ap
        z = apply(r)
        following = float(r @ z)
        beta, rz = following / rz, following
        if abs(rz) < 1e-26 * start:
            break
        beside.append(math.sqrt(max(beta, 0.0)) / alpha)
        p = z + beta * p
    count = len(diagonal)
    T = np.diag(diagonal) + np.diag(beside[: count - 1], 1) + np.diag(beside[: count - 1], -1)
    values = np.linalg.eigvalsh(T)
    return float(values[0]), float(values[-1])


def _check(A: sp.csr_matrix, free: sp.csr_matrix) -> None:
    if (A.diagonal() == 0).any():
        raise not_positive("the diagonal has zeros")
    if free.shape[0] == 0:
        return
    if not free.diagonal().min() > 0:
        raise not_positive("the diagonal is not positive")
    asymmetry = float(abs(free - free.T).max() / abs(free).max())
    if asymmetry > 1e-8:
        raise PcpinnError(
            f"algebraic multigrid needs a symmetric matrix, and this one's asymmetry is {asymmetry:.1e} of its largest "
            "entry (first derivatives, such as convection or time, make it so)",
            OTHERWISE,
        )
