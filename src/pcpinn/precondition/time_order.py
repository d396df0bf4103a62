"""Slab by slab: a preconditioner for systems that are block lower triangular in time.

P is A with the diagonal block of each slab replaced by its incomplete factors. P^-1 is one march through time, and slabs with
equal blocks (equal steps, coefficients that do not depend on time) share one factorisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..discretize.slabs import TimeSlabs
from ..discretize.system import Discretisation
from ..errors import PcpinnError
from .device_factors import FactorSolver
from .factorised import ILU, LU, Factors
from .recipe import PRECONDITIONERS, Assembled, Ordering
from .torch_sparse import csr_tensor

_DENSE_BYTES = 24 * 2**30  # for the inverses of all different blocks, on a GPU
_DENSE_ROWS = 24_000  # a larger inverse takes longer to read than its factors


@dataclass(frozen=True)
class Slab:
    """Rows start:end of A: the number of its diagonal block, and what couples it to degrees of freedom from column `since` on."""

    start: int
    end: int
    block: int
    since: int
    coupling: int | None


@dataclass(frozen=True)
class Slabs:
    """All slabs, the factors of their different blocks, and their different couplings (transposed ones too)."""

    slabs: tuple[Slab, ...]
    factors: tuple[Factors, ...]
    couplings: tuple[sp.csr_matrix, ...]
    transposed: tuple[sp.csr_matrix, ...]
    fill: float


@PRECONDITIONERS.register
@dataclass(frozen=True)
class TimeOrder(Assembled):
    """Block substitution, slab after slab in the order of time.

    Attributes:
        starts: first degree of freedom of each slab, and N at the end.
        drop_tolerance, fill_factor, ordering: of the incomplete factorisation of a slab's own block (see ILU); with
            drop_tolerance=0 it is complete.
        sweep_tolerance: relative error that triangular solves on a GPU may have.
    """

    starts: Sequence[int] = field(default=(), metadata={"hidden": True})
    drop_tolerance: float = 1e-6
    fill_factor: float = 50.0
    sweep_tolerance: float = 1e-6
    ordering: Ordering = "colamd"

    name: ClassVar[str] = "time-order"
    positive: ClassVar[tuple[str, ...]] = ("fill_factor", "sweep_tolerance")
    not_negative: ClassVar[tuple[str, ...]] = ("drop_tolerance", "refinement")
    prefers_torch: ClassVar[bool] = False

    def fitted(self, discretisation: Discretisation, memory: float) -> TimeOrder:
        """With the slabs of a discretisation.

        Raises:
            PcpinnError: when it has none.
        """
        return replace(self, starts=require_slabs(discretisation, self.name).slab_starts.tolist())

    def build(self, A: sp.csr_matrix) -> Slabs:
        """Factorise each different diagonal block.

        Raises:
            PcpinnError: when a slab depends on a later one, or a block cannot be factorised.
        """
        A = sp.csr_matrix(A)
        own: ILU | LU = LU(self.sweep_tolerance)
        if self.drop_tolerance > 0:
            own = ILU(self.drop_tolerance, self.fill_factor, self.sweep_tolerance, self.ordering)
        slabs: list[Slab] = []
        blocks, couplings = _Different(), _Different()
        factors: list[Factors] = []
        previous: tuple[Slab, sp.csr_matrix] | None = None
        for start, end in zip(self.starts[:-1], self.starts[1:], strict=True):
            rows = _shifted_rows(A, start, end)
            if rows.nnz and rows.indices.max() >= end - start:
                raise PcpinnError(
                    "an equation depends on later times, so the system cannot be solved in the order of time",
                    "use preconditioner=ilu or separable",
                )
            if previous is not None and _same(rows, previous[1]):
                twin = previous[0]
                slabs.append(Slab(start, end, twin.block, start + twin.since - twin.start, twin.coupling))
                continue
            block, earlier, back = _split(rows)
            number = blocks.number_of(block)
            if number == len(factors):
                factors.append(own.build(block))
            slabs.append(Slab(start, end, number, start - back, couplings.number_of(earlier) if back else None))
            previous = slabs[-1], rows
        entries = sum(factors[s.block].fill * _entries(A, s) for s in slabs)
        transposed = tuple(sp.csr_matrix(c.T) for c in couplings.matrices)
        return Slabs(tuple(slabs), tuple(factors), tuple(couplings.matrices), transposed, entries / A.nnz)

    def apply(self, state: Slabs, r: np.ndarray) -> np.ndarray:
        """P^-1 r, forward in time."""
        x = np.empty_like(r, dtype=np.float64)
        for s in state.slabs:
            own = r[s.start : s.end]
            if s.coupling is not None:
                own = own - state.couplings[s.coupling] @ x[s.since : s.start]
            x[s.start : s.end] = state.factors[s.block].lu.solve(np.ascontiguousarray(own, dtype=np.float64))
        return x

    def apply_transpose(self, state: Slabs, r: np.ndarray) -> np.ndarray:
        """P^-T r, backward in time."""
        x = np.array(r, dtype=np.float64)
        for s in reversed(state.slabs):
            x[s.start : s.end] = state.factors[s.block].lu.solve(np.ascontiguousarray(x[s.start : s.end]), "T")
            if s.coupling is not None:
                x[s.since : s.start] -= state.transposed[s.coupling] @ x[s.start : s.end]
        return x

    def on_device(self, state: Slabs, dtype: torch.dtype, device: torch.device | str, columns: int = 1) -> SlabSolver:
        """The same march for tensors on a device."""
        return SlabSolver(state, dtype, torch.device(device), self.sweep_tolerance, columns)

    def describe(self, state: Slabs) -> dict[str, Any]:
        """Settings, numbers of slabs and of different blocks, fill."""
        return {
            "drop_tolerance": self.drop_tolerance,
            "fill_factor": self.fill_factor,
            "slabs": len(state.slabs) - 1,
            "blocks": len(state.factors),
            "fill": round(state.fill, 3),
        }


class SlabSolver:
    """The march by torch operations; blocks as dense inverses where they fit, else by their factors."""

    def __init__(self, state: Slabs, dtype: torch.dtype, device: torch.device, tolerance: float, columns: int) -> None:
        self.slabs = state.slabs
        self._couplings = [csr_tensor(c, dtype, device) for c in state.couplings]
        self._transposed = [csr_tensor(c, dtype, device) for c in state.transposed]
        size = torch.finfo(dtype).bits // 8 * sum(f.lu.shape[0] ** 2 for f in state.factors)
        self.dense = size <= _memory(device) and max(f.lu.shape[0] for f in state.factors) <= _DENSE_ROWS
        self._inverses = [_inverse(f, dtype, device) for f in state.factors] if self.dense else []
        self._solvers = (
            [] if self.dense else [FactorSolver(f.lu, dtype, device, tolerance, columns) for f in state.factors]
        )

    def apply(self, r: Tensor) -> Tensor:
        """P^-1 r for r (N,) or (N, k)."""
        x = torch.empty_like(r)
        for s in self.slabs:
            own = r[s.start : s.end]
            if s.coupling is not None:
                own = own - self._couplings[s.coupling] @ x[s.since : s.start]
            x[s.start : s.end] = self._solve(s.block, own, False)
        return x

    def apply_transpose(self, r: Tensor) -> Tensor:
        """P^-T r for r (N,) or (N, k)."""
        x = r.clone()
        for s in reversed(self.slabs):
            own = self._solve(s.block, x[s.start : s.end], True)
            x[s.start : s.end] = own
            if s.coupling is not None:
                x[s.since : s.start] -= self._transposed[s.coupling] @ own
        return x

    def describe(self) -> dict[str, Any]:
        """How blocks are inverted."""
        return {"block_solves": "dense inverses"} if self.dense else self._solvers[-1].describe()

    def _solve(self, block: int, r: Tensor, transpose: bool) -> Tensor:
        if self.dense:
            inverse = self._inverses[block]
            return (inverse.T if transpose else inverse) @ r
        solver = self._solvers[block]
        return solver.apply_transpose(r) if transpose else solver.apply(r)


def _memory(device: torch.device) -> int:
    if device.type != "cuda":
        return 2**28
    return min(_DENSE_BYTES, torch.cuda.mem_get_info(device)[0] // 3)


def _inverse(factors: Factors, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Pc U^-1 L^-1 Pr as a dense matrix."""
    lu = factors.lu
    n = lu.shape[0]
    if lu.L.nnz + lu.U.nnz == 2 * n:  # a diagonal block, such as that of the initial values
        return torch.from_numpy(lu.solve(np.eye(n))).to(device, dtype)
    right = torch.eye(n, dtype=dtype, device=device)[torch.from_numpy(np.argsort(lu.perm_r)).to(device)]
    L = csr_tensor(sp.csr_matrix(lu.L), dtype, device).to_dense()
    right = torch.linalg.solve_triangular(L, right, upper=False, unitriangular=True)
    del L
    U = csr_tensor(sp.csr_matrix(lu.U), dtype, device).to_dense()
    right = torch.linalg.solve_triangular(U, right, upper=True)
    return right[torch.from_numpy(np.asarray(lu.perm_c, dtype=np.int64)).to(device)]


def _entries(A: sp.csr_matrix, s: Slab) -> int:
    part = A.indices[A.indptr[s.start] : A.indptr[s.end]]
    return int((part >= s.start).sum())


def _shifted_rows(A: sp.csr_matrix, start: int, end: int) -> sp.csr_matrix:
    """Rows start:end, with columns counted from `start` (negative for earlier slabs); not a matrix to compute with."""
    part = slice(A.indptr[start], A.indptr[end])
    rows = sp.csr_matrix((end - start, end - start))
    rows.data, rows.indices = A.data[part], A.indices[part].astype(np.int64) - start
    rows.indptr = A.indptr[start : end + 1] - A.indptr[start]
    return rows


def _split(rows: sp.csr_matrix) -> tuple[sp.csr_matrix, sp.csr_matrix, int]:
    """Shifted rows -> the diagonal block, the coupling to earlier degrees of freedom, and how far back that reaches."""
    back = max(0, -int(rows.indices.min())) if rows.nnz else 0
    n = rows.shape[0]
    whole = sp.csr_matrix((rows.data, rows.indices + back, rows.indptr), shape=(n, back + n))
    return sp.csr_matrix(whole[:, back:]), sp.csr_matrix(whole[:, :back]), back


def _same(a: sp.csr_matrix, b: sp.csr_matrix) -> bool:
    """Equal up to rounding: steps of equal length differ in their last digits."""
    if a.shape != b.shape or a.nnz != b.nnz:
        return False
    if not (np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)):
        return False
    return bool(np.allclose(a.data, b.data, rtol=1e-9, atol=1e-11 * np.abs(b.data).max(initial=0.0)))


class _Different:
    """Matrices without repeats."""

    def __init__(self) -> None:
        self.matrices: list[sp.csr_matrix] = []

    def number_of(self, M: sp.csr_matrix) -> int:
        """Its number, new if it has not been seen."""
        for k, known in enumerate(self.matrices):
            if _same(M, known):
                return k
        self.matrices.append(M)
        return len(self.matrices) - 1


def require_slabs(discretisation: Discretisation, name: str) -> TimeSlabs:
    """The discretisation, if it has slabs of time."""
    if isinstance(discretisation, TimeSlabs):
        return discretisation
    raise PcpinnError(f"preconditioner={name} needs slabs of time", "set time=slabs, or leave preconditioner out")
