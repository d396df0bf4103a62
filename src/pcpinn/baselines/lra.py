"""LRA, learning-rate annealing (Wang, Teng, Perdikaris 2021): weights that make the gradients of all terms alike in size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ..errors import PcpinnError
from ..solve.method import LOSSES, METHODS
from .piece import GradientPiece, Piece, Seen
from .recipe import Collocation
from .strong_method import strong_method


@dataclass(frozen=True)
class GradientWeights(GradientPiece):
    """w_i <- (1 - a) w_i + a max|grad L_r| / mean|grad w_i L_i|, L_r the equations, whose weight stays one."""

    every: int = 10
    rate: float = 0.1

    changes = ("weights",)

    def weigh(self, loss: Seen, gradients: Sequence[Tensor]) -> None:
        """Move the weights a little."""
        with torch.no_grad():
            old, (first, *others) = loss.weights[1:], [g.abs() for g in gradients]
            sizes = old * torch.stack([g.mean() for g in others])
            new = (1 - self.rate) * old + self.rate * first.max() / sizes
            old.copy_(torch.where(sizes > 0, new, old))  # a condition that holds exactly keeps its weight


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


METHODS.register(strong_method("lra", LRA(), every=1))
