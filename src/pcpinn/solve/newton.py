"""Algorithm 4: Newton's method around the training of a network, one loop for whole problems and for windows of a march.

Each step linearises at the network's own nodal values u and trains the same network on towards the next iterate:
||P^-1 (A v - b)||^2 with A = dF/du (u), b = A u - s F(u). The network never fits a solution that it was given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from ..discretize.newton import sizes_in_words
from ..errors import PcpinnError
from ..network.protocol import Network


class NotConverged(PcpinnError):
    """Newton's method gave up; the network holds the last good iterate."""


class Newton(ABC):
    """The loop. What is solved, and by which rules steps are shortened, trained and judged, is said by those who inherit.

    Args:
        network: u_theta, trained from step to step.
    """

    def __init__(self, network: Network) -> None:
        self.network = network

    def iterate(self, ready: bool = False) -> str:
        """Take steps until there is a reason to stop, and return it.

        Args:
            ready: the first step is linearised and damped already, as in a run that is resumed inside it.

        Raises:
            NotConverged: when corrections do not fall; with their history, and what to try.
        """
        while True:
            reason = None
            if not ready:
                self.linearise()
                reason = self.damp()
            ready = False
            if reason is None:
                self.train()
                reason = self.judge()
            if reason is not None:
                return reason

    @abstractmethod
    def linearise(self) -> None:
        """A and F at the network's values, P kept or rebuilt, and with it the size of the correction, ||P^-1 F|| / ||u||."""

    @abstractmethod
    def damp(self) -> str | None:
        """Decide on the length of the step, or go back to better weights; a reason if no step is needed."""

    @abstractmethod
    def train(self) -> None:
        """Train on the linear model, as far as Newton's method can use it."""

    @abstractmethod
    def judge(self) -> str | None:
        """What the step has brought: a reason to stop, or None to go on."""

    def back_to(self, theta: Tensor) -> None:
        """Undo: take earlier weights (p,)."""
        with torch.no_grad():
            self.network.theta.copy_(theta)

    def failure(self, why: str, corrections: Sequence[float], remedy: str) -> NotConverged:
        """The error that ends the method."""
        sizes = sizes_in_words(list(corrections)) or "none"
        return NotConverged(f"Newton's method {why}; relative corrections by step: {sizes}", remedy)
