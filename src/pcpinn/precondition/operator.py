"""u -> P^-1 (A u - b) as one differentiable torch operation, dense or sparse, for every preconditioner alike."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..errors import PcpinnError
from .protocol import Preconditioner

_DENSE_BYTES = 2 * 2**30  # on a CPU a dense matrix pays only while it fits in caches; on a GPU, while it fits at all
_BLOCK = 512


class PreconditionedResidual:
    """The map u -> W P^-1 (A u - b) with W = diag(sqrt(weights)), for training in a given precision on a given device.

    Attributes:
        preconditioner, state: P.
        dense: whether P^-1 A is held as a dense matrix.
        setup_s: seconds spent building P (and P^-1 A).
        target_norm: ||W P^-1 b||, the natural scale of the residual.
    """

    def __init__(
        self,
        A: sp.csr_matrix,
        b: np.ndarray,
        preconditioner: Preconditioner,
        weights: np.ndarray,
        dense: bool | str = "auto",
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> None:
        started = time.perf_counter()
        self.preconditioner, self.dtype, self.device = preconditioner, dtype, torch.device(device)
        self.A, self.weights = A, weights
        self._scale = np.sqrt(weights)
        self.state = preconditioner.build(A)
        rhs = self._scale * preconditioner.apply(self.state, b)
        self.target_norm = float(np.linalg.norm(rhs))
        self._rhs = torch.as_tensor(rhs, dtype=dtype, device=self.device)
        self.dense = self._choose(dense)
        self._matrix = self._dense_matrix() if self.dense else None
        self.setup_s = time.perf_counter() - started

    def __call__(self, u: Tensor) -> Tensor:
        """(N,) -> (N,), differentiable in u."""
        return self.apply(u) - self._rhs

    def apply(self, u: Tensor) -> Tensor:
        """W P^-1 A u for u (N,) or (N, k), differentiable in u."""
        if self._matrix is not None:
            return self._matrix @ u
        return _Apply.apply(u, self)

    def apply_transpose(self, r: Tensor) -> Tensor:
        """A^T P^-T W r."""
        return self._matrix.T @ r if self._matrix is not None else self._on_host(r, transpose=True)

    def _on_host(self, v: Tensor, transpose: bool) -> Tensor:
        x = v.detach().to("cpu", torch.float64).numpy()
        if transpose:
            y = self.A.T @ self.preconditioner.apply_transpose(self.state, (x.T * self._scale).T)
        else:
            y = (self.preconditioner.apply(self.state, self.A @ x).T * self._scale).T
        return torch.from_numpy(y).to(self.device, self.dtype)

    def _choose(self, dense: bool | str) -> bool:
        if dense not in (True, False, "auto"):
            raise PcpinnError(f"dense={dense!r} is not a choice", "use auto, true or false")
        needed = self.A.shape[0] ** 2 * torch.finfo(self.dtype).bits // 8
        if dense == "auto":
            if self.device.type == "cuda":
                return needed < 0.25 * torch.cuda.mem_get_info(self.device)[0]
            return needed < 8 * 2**20  # beyond a few megabytes two triangular solves are cheaper than a dense product
        if dense and self.device.type == "cpu" and needed > _DENSE_BYTES * 4:
            raise PcpinnError(
                f"a dense P^-1 A of {self.A.shape[0]} unknowns needs {needed / 2**30:.1f} GiB",
                "use dense=false or a coarser mesh",
            )
        return bool(dense)

    def _dense_matrix(self) -> Tensor:
        n = self.A.shape[0]
        result = torch.empty((n, n), dtype=self.dtype, device=self.device)
        columns = self.A.tocsc()
        for start in range(0, n, _BLOCK):
            part = columns[:, start : start + _BLOCK].toarray()
            block = (self.preconditioner.apply(self.state, part).T * self._scale).T
            result[:, start : start + _BLOCK] = torch.as_tensor(block, dtype=self.dtype)
        return result

    def describe(self) -> dict[str, Any]:
        """Name, settings and facts for the report."""
        return {
            "name": self.preconditioner.name,
            **self.preconditioner.describe(self.state),
            "dense": self.dense,
            "setup_s": round(self.setup_s, 3),
        }


class _Apply(torch.autograd.Function):
    """The one autograd wrapper: forward P^-1 A, backward its transpose."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, operator: PreconditionedResidual) -> Tensor:
        ctx.operator = operator
        return operator._on_host(u, transpose=False)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return ctx.operator._on_host(gradients[0], transpose=True), None
