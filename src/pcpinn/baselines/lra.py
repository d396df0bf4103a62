"""LRA, learning-rate annealing (Wang, Teng, Perdikaris 2021): weights that make the gradients of all terms alike in size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from ..errors import PcpinnError
from ..solve.method import LOSSES, METHODS
from .piece import Piece, Seen
from .recipe import Collocation
from .strong_method import strong_method


@dataclass(frozen=True)
class GradientWeights(Piece):
    """w_i <- (1 - a) w_i + a max|grad L_r| / mean|grad w_i L_i|, L_r the equations, whose weight stays one."""

    every: int = 10
    rate: float = 0.1

    changes = ("weights",)

    def adapt(self, loss: Seen, iteration: int) -> None:
        """Measure the gradients, then move the weights a little."""
        losses = loss.part_losses()
        equations, *others = (torch.autograd.grad(own, loss.theta, retain_graph=True)[0].abs() for own in losses)
        for k, gradient in enumerate(others, start=1):
            size = loss.weights[k] * gradient.mean()
            if size > 0:  # a condition that holds exactly keeps its weight
                loss.weights[k] = (1 - self.rate) * loss.weights[k] + self.rate * equations.max() / size


@LOSSES.register
@dataclass(frozen=True)
class LRA(Collocation):
    """The strong form, with weights from the gradients of its terms (learning-rate annealing).

    Attributes:
        every: iterations between two looks at the gradients.
        rate: share of the new weights in the running mean.
    """

    every: int = 10
    rate: float = 0.1

    name: ClassVar[str] = "lra"
    positive: ClassVar[tuple[str, ...]] = (*Collocation.positive, "every", "rate")
    terms_apart: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rate > 1:
            raise PcpinnError(f"rate={self.rate:g} is above 1", "the usual value is 0.1")

    def pieces(self) -> list[Piece]:
        """The weights."""
        return [GradientWeights(self.every, self.rate)]


METHODS.register(strong_method("lra", LRA()))
