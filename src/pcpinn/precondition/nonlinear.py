"""u -> W P^-1 F(u) for a nonlinear F, with P of its linear part: what the paper trains on where it does not linearise."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

import torch
from torch import Tensor

from .preconditioned import Preconditioned, WeightedInverse, linear


class NonlinearResidual(Preconditioned):
    """The map u -> W P^-1 (A u - b + N(u)), differentiable through all of it, N included.

    `apply` and `apply_transpose` are still those of the linear part A, which is not the derivative: optimisers that need more
    than the gradient of the loss have no use for it.

    Args:
        model: the same without N: weights, P, precision.
        equation: F, on tensors in the shape that A and P take, differentiable by autograd. F(u) = A u - b + N(u).
    """

    def __init__(self, model: Preconditioned, equation: Callable[[Tensor], Tensor]) -> None:
        self.__dict__.update(copy(model).__dict__)
        self._equation = equation

    def __call__(self, u: Tensor) -> Tensor:
        """(N,) -> (N,), differentiable in u."""
        F = self._equation(u.to(self._solved.device, torch.float64).reshape(self._solved.shape))
        return linear(F, self._solve).reshape(-1).to(self.device, self.dtype)

    def _solve(self, r: Tensor, transpose: bool) -> Tensor:
        inverse = WeightedInverse(self.solver, self._root.to(r.device))
        return inverse.apply_transpose(r) if transpose else inverse.apply(r)
