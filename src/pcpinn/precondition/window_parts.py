"""P in parts for the steps of a march: all time levels of a node belong to one part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..discretize.window import MarchSpace, WindowMatrix
from ..team import present_team
from .preconditioned import Preconditioned
from .refined import RefinedSolver
from .schwarz import FittedSchwarz, Schwarz, SchwarzState


def fitted_to_levels(recipe: Schwarz, space: MarchSpace, levels: int) -> FittedSchwarz:
    """`Schwarz` for so many time levels of a problem in space; refinement is left to those who know the present matrix."""
    nodes, components = space.form.space.unknown_nodes, np.asarray(space.form.space.unknown_components)
    of_level = np.arange(levels)[:, None] * (int(components.max()) + 1) + components
    bare = replace(recipe, refinement=0)
    return FittedSchwarz(bare, np.tile(nodes, (levels, 1)), of_level.ravel(), False, present_team())


class WindowParts:
    """P^-1 for windows of the same shape, for as long as it is good enough; as `StageSolver` is."""

    def __init__(self, recipe: Schwarz, matrix: WindowMatrix) -> None:
        layers = matrix.layers
        self.recipe, self.length, self.first = recipe, layers.length, layers.first and layers.history > 1
        self._fitted = fitted_to_levels(recipe, matrix.space, layers.count)
        self._state: SchwarzState = self._fitted.build(matrix.to_scipy())
        self._device = matrix.space.device
        self._solver = self._fitted.on_device(self._state, torch.float64, self._device)

    def fits(self, matrix: WindowMatrix) -> bool:
        """Whether a window has steps of the same kind and length."""
        layers = matrix.layers
        first = layers.first and layers.history > 1
        return abs(layers.length - self.length) <= 1e-9 * self.length and first == self.first

    def apply(self, R: Tensor, matrix: WindowMatrix) -> Tensor:
        """P^-1 R (L, n) of the whole."""
        shards = self._state.shards
        own = R.reshape(-1)[torch.from_numpy(shards.here).to(R.device)]
        return shards.whole(self._solver.apply(own)).reshape(R.shape)

    def residual(self, matrix: WindowMatrix, b: Tensor, weights: np.ndarray, refinement: int) -> Preconditioned:
        """u -> W P^-1 (A u - b) of the degrees of freedom that this process holds."""
        rows = self._fitted.rows_of(self._state, matrix.to_scipy(), self._device)
        facts = self._fitted.describe(self._state) | {"setup_s": round(self._state.setup_s, 3)}
        solver = _Described(self._solver, rows, refinement, {"name": "schwarz", **facts})
        return PartedWindow(self._fitted, self._state, rows, solver, b, weights)


class _Described(RefinedSolver):
    """A refined solver that says what it is made of."""

    def __init__(self, inner: Any, A: Any, steps: int, facts: dict[str, Any]) -> None:
        super().__init__(inner, A, steps)
        self._facts = facts

    def describe(self) -> dict[str, Any]:
        """Facts about P and the number of refinements."""
        return {**self._facts, "refinement": self._steps}


class PartedWindow(Preconditioned):
    """The preconditioned residual of a window, on the degrees of freedom of this process.

    Args:
        fitted, state: P.
        rows: of A; solver: P^-1, refined with these.
        b: right-hand side (L, n) of the whole.
        weights: (L n,) of the norm.
    """

    def __init__(
        self, fitted: FittedSchwarz, state: SchwarzState, rows: Any, solver: _Described, b: Tensor, weights: np.ndarray
    ) -> None:
        self._fitted, self._state, self._all_weights = fitted, state, weights
        self.here = state.shards.here
        self._here = torch.from_numpy(self.here).to(b.device)
        super().__init__(rows, solver, self._own(b), weights[self.here], team=fitted.team)

    def _own(self, R: Tensor) -> Tensor:
        return R.reshape(-1)[self._here]

    def correction(self, F: Tensor) -> Tensor:
        """P^-1 F (L, n) of the whole."""
        return self._state.shards.whole(self.solver.apply(self._own(F))).reshape(F.shape)

    def toward(self, u: Tensor, F: Tensor, length: float) -> Preconditioned:
        """The same with b = A u - length F."""
        whole = self._state.shards.whole(self.matrix.apply(self._own(u))).reshape(u.shape)
        assert isinstance(self.solver, _Described)
        b = whole - length * F
        return PartedWindow(self._fitted, self._state, self.matrix, self.solver, b, self._all_weights)
