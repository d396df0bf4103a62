"""u -> W P^-1 (A u - b) as one differentiable torch operation, for every A and P that are linear maps of tensors."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from .maps import Same
from .protocol import DeviceSolver, LinearMap
from .torch_sparse import scale_rows

Multiply = Callable[[Tensor, bool], Tensor]
"""A linear map or its transpose: (v, transpose) -> tensor, outside of autograd."""


class WeightedInverse:
    """W P^-1 with W = diag(sqrt(weights)), in double precision.

    Args:
        solver: P^-1.
        root: sqrt(weights), in the shape of what the solver takes, on the device of the results.
    """

    def __init__(self, solver: LinearMap, root: Tensor) -> None:
        self._solver, self._root = solver, root

    def apply(self, r: Tensor) -> Tensor:
        """W P^-1 r."""
        return scale_rows(self._root, self._solver.apply(r).to(self._root.device))

    def apply_transpose(self, r: Tensor) -> Tensor:
        """P^-T W r."""
        return self._solver.apply_transpose(scale_rows(self._root, r))


class Explicit(Protocol):
    """W P^-1 A as an explicit matrix: dense or diagonal."""

    @property
    def T(self) -> Explicit:
        """Its transpose."""

    def __matmul__(self, u: Tensor) -> Tensor:
        """Its product with u (N,) or (N, k), differentiable."""


class Diagonal:
    """diag(d), d (N,)."""

    def __init__(self, d: Tensor) -> None:
        self._d = d

    @property
    def T(self) -> Diagonal:
        """The same."""
        return self

    def __matmul__(self, u: Tensor) -> Tensor:
        return scale_rows(self._d, u)


class Preconditioned:
    """The map u -> W P^-1 (A u - b), for training in a given precision on a given device.

    Products and solves are in double precision whatever the precision of u is, because the condition of A would eat up a
    single one.

    Args:
        matrix: A.
        solver: P^-1.
        b: right-hand side, in the shape of what A and P take: (N,), or (L, n) with N = L n.
        weights: (N,) of the norm.
        dtype, device: of u (N,).
        explicit: W P^-1 A, if it is to be multiplied as a matrix.

    Attributes:
        target_norm: ||W P^-1 b||, the natural scale of the residual.
    """

    def __init__(
        self,
        matrix: LinearMap,
        solver: DeviceSolver,
        b: Tensor,
        weights: np.ndarray | Tensor,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str | None = None,
        explicit: Explicit | None = None,
    ) -> None:
        self.matrix, self.solver, self._explicit = matrix, solver, explicit
        self.dtype, self.device = dtype, b.device if device is None else torch.device(device)
        self._solved = solver.apply(b)  # where P is
        self._weigh(weights)

    def _weigh(self, weights: np.ndarray | Tensor) -> None:
        self.weights: Any = weights  # as given: an array, or a tensor
        root = torch.as_tensor(weights, dtype=torch.float64).sqrt().reshape(self._solved.shape)
        right = (root.to(self._solved.device) * self._solved).reshape(-1)
        self.target_norm = float(right.norm())
        self._root, self._rhs = root.to(self.device), right.to(self.device, self.dtype)

    def reweighted(self, weights: np.ndarray) -> Preconditioned:
        """The same with other weights (N,) of the norm."""
        assert self._explicit is None
        other = copy(self)
        other._weigh(weights)
        return other

    def __call__(self, u: Tensor) -> Tensor:
        """(N,) -> (N,), differentiable in u."""
        return self.apply(u) - self._rhs

    def apply(self, u: Tensor) -> Tensor:
        """W P^-1 A u for u (N,), or (N, k) where A and P take columns, differentiable in u."""
        return linear(u, self.multiply) if self._explicit is None else self._explicit @ u

    def apply_transpose(self, r: Tensor) -> Tensor:
        """A^T P^-T W r."""
        return self.multiply(r, transpose=True) if self._explicit is None else self._explicit.T @ r

    def multiply(self, v: Tensor, transpose: bool) -> Tensor:
        """W P^-1 A v or its transpose, outside of autograd."""
        x = v.detach().to(torch.float64)
        x = x.reshape(self._solved.shape) if v.dim() == 1 else x
        inverse = WeightedInverse(self.solver, self._root)
        if transpose:
            y = self.matrix.apply_transpose(inverse.apply_transpose(x))
        else:
            y = inverse.apply(self.matrix.apply(x))
        return y.reshape(v.shape).to(self.device, self.dtype)

    def describe(self) -> dict[str, Any]:
        """P, for the report."""
        return self.solver.describe()


def misfit(
    u_h: np.ndarray | Tensor,
    weights: np.ndarray | Tensor,
    dtype: torch.dtype,
    device: torch.device,
    name: str = "misfit",
) -> Preconditioned:
    """Plain regression as a preconditioned residual: A = P = I and b the values to be fitted, u -> W (u - u_h)."""
    same = Same(name)
    root = torch.as_tensor(weights, dtype=torch.float64).sqrt()
    return Preconditioned(same, same, torch.as_tensor(u_h), weights, dtype, device, Diagonal(root.to(device, dtype)))


def linear(v: Tensor, multiply: Multiply) -> Tensor:
    """A linear map of v, differentiable in v by the map's transpose."""
    result: Tensor = _Linear.apply(v, multiply)
    return result


class _Linear(torch.autograd.Function):
    """The one autograd wrapper: a linear map (v, transpose) -> tensor; forward the map, backward its transpose."""

    @staticmethod
    def forward(ctx: Any, v: Tensor, multiply: Multiply) -> Tensor:
        ctx.multiply = multiply
        return multiply(v, False)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return ctx.multiply(gradients[0], True), None
