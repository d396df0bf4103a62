"""Discrete functions as modules, so that an answer without networks is a `Solution` like any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn


class NodalFunction(nn.Module):
    """Nodal values, interpolated: points (m, d) -> (m, C). It has no derivatives by the points.

    Args:
        values: (N,).
        matrices: points (m, d) -> one sparse matrix (m, N) per component.
        inputs: number of coordinates it takes; of points with more (time) the first count.
    """

    def __init__(self, values: np.ndarray, matrices: Callable[[np.ndarray], list[Any]], inputs: int) -> None:
        super().__init__()
        self.theta = nn.Parameter(torch.as_tensor(np.array(values, dtype=np.float64)), requires_grad=False)
        self.inputs, self._matrices = inputs, matrices

    @property
    def base(self) -> NodalFunction:
        """Itself, as coefficients have a network as their base."""
        return self

    def forward(self, x: Tensor) -> Tensor:
        """Values at points."""
        points = x.detach().cpu().numpy()[..., : self.inputs].astype(np.float64)
        values = self.theta.detach().cpu().numpy()
        return torch.as_tensor(np.stack([m @ values for m in self._matrices(points)], axis=-1))


class NodalCoefficient(NodalFunction):
    """The same for a coefficient: (m, d) -> (m,)."""

    def forward(self, x: Tensor) -> Tensor:
        """Values at points."""
        return super().forward(x)[..., 0]
