"""P of a march: one for window after window, for as long as it is good."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ...discretize.window import Window, WindowMatrix
from ...precondition import Preconditioned, Schwarz
from ...precondition.stages import Stages, StageSolver
from ...precondition.whole_window import MOST_ROWS, WholeWindow
from ...precondition.window_parts import WindowParts

_SLOW = 0.3  # a P that leaves more than this of a correction is rebuilt
_GOOD = 0.05  # and refined until it leaves no more than this
_MOST_REFINED = 8


class KeptP:
    """Builds P, tells whether it is still good, and refines it where it is not quite.

    Args:
        recipe: how to build it.
        refinement: least number of refinements.
        constant: the matrix never changes, so P needs no second look.
        timed: its coefficients depend on time: where its stages differ much for that, P is made of all of them.

    Attributes:
        built: how often it was built.
        stale: build it anew at the next chance, unless the matrix is constant.
        operator: the last preconditioned residual.
    """

    def __init__(self, recipe: Stages | Schwarz, refinement: int, constant: bool, timed: bool = False) -> None:
        self.recipe, self.refinement, self.constant, self.timed = recipe, refinement, constant, timed
        self.built, self.stale = 0, True
        self.operator: Preconditioned | None = None
        self._solver: StageSolver | WindowParts | WholeWindow | None = None

    def residual(
        self, matrix: WindowMatrix, F: Tensor, U: Tensor, weights: np.ndarray, norm: Callable[[Tensor], float]
    ) -> Preconditioned:
        """V -> W P^-1 (A V - b) with b = A U - F, the model at U (L, n) with residual F (L, n)."""
        before = self.built
        if self._solver is None or not self._solver.fits(matrix) or (self.stale and not self.constant):
            self._build(matrix)
        refinement = self.refinement
        if not self.constant:
            left = self._left_by(matrix, F, norm)
            if left > _SLOW and self.built == before:
                self._build(matrix)
                left = self._left_by(matrix, F, norm)
            if left > _SLOW and self.timed and self.recipe == self.exact and F.numel() <= MOST_ROWS:
                self._solver, left = WholeWindow(matrix), 0.0
            if _GOOD < left < 1:
                refinement = max(refinement, min(_MOST_REFINED, math.ceil(math.log(_GOOD) / math.log(left))))
        self.stale = False
        assert self._solver is not None
        self.operator = self._solver.residual(matrix, matrix.apply(U) - F, weights, refinement)
        return self.operator

    def restore(self, window: Window) -> None:
        """Build P in the window where a march that goes on had built it, if it is to serve on.

        Not in the window at hand: lengths of steps, 0.6 - 0.4 and 0.2, differ by rounding, and so would all that follows.
        """
        if self.constant:
            self._build(window.linearise(torch.zeros(window.layers.count, window.space.size).to(window.known)))

    @property
    def exact(self) -> Stages:
        """How a window is solved for its discrete solution."""
        return self.recipe.exact if isinstance(self.recipe, Stages) else Stages()

    @property
    def at_hand(self) -> Callable[[Tensor], Tensor] | None:
        """The last P^-1, if it serves for the discrete solution, too: one that is made for training alone would not converge."""
        if self.operator is None or (isinstance(self.recipe, Stages) and self.exact != self.recipe):
            return None
        return self.operator.correction

    def _build(self, matrix: WindowMatrix) -> None:
        self._solver = None  # its memory first
        recipe = self.recipe
        self._solver = recipe.build(matrix) if isinstance(recipe, Stages) else WindowParts(recipe, matrix)
        self.built += 1

    def _left_by(self, matrix: WindowMatrix, F: Tensor, norm: Callable[[Tensor], float]) -> float:
        """Which part of a correction one application of P^-1 leaves: ||(I - P^-1 A) P^-1 F|| / ||P^-1 F||."""
        assert self._solver is not None
        move = self._solver.apply(F, matrix)
        left = move - self._solver.apply(matrix.apply(move), matrix)
        return norm(left) / (norm(move) or 1.0)
