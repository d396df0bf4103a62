"""What an optimiser is: a stateful step on a least-squares problem, whose state is plain tensors."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from .loss import Loss

State = dict[str, Tensor]


class Optimiser(Protocol):
    """A frozen recipe; everything that changes lives in the state, which checkpoints save as it is."""

    @property
    def name(self) -> str:
        """How settings and reports refer to it."""

    def start(self, problem: Loss, seed: int) -> State:
        """The state before the first step."""

    def step(self, problem: Loss, state: State) -> float:
        """Improve problem.theta in place, update the state, return the loss that was reached or met on the way."""
