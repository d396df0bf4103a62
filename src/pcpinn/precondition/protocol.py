"""What a preconditioner is: P ~ A, with P^-1 and its transpose cheap to apply, on the host and on a device."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor


class LinearMap(Protocol):
    """A linear map of tensors of one shape, and its transpose; most take columns (N, k) as well."""

    def apply(self, r: Tensor) -> Tensor:
        """M r."""

    def apply_transpose(self, r: Tensor) -> Tensor:
        """M^T r."""


class DeviceSolver(LinearMap, Protocol):
    """P^-1 and P^-T by torch operations alone, where the tensors are: nothing visits the host."""

    def describe(self) -> dict[str, Any]:
        """How it works and how exactly, for the report; plain numbers and strings."""


class Preconditioner(Protocol):
    """A recipe for P. `build` makes the state (a factorisation, say) once; the state is then reused.

    Implementations are frozen dataclasses whose fields are the settings; they know nothing of networks.
    """

    @property
    def name(self) -> str:
        """How settings and reports refer to it."""

    @property
    def prefers_torch(self) -> bool:
        """Whether the torch form is the better one on a CPU too."""

    def build(self, A: sp.csr_matrix) -> Any:
        """Prepare P for a sparse matrix (N, N).

        Raises:
            PcpinnError: when P cannot be made, with the remedy.
        """

    def apply(self, state: Any, r: np.ndarray) -> np.ndarray:
        """P^-1 r for r of shape (N,) or (N, k)."""

    def apply_transpose(self, state: Any, r: np.ndarray) -> np.ndarray:
        """P^-T r for r of shape (N,) or (N, k)."""

    def on_device(
        self, state: Any, dtype: torch.dtype, device: torch.device | str, columns: int = 1
    ) -> DeviceSolver | None:
        """The same P for tensors on a device; None when there is only the host form.

        Args:
            columns: how many right-hand sides at a time it is meant for; it may choose its method by that.
        """

    def describe(self, state: Any) -> dict[str, Any]:
        """Settings and facts for the report (fill, for instance); plain numbers and strings."""
