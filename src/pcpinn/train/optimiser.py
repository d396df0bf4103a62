"""What an optimiser is: a stateful step on a loss, whose state is plain tensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from torch import Tensor

from .loss import Loss

State = dict[str, Tensor]
Advance = Callable[[int], list[float]]
"""Takes at least one step and at most as many as told; returns the loss of each."""


class Optimiser(ABC):
    """A frozen recipe; everything that changes lives in the state, which checkpoints save as it is.

    Attributes:
        name: how settings and reports refer to it.
    """

    name: str

    @abstractmethod
    def start(self, problem: Loss, seed: int) -> State:
        """The state before the first step."""

    @abstractmethod
    def step(self, problem: Loss, state: State) -> float:
        """Improve problem.theta in place, update the state, return the loss that was reached or met on the way."""

    def bind(self, problem: Loss, state: State) -> Advance:
        """The step for one problem and state, prepared for being repeated; here one at a time."""
        return lambda most: [self.step(problem, state)]
