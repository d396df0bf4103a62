"""Plain regression as a preconditioned residual: A = P = I and b the values to be fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from .diagonal import Identity
from .operator import PreconditionedResidual


class Misfit(PreconditionedResidual):
    """The map u -> W (u - u_h): the residual of the identity, kept on the device as the diagonal that it is."""

    def __init__(
        self, u_h: np.ndarray, weights: np.ndarray, dtype: torch.dtype, device: torch.device, name: str = "misfit"
    ) -> None:
        identity = sp.identity(len(u_h), format="csr")
        self._name = name
        super().__init__(identity, u_h, Identity(), weights, dense=False, dtype=dtype, device=device)
        self._diagonal = torch.as_tensor(np.sqrt(weights), dtype=dtype, device=device)

    def apply(self, u: Tensor) -> Tensor:
        """W u for u (N,) or (N, k), differentiable in u."""
        return u * (self._diagonal if u.ndim == 1 else self._diagonal[:, None])

    def apply_transpose(self, r: Tensor) -> Tensor:
        """W r."""
        return self.apply(r)

    def describe(self) -> dict[str, Any]:
        """Facts for the report."""
        return {"name": self._name}
