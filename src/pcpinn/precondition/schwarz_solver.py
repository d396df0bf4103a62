"""P in parts, applied: overlapping Schwarz between two coarse corrections, on the degrees of freedom that a process holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from .coarse import CoarseSpace
from .maps import HostSolver
from .protocol import LinearMap, Preconditioner
from .refined import refine
from .shards import RowMatrix, Shards
from .torch_sparse import csr_tensor


@dataclass(frozen=True)
class PartFactors:
    """A part with its overlap.

    Attributes:
        part: its number.
        wide: (w,) its degrees of freedom and those around it, by their numbers in the whole, in order.
        state: of the inner preconditioner, for the rows and columns `wide` of A.
    """

    part: int
    wide: np.ndarray
    state: Any


class SchwarzSolver:
    """P^-1 and P^-T on (n,) or (n, k): I - P^-1 A = (I - C A) (I - S A) (I - C A), as often as it is refined.

    S solves in each part with its overlap and keeps the part's own values (restricted additive Schwarz, Cai and Sarkis 1999),
    C solves in the coarse space. The order reads the same from both ends, so the transpose is the same with S^T, C^T and A^T.

    Args:
        A: (N, N), all of it.
        shards: who holds what.
        inner: of the parts; parts: those held here.
        coarse: the coarse space; None for parts alone.
        refinement: further steps x <- x + P^-1 (r - A x).
        device: where the tensors are.
    """

    def __init__(
        self,
        A: sp.csr_matrix,
        shards: Shards,
        inner: Preconditioner,
        parts: Sequence[PartFactors],
        coarse: CoarseSpace | None,
        refinement: int,
        device: torch.device | str,
    ) -> None:
        self._team, self._refinement, dtype = shards.team, refinement, torch.float64
        self._matrix = RowMatrix(A, shards, dtype, device)
        self._halo = shards.halo(np.concatenate([p.wide for p in parts]))
        self._parts = [_Part(p, shards, self._halo.place(p.wide), inner, device) for p in parts]
        self._size = shards.size
        self._coarse: list[_Coarse] = []
        if coarse is not None:
            inverse = torch.from_numpy(coarse.inverse).to(device)
            Z, Y = coarse.Z, coarse.Y
            made = ((Z, Y, A @ Z, inverse), (Y, Z, sp.csr_matrix(A.T) @ Y, inverse.T))
            self._coarse = [_Coarse(f, t, image, K, shards, device) for f, t, image, K in made]

    def apply(self, r: Tensor) -> Tensor:
        """P^-1 r."""
        return refine(self._cycle, self._matrix.apply, r, self._refinement)

    def apply_transpose(self, r: Tensor) -> Tensor:
        """P^-T r."""
        return refine(self._transposed, self._matrix.apply_transpose, r, self._refinement)

    def describe(self) -> dict[str, Any]:
        """Nothing that `Schwarz` does not say."""
        return {}

    def _cycle(self, r: Tensor) -> Tensor:
        if not self._coarse:
            return self._solve_parts(r)
        coarse = self._coarse[0]
        x, r = coarse.correct(r)
        y = self._solve_parts(r)
        return x + y + coarse.correct(r - self._matrix.apply(y), last=True)[0]

    def _transposed(self, r: Tensor) -> Tensor:
        if not self._coarse:
            return self._solve_parts_transposed(r)
        coarse = self._coarse[1]
        x, r = coarse.correct(r)
        y = self._solve_parts_transposed(r)
        return x + y + coarse.correct(r - self._matrix.apply_transpose(y), last=True)[0]

    def _solve_parts(self, r: Tensor) -> Tensor:
        wide = self._halo.extend(r)
        return torch.cat([part.solve(wide) for part in self._parts])

    def _solve_parts_transposed(self, r: Tensor) -> Tensor:
        wide = r.new_zeros(self._halo.size, *r.shape[1:])
        for part in self._parts:
            part.add_transposed(r, wide)
        return self._halo.collect(wide)


class _Part:
    """The solves of one part."""

    def __init__(
        self, own: PartFactors, shards: Shards, wide: np.ndarray, inner: Preconditioner, device: torch.device | str
    ) -> None:
        self._wide = torch.from_numpy(wide).to(device)
        self.rows = shards.of_part(own.part)
        place = np.searchsorted(own.wide, shards.here[self.rows])  # wide is in order
        self._own = torch.from_numpy(place).to(device)
        on_device = torch.device(device).type == "cuda" or inner.prefers_torch
        solver = inner.on_device(own.state, torch.float64, device) if on_device else None
        self._solver: LinearMap = solver or HostSolver(inner, own.state)

    def solve(self, r: Tensor) -> Tensor:
        """(n + g, ...) with the halo -> the part's own values."""
        return self._solver.apply(r[self._wide]).to(r.device)[self._own]

    def add_transposed(self, r: Tensor, to: Tensor) -> None:
        """Add the transpose of `solve`, of r (n, ...), to (n + g, ...)."""
        right = r.new_zeros(len(self._wide), *r.shape[1:])
        right[self._own] = r[self.rows]
        to.index_add_(0, self._wide, self._solver.apply_transpose(right).to(r.device))


class _Coarse:
    """F K^-1 T^T r, and what is left of r."""

    def __init__(
        self,
        functions: sp.csr_matrix,
        tests: sp.csr_matrix,
        image: sp.csr_matrix,
        inverse: Tensor,
        shards: Shards,
        device: torch.device | str,
    ) -> None:
        self._team, self._inverse, here = shards.team, inverse, shards.here
        self._functions = csr_tensor(sp.csr_matrix(functions[here]), torch.float64, device)
        self._tests = csr_tensor(sp.csr_matrix(tests[here].T), torch.float64, device)
        self._image = csr_tensor(sp.csr_matrix(image)[here], torch.float64, device)

    def correct(self, r: Tensor, last: bool = False) -> tuple[Tensor, Tensor]:
        """The correction x (n, ...) and r - A x; r itself where it is the `last`, and nobody asks."""
        amounts = self._inverse @ self._team.sum(self._tests @ r)
        return self._functions @ amounts, r if last else r - self._image @ amounts
