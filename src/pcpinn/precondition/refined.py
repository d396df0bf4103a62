"""Any preconditioner made better by a fixed number of Richardson steps: x <- x + P^-1 (r - A x)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..errors import PcpinnError
from .protocol import DeviceSolver, Preconditioner
from .torch_sparse import csr_tensor


@dataclass(frozen=True)
class RefinedState:
    """The matrix, its transpose in rows, and the state of the inner preconditioner."""

    A: sp.csr_matrix
    At: sp.csr_matrix
    inner: Any


@dataclass(frozen=True)
class Refined:
    """P_s with I - P_s^-1 A = (I - P^-1 A)^(steps + 1): still linear, still with an exact transpose.

    It helps where I - P^-1 A contracts, and makes things worse where it does not.

    Attributes:
        inner: P.
        steps: refinements; 0 leaves P as it is.
    """

    inner: Preconditioner
    steps: int = 1

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise PcpinnError(
                f"refinement={self.steps} is negative", "give the number of refinement steps: 0, 1, 2, ..."
            )

    @property
    def name(self) -> str:
        """The inner preconditioner's."""
        return self.inner.name

    @property
    def prefers_torch(self) -> bool:
        """The inner preconditioner's."""
        return self.inner.prefers_torch

    def build(self, A: sp.csr_matrix) -> RefinedState:
        """Build P and keep A."""
        return self.around(A, self.inner.build(A))

    def around(self, A: sp.csr_matrix, inner: Any) -> RefinedState:
        """The state from a P that is built already."""
        return RefinedState(A, sp.csr_matrix(A.T), inner)

    def apply(self, state: RefinedState, r: np.ndarray) -> np.ndarray:
        """P_s^-1 r."""
        x = self.inner.apply(state.inner, r)
        for _ in range(self.steps):
            x = x + self.inner.apply(state.inner, r - state.A @ x)
        return x

    def apply_transpose(self, state: RefinedState, r: np.ndarray) -> np.ndarray:
        """P_s^-T r: the same steps with the transposes."""
        x = self.inner.apply_transpose(state.inner, r)
        for _ in range(self.steps):
            x = x + self.inner.apply_transpose(state.inner, r - state.At @ x)
        return x

    def on_device(
        self, state: RefinedState, dtype: torch.dtype, device: torch.device | str, columns: int = 1
    ) -> RefinedSolver | None:
        """The inner solver and A as tensors, or None if the inner one has no such form."""
        inner = self.inner.on_device(state.inner, dtype, device, columns)
        if inner is None:
            return None
        A, At = (csr_tensor(M, dtype, device) for M in (state.A, state.At))
        return RefinedSolver(inner, A, At, self.steps)

    def describe(self, state: RefinedState) -> dict[str, Any]:
        """The inner preconditioner's facts and the number of steps."""
        return {**self.inner.describe(state.inner), "refinement": self.steps}


class RefinedSolver:
    """`Refined` on tensors."""

    def __init__(self, inner: DeviceSolver, A: Tensor, At: Tensor, steps: int) -> None:
        self._inner, self._A, self._At, self._steps = inner, A, At, steps

    def apply(self, r: Tensor) -> Tensor:
        """P_s^-1 r for r (N,) or (N, k)."""
        x = self._inner.apply(r)
        for _ in range(self._steps):
            x = x + self._inner.apply(r - self._A @ x)
        return x

    def apply_transpose(self, r: Tensor) -> Tensor:
        """P_s^-T r for r (N,) or (N, k)."""
        x = self._inner.apply_transpose(r)
        for _ in range(self._steps):
            x = x + self._inner.apply_transpose(r - self._At @ x)
        return x

    def describe(self) -> dict[str, Any]:
        """The inner solver's facts."""
        return self._inner.describe()
