"""P of a window by factors of its whole matrix: for steps whose matrices differ too much from stage to stage for their mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..discretize.linear_solves import Factors
from ..discretize.window import WindowMatrix
from .preconditioned import Preconditioned
from .stages import BoundWindow, window_residual

MOST_ROWS = 60_000  # that are factorised


class WholeWindow:
    """A^-1 and A^-T on (L, n) of one window.

    Raises:
        PcpinnError: when its matrix is singular.
    """

    def __init__(self, matrix: WindowMatrix) -> None:
        self._factors = Factors(matrix.to_scipy())

    def fits(self, matrix: WindowMatrix) -> bool:
        """Of its own window alone."""
        return False

    def apply(self, R: Tensor, matrix: WindowMatrix) -> Tensor:
        """A^-1 R (L, n)."""
        return _like(R, self._factors.apply(R.cpu().numpy().ravel()))

    def apply_transpose(self, R: Tensor, matrix: WindowMatrix) -> Tensor:
        """A^-T R (L, n)."""
        return _like(R, self._factors.apply_transpose(R.cpu().numpy().ravel()))

    def residual(self, matrix: WindowMatrix, b: Tensor, weights: np.ndarray, refinement: int) -> Preconditioned:
        """u -> W P^-1 (A u - b) of a window; see `window_residual`."""
        return window_residual(matrix, b, self, weights, refinement)

    def on(self, matrix: WindowMatrix) -> BoundWindow:
        """P^-1 for the window."""
        return BoundWindow(self, matrix)

    def describe(self) -> dict[str, Any]:
        """For the report."""
        return {"name": "stages", "solves": "whole steps"}


def _like(R: Tensor, x: np.ndarray) -> Tensor:
    return torch.from_numpy(x).to(R).view_as(R)
