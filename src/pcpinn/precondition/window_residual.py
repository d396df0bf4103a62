"""The residual that a window of a march is trained on: u -> W P^-1 (A u - b), with A and P of its steps."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..discretize.window import WindowMatrix
from .operator import Apply
from .stages import StageSolver


class WindowResidual:
    """u -> W P^-1 (A u - b) on flat unknowns (L n,), differentiable: what the training of a window sees.

    Args:
        matrix: A = F'(u_0).
        right: b = A u_0 - F(u_0), (L, n).
        solver: P.
        weights: (L n,) of the norm.
        refinement: steps x <- x + P^-1 (r - A x) after each application of P^-1.
    """

    def __init__(
        self, matrix: WindowMatrix, right: Tensor, solver: StageSolver, weights: np.ndarray, refinement: int = 0
    ) -> None:
        self.matrix, self.solver, self.weights, self.refinement = matrix, solver, weights, refinement
        self.device, self.dtype = right.device, torch.float64
        self._shape = right.shape
        self._root = torch.from_numpy(np.sqrt(weights)).to(self.device)
        self._solved = self.inverse(right).reshape(-1)
        self._right = self._root * self._solved
        self.target_norm = float(self._right.norm())

    def reweighted(self, weights: np.ndarray) -> WindowResidual:
        """The same with other weights (L n,) of the norm."""
        other = copy(self)
        other.weights = weights
        other._root = torch.from_numpy(np.sqrt(weights)).to(self.device)
        other._right = other._root * self._solved
        other.target_norm = float(other._right.norm())
        return other

    def __call__(self, u: Tensor) -> Tensor:
        """(L n,) -> (L n,)."""
        return self.apply(u) - self._right

    def apply(self, u: Tensor) -> Tensor:
        """W P^-1 A u, differentiable in u."""
        return Apply.apply(u, self)

    def apply_transpose(self, r: Tensor) -> Tensor:
        """A^T P^-T W r."""
        return self.multiply(r, transpose=True)

    def multiply(self, v: Tensor, transpose: bool) -> Tensor:
        """W P^-1 A v or its transpose, outside of autograd."""
        v = v.detach()
        if transpose:
            y = self.inverse_transpose((self._root * v).reshape(self._shape))
            return self.matrix.apply_transpose(y).reshape(-1)
        return self._root * self.inverse(self.matrix.apply(v.reshape(self._shape))).reshape(-1)

    def inverse(self, R: Tensor) -> Tensor:
        """P^-1 R, refined."""
        X = self.solver.apply(R, self.matrix)
        for _ in range(self.refinement):
            X = X + self.solver.apply(R - self.matrix.apply(X), self.matrix)
        return X

    def inverse_transpose(self, R: Tensor) -> Tensor:
        """P^-T R, refined."""
        X = self.solver.apply_transpose(R, self.matrix)
        for _ in range(self.refinement):
            X = X + self.solver.apply_transpose(R - self.matrix.apply_transpose(X), self.matrix)
        return X

    def describe(self) -> dict[str, Any]:
        """For the report."""
        return {**self.solver.describe(), "refinement": self.refinement}
