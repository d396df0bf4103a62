"""Matrices and preconditioners as linear maps of tensors, on the host or on a device."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp
import torch
from torch import Tensor

from .protocol import Preconditioner
from .torch_sparse import csr_tensor


class HostMatrix:
    """A sparse matrix on the host: takes tensors from anywhere, gives tensors on the host."""

    def __init__(self, A: sp.csr_matrix) -> None:
        self._A = A

    def apply(self, r: Tensor) -> Tensor:
        """A r for r (N,) or (N, k)."""
        return torch.from_numpy(self._A @ r.cpu().numpy())

    def apply_transpose(self, r: Tensor) -> Tensor:
        """A^T r for r (N,) or (N, k)."""
        return torch.from_numpy(self._A.T @ r.cpu().numpy())


class DeviceMatrix:
    """A sparse matrix and its transpose as tensors on a device."""

    def __init__(self, A: sp.csr_matrix, dtype: torch.dtype, device: torch.device | str) -> None:
        self._A, self._At = (csr_tensor(sp.csr_matrix(M), dtype, device) for M in (A, A.T))

    def apply(self, r: Tensor) -> Tensor:
        """A r for r (N,) or (N, k)."""
        return self._A @ r

    def apply_transpose(self, r: Tensor) -> Tensor:
        """A^T r for r (N,) or (N, k)."""
        return self._At @ r


class HostSolver:
    """P^-1 of a preconditioner on the host: takes tensors from anywhere, gives tensors on the host."""

    def __init__(self, preconditioner: Preconditioner, state: Any) -> None:
        self._preconditioner, self._state = preconditioner, state

    def apply(self, r: Tensor) -> Tensor:
        """P^-1 r for r (N,) or (N, k)."""
        return torch.from_numpy(self._preconditioner.apply(self._state, r.cpu().numpy()))

    def apply_transpose(self, r: Tensor) -> Tensor:
        """P^-T r for r (N,) or (N, k)."""
        return torch.from_numpy(self._preconditioner.apply_transpose(self._state, r.cpu().numpy()))

    def describe(self) -> dict[str, Any]:
        """Nothing beyond what the preconditioner itself says."""
        return {}


class Same:
    """The identity, under the name that a report gives it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def apply(self, r: Tensor) -> Tensor:
        """r."""
        return r

    def apply_transpose(self, r: Tensor) -> Tensor:
        """r."""
        return r

    def describe(self) -> dict[str, Any]:
        """Its name."""
        return {"name": self._name}
