"""How Levenberg-Marquardt steps choose their damping: Nielsen's rule, one for all that take such steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from .optimiser import State

Attempt = Callable[[float], tuple[Tensor, float] | None]


@dataclass(frozen=True)
class Nielsen:
    """The better the model foretold the gain, the less damping next time; after a failure more, and ever more.

    Attributes:
        quickest: the least factor by which a success lowers it.
        smallest, largest: its range.
    """

    quickest: float = 1 / 5
    smallest: float = 1e-13
    largest: float = 1e10

    @staticmethod
    def start(initial: float) -> State:
        """What is remembered from step to step: the damping to begin with, and how fast it grows."""
        return {
            "damping": torch.tensor(initial, dtype=torch.float64),
            "growth": torch.tensor(2.0, dtype=torch.float64),
        }

    def descend(
        self,
        theta: torch.nn.Parameter,
        loss: float,
        state: State,
        attempt: Attempt,
        value: Callable[[], float],
        initial: float,
    ) -> float:
        """Move theta by the first attempt after which the loss is lower, or not at all; returns the loss after it.

        Args:
            theta: the weights, changed in place.
            loss: at theta.
            state: of `start`, changed in place.
            attempt: damping -> the move, and the gain that the model foretells; None where there is no such move.
            value: the loss at the present weights.
            initial: damping to go back to when none helps.
        """
        start = theta.detach().clone()
        while float(state["damping"]) < self.largest:
            made = attempt(float(state["damping"]))
            if made is not None:
                move, predicted = made
                with torch.no_grad():
                    theta.copy_(start + move)
                    trial = value()
                if trial < loss:
                    ratio = (loss - trial) / max(predicted, 1e-300)
                    better = min(2 * ratio - 1, 1e3)  # gains beyond all promise overflow when cubed
                    state["damping"] *= max(self.quickest, 1 - better**3)
                    state["damping"].clamp_(min=self.smallest)
                    state["growth"].fill_(2.0)
                    return trial
                with torch.no_grad():
                    theta.copy_(start)
            state["damping"] *= state["growth"]
            state["growth"] *= 2
        state["damping"].fill_(initial)
        state["growth"].fill_(2.0)
        return loss
