"""What an optimiser is: a stateful step on a loss, whose state is plain tensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor

from ..recipes import Recipe, Registry
from . import turns
from .loss import Loss

State = dict[str, Tensor]
Advance = Callable[[int], list[float]]
"""Takes at least one step and at most the given number; returns the loss of each."""


@dataclass(frozen=True)
class Optimiser(Recipe, ABC):
    """A frozen recipe; everything that changes lives in the state, which checkpoints save as it is.

    Attributes:
        iterations: largest number; in a nonlinear problem of all Newton steps together, in a march per Newton step.
        patience: stop after this many iterations with hardly any gain; 0 never. By default 20 for Gauss-Newton (except
            in marches), never for others.
    """

    iterations: int = field(default=60, kw_only=True)
    patience: int | None = field(default=None, kw_only=True)

    not_negative: ClassVar[tuple[str, ...]] = ("iterations", "patience")
    usual_patience: ClassVar[int] = 0
    by_gradient: ClassVar[bool] = (
        False  # whether a step asks a loss once for `value_and_gradient`, and for nothing else
    )

    def fitted(self, memory: float | None) -> Optimiser:
        """The optimiser for a run that lets it take `memory` GiB, or what it thinks right; by default itself."""
        return self

    @abstractmethod
    def start(self, problem: Loss, seed: int) -> State:
        """The state before the first step."""

    @abstractmethod
    def step(self, problem: Loss, state: State) -> float:
        """Improve problem.theta in place, update the state, return the loss that was reached or met on the way."""

    def bind(self, problem: Loss, state: State) -> Advance:
        """The step for one problem and state, prepared for being repeated; here one at a time."""

        def one(most: int) -> list[float]:
            turns.outside()
            return [self.step(problem, state)]

        return one


OPTIMISERS: Registry[type[Optimiser]] = Registry("optimiser", "optimisers")
