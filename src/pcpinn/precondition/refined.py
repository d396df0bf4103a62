"""Any preconditioner made better by a fixed number of Richardson steps: x <- x + P^-1 (r - A x)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..discretize.equation import V
from ..errors import PcpinnError
from .maps import DeviceMatrix
from .protocol import DeviceSolver, LinearMap, Preconditioner


def refine(solve: Callable[[V], V], product: Callable[[V], V], r: V, steps: int) -> V:
    """x <- x + P^-1 (r - A x), starting from x = P^-1 r, a number of times."""
    x = solve(r)
    for _ in range(steps):
        x = x + solve(r - product(x))
    return x


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
        return refine(lambda v: self.inner.apply(state.inner, v), lambda v: state.A @ v, r, self.steps)

    def apply_transpose(self, state: RefinedState, r: np.ndarray) -> np.ndarray:
        """P_s^-T r: the same steps with the transposes."""
        return refine(lambda v: self.inner.apply_transpose(state.inner, v), lambda v: state.At @ v, r, self.steps)

    def on_device(
        self, state: RefinedState, dtype: torch.dtype, device: torch.device | str, columns: int = 1
    ) -> RefinedSolver | None:
        """The inner solver and A as tensors, or None if the inner one has no such form."""
        inner = self.inner.on_device(state.inner, dtype, device, columns)
        if inner is None:
            return None
        return RefinedSolver(inner, DeviceMatrix(state.A, dtype, device), self.steps)

    def describe(self, state: RefinedState) -> dict[str, Any]:
        """The inner preconditioner's facts and the number of steps."""
        return {**self.inner.describe(state.inner), "refinement": self.steps}


class RefinedSolver:
    """`Refined` on tensors: P^-1 is `inner`, A any map."""

    def __init__(self, inner: DeviceSolver, A: LinearMap, steps: int) -> None:
        self.inner, self._A, self._steps = inner, A, steps

    def apply(self, r: Tensor) -> Tensor:
        """P_s^-1 r."""
        return refine(self.inner.apply, self._A.apply, r, self._steps)

    def apply_transpose(self, r: Tensor) -> Tensor:
        """P_s^-T r."""
        return refine(self.inner.apply_transpose, self._A.apply_transpose, r, self._steps)

    def describe(self) -> dict[str, Any]:
        """The inner solver's facts and the number of steps."""
        return {**self.inner.describe(), "refinement": self._steps}
