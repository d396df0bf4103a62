"""A P that was built before, for a matrix that has changed little since."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from .protocol import DeviceSolver, Preconditioner
from .quality import Quality


@dataclass(frozen=True)
class Kept:
    """`build` returns the state of an earlier matrix.

    Attributes:
        preconditioner, state: P.
        quality: of P for the new matrix, if it was measured.
    """

    preconditioner: Preconditioner
    state: Any
    quality: Quality | None = None

    @property
    def name(self) -> str:
        """That of P."""
        return self.preconditioner.name

    @property
    def prefers_torch(self) -> bool:
        """As P does."""
        return self.preconditioner.prefers_torch

    def build(self, A: sp.csr_matrix) -> Any:
        """The state, as it was."""
        return self.state

    def apply(self, state: Any, r: np.ndarray) -> np.ndarray:
        """P^-1 r."""
        return self.preconditioner.apply(state, r)

    def apply_transpose(self, state: Any, r: np.ndarray) -> np.ndarray:
        """P^-T r."""
        return self.preconditioner.apply_transpose(state, r)

    def on_device(
        self, state: Any, dtype: torch.dtype, device: torch.device | str, columns: int = 1
    ) -> DeviceSolver | None:
        """P for tensors on a device."""
        return self.preconditioner.on_device(state, dtype, device, columns)

    def describe(self, state: Any) -> dict[str, Any]:
        """Facts about P."""
        return self.preconditioner.describe(state)
