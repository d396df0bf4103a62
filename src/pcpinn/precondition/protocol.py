"""What a preconditioner is: P ~ A, with P^-1 and its transpose cheap to apply."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp


class Preconditioner(Protocol):
    """A recipe for P. `build` makes the state (a factorisation, say) once; the state is then reused.

    Implementations are frozen dataclasses whose fields are the settings; they know nothing of networks.
    """

    @property
    def name(self) -> str:
        """How settings and reports refer to it."""

    def build(self, A: sp.csr_matrix) -> Any:
        """Prepare P for a sparse matrix (N, N).

        Raises:
            PcpinnError: when P cannot be made, with the remedy.
        """

    def apply(self, state: Any, r: np.ndarray) -> np.ndarray:
        """P^-1 r for r of shape (N,) or (N, k)."""

    def apply_transpose(self, state: Any, r: np.ndarray) -> np.ndarray:
        """P^-T r for r of shape (N,) or (N, k)."""

    def describe(self, state: Any) -> dict[str, Any]:
        """Settings and facts for the report (fill, for instance); plain numbers and strings."""
