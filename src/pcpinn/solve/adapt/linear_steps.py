"""Steps of a linear problem with steady coefficients: by matrices that are there once, and one solve each.

Whether a problem is linear was seen at a few random states. So the equation itself is evaluated in each step, at its last moment:
where it says something else than the matrices, Newton's method goes on.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ...discretize.field_units import relative
from ...discretize.window import MarchSpace, Window

_AGREES = 1e-9  # of the solution: by so much what matrices and equation say may differ
_EXACT = 1e-11  # of the solution: factors that leave more are applied twice


class LinearSteps:
    """The steps of a march whose matrices never change.

    Args:
        space: the problem in space; its `form.constant` holds.
    """

    def __init__(self, space: MarchSpace) -> None:
        form, zero = space.form, torch.zeros(1, space.size, dtype=torch.float64)
        ((by_value, by_rate),) = form.matrices(np.zeros(1), zero, zero)
        self._by_value, self._by_rate = form.to_scipy(by_value), form.to_scipy(by_rate)
        self._refined: dict[float, bool] = {}  # by length of the steps: whether a solver is applied twice

    def solve(self, window: Window, guess: Tensor, solver: Callable[[Tensor], Tensor], length: float) -> Tensor | None:
        """The values U (m, n) of a step; None where the equation is not the linear one, or something is not finite.

        Args:
            window: the step.
            guess: (m, n).
            solver: A^-1.
            length: of the step, by which the solver is known.
        """
        load = window.space.form.load(window.layers.moments).numpy()
        U = window.moved(guess, solver(self._residual(window, guess, load)), 1.0)
        if self._refined.get(length, True):
            again = solver(self._residual(window, U, load))
            self._refined[length] = not relative(window, again, U) <= _EXACT
            U = window.moved(U, again, 1.0)
        if not bool(torch.isfinite(U).all()):
            return None
        return U if self._agrees(window, U, load, solver) else None

    def _residual(self, window: Window, U: Tensor, load: np.ndarray) -> Tensor:
        """F (m, n) by the matrices."""
        every = torch.cat([window.known, U]).numpy()
        values, rates = window.layers.value @ every, window.layers.slope @ every
        at_moments = (self._by_value @ values.T + self._by_rate @ rates.T).T + load
        return window.with_conditions(torch.from_numpy(window.layers.test @ at_moments), U)

    def _agrees(self, window: Window, U: Tensor, load: np.ndarray, solver: Callable[[Tensor], Tensor]) -> bool:
        """Whether the equation at the last moment is what the matrices say."""
        layers, space = window.layers, window.space
        every = torch.cat([window.known, U])
        value, slope = (torch.from_numpy(table[-1:]) for table in (layers.value, layers.slope))
        values, rates = value @ every, slope @ every
        true = space.form.residual(layers.moments[-1:], values, rates)[0].numpy()
        linear = self._by_value @ values[0].numpy() + self._by_rate @ rates[0].numpy() + load[-1]
        off = torch.from_numpy(layers.test[:, -1:] * (true - linear)[None])
        off[:, space.constrained] = 0.0
        return relative(window, solver(off), U) <= _AGREES
