"""u -> P^-1 (A u - b) as one differentiable torch operation, dense or sparse, for every preconditioner alike."""

from __future__ import annotations

import time
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..errors import PcpinnError
from .auto import AutoILU, Tightened
from .dense import dense_on_device, dense_on_host
from .protocol import DeviceSolver, Preconditioner
from .quality import Quality, estimate_quality
from .torch_sparse import csr_tensor, scale_rows

_DENSE_BYTES = 2 * 2**30  # on a CPU a dense matrix pays only while it fits in caches; on a GPU, while it fits at all
_BLOCK = 512


class PreconditionedResidual:
    """The map u -> W P^-1 (A u - b) with W = diag(sqrt(weights)), for training in a given precision on a given device.

    On a GPU everything stays there; sparse products and solves are in double precision whatever the precision of u is,
    because the condition of A would eat up a single one.

    Args:
        A, b: (N, N) and (N,).
        preconditioner: P, or the wish for one (AutoILU), which needs the nodes.
        weights: (N,) of the norm.
        dense: whether to hold P^-1 A as a dense matrix: True, False or "auto".
        dtype, device: of u.
        nodes: (N, d) position of each unknown: then the quality of P is measured.
        components: (N,) which component an unknown belongs to; None for one.
        on_device: apply P by torch operations: True, False, or None to do so on a GPU and where P prefers it.

    Attributes:
        preconditioner, state: P.
        dense: whether P^-1 A is held as a dense matrix.
        setup_s: seconds spent building P (and P^-1 A).
        target_norm: ||W P^-1 b||, the natural scale of the residual.
        quality: how close P is to A, or None if not measured.
    """

    def __init__(
        self,
        A: sp.csr_matrix,
        b: np.ndarray,
        preconditioner: Preconditioner | AutoILU,
        weights: np.ndarray,
        dense: bool | str = "auto",
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
        nodes: np.ndarray | None = None,
        components: np.ndarray | None = None,
        on_device: bool | None = None,
    ) -> None:
        started = time.perf_counter()
        self.dtype, self.device = dtype, torch.device(device)
        self.A, self.weights = A, weights
        self._scale = np.sqrt(weights)
        self.dense = self._choose(dense)
        self._chosen: Tightened | None = None
        self.quality: Quality | None = None
        self.preconditioner, self.state = self._build(preconditioner, nodes, components)
        if on_device is None:
            on_device = self.device.type == "cuda" or self.preconditioner.prefers_torch
        self._solver = self._on_device() if on_device else None
        if self.quality is None and nodes is not None:
            self.quality = estimate_quality(self.A, self._apply_anywhere, nodes, weights, components)
        self._matrix = self._dense_matrix() if self.dense else None
        rhs = self._right_hand_side(b)
        self.target_norm = float(rhs.norm())
        self._rhs = rhs.to(self.device, dtype)
        self._solver_facts = {} if self._solver is None else self._solver.describe()
        if self.dense:
            self._solver = None  # it has done its work; its memory goes back
        self.setup_s = time.perf_counter() - started

    def __call__(self, u: Tensor) -> Tensor:
        """(N,) -> (N,), differentiable in u."""
        return self.apply(u) - self._rhs

    def apply(self, u: Tensor) -> Tensor:
        """W P^-1 A u for u (N,) or (N, k), differentiable in u."""
        if self._matrix is not None:
            return self._matrix @ u
        return Apply.apply(u, self)

    def apply_transpose(self, r: Tensor) -> Tensor:
        """A^T P^-T W r."""
        return self._matrix.T @ r if self._matrix is not None else self.multiply(r, transpose=True)

    def multiply(self, v: Tensor, transpose: bool) -> Tensor:
        """W P^-1 A v or its transpose, outside of autograd."""
        if self._solver is None:
            return self._on_host(v, transpose)
        x = v.detach().to(torch.float64)
        if transpose:
            y = self._At @ self._solver.apply_transpose(scale_rows(self._device_scale, x))
        else:
            y = scale_rows(self._device_scale, self._solver.apply(self._A @ x))
        return y.to(self.dtype)

    def _on_host(self, v: Tensor, transpose: bool) -> Tensor:
        x = v.detach().to("cpu", torch.float64).numpy()
        if transpose:
            y = self.A.T @ self.preconditioner.apply_transpose(self.state, (x.T * self._scale).T)
        else:
            y = (self.preconditioner.apply(self.state, self.A @ x).T * self._scale).T
        return torch.from_numpy(y).to(self.device, self.dtype)

    def _build(
        self, recipe: Preconditioner | AutoILU, nodes: np.ndarray | None, components: np.ndarray | None
    ) -> tuple[Preconditioner, Any]:
        if isinstance(recipe, AutoILU):
            if nodes is None:
                raise PcpinnError(
                    "drop_tolerance=auto needs the positions of the unknowns to measure the quality",
                    "pass nodes=..., or give drop_tolerance as a number",
                )
            self._chosen = recipe.choose(self.A, nodes, self.weights, components)
            self.quality = self._chosen.quality
            return self._chosen.preconditioner, self._chosen.state
        return recipe, recipe.build(self.A)

    def _apply_anywhere(self, r: np.ndarray) -> np.ndarray:
        """P^-1 r for arrays, where it is fastest."""
        if self._solver is None:
            return self.preconditioner.apply(self.state, r)
        columns = torch.from_numpy(np.ascontiguousarray(r)).to(self.device)
        return self._solver.apply(columns).cpu().numpy()

    def _on_device(self) -> DeviceSolver | None:
        columns = _BLOCK if self.dense else 1
        solver = self.preconditioner.on_device(self.state, torch.float64, self.device, columns)
        if solver is not None:
            self._device_scale = torch.from_numpy(self._scale).to(self.device, torch.float64)
            if not self.dense:
                self._A = csr_tensor(self.A, torch.float64, self.device)
                self._At = csr_tensor(sp.csr_matrix(self.A.T), torch.float64, self.device)
        return solver

    def _right_hand_side(self, b: np.ndarray) -> Tensor:
        """W P^-1 b in double precision, by the same P^-1 that u gets: the discrete solution has no residual then."""
        if self._solver is not None:
            r = torch.from_numpy(np.asarray(b, dtype=np.float64)).to(self.device)
            return self._device_scale * self._solver.apply(r)
        return torch.from_numpy(self._scale * self.preconditioner.apply(self.state, b))

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
        if self._solver is not None:
            return dense_on_device(self.A, self._solver, self._device_scale, self.dtype)
        return dense_on_host(self.A, self.preconditioner, self.state, self._scale, _BLOCK, self.dtype, self.device)

    def describe(self) -> dict[str, Any]:
        """Name, settings and facts for the report."""
        facts = {"name": self.preconditioner.name, **self.preconditioner.describe(self.state), "dense": self.dense}
        facts |= self._solver_facts
        if self.quality is not None:
            facts["quality"] = self.quality.describe()
        if self._chosen is not None:
            facts |= self._chosen.describe()
        return {**facts, "setup_s": round(self.setup_s, 3)}


class Multiplies(Protocol):
    """Whatever computes W P^-1 A v and its transpose, outside of autograd."""

    def multiply(self, v: Tensor, transpose: bool) -> Tensor:
        """W P^-1 A v, or A^T P^-T W v."""


class Apply(torch.autograd.Function):
    """The one autograd wrapper: forward P^-1 A, backward its transpose."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, operator: Multiplies) -> Tensor:  # noqa: D102
        ctx.operator = operator
        return operator.multiply(u, transpose=False)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:  # noqa: D102
        return ctx.operator.multiply(gradients[0], transpose=True), None
