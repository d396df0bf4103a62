"""RAR, residual-based adaptive refinement (Lu et al. 2021): points are added where the residual is largest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from ..solve.method import LOSSES, METHODS
from ..strong.form import strong_residual
from .piece import Piece, Seen
from .recipe import Collocation
from .strong_method import strong_method


@dataclass(frozen=True)
class LargestResiduals(Piece):
    """Of random candidates, those with the largest residual of the equations join the points inside."""

    every: int = 1000
    candidates: int = 10_000
    added: int = 100

    changes = ("points",)

    def adapt(self, loss: Seen, iteration: int) -> None:
        """Add points, but not before the first iteration."""
        if iteration == 0 or loss.draw is None:
            return
        x = torch.as_tensor(loss.draw(self.candidates, loss.random(iteration))).to(loss.points)
        size = (strong_residual(loss.pointwise, loss.network, x).detach() ** 2).sum(1)
        largest = size.topk(min(self.added, len(x))).indices
        loss.take_points(torch.cat([loss.points, x[largest]]))

    def describe(self, loss: Seen) -> dict[str, Any]:
        """What joins, and how often."""
        return {"candidates": self.candidates, "added": self.added}


@LOSSES.register
@dataclass(frozen=True)
class RAR(Collocation):
    """The strong form, with more points inside where the residual is largest (residual-based adaptive refinement).

    Attributes:
        every: iterations between two additions.
        candidates: random points among which those of the largest residual are looked for.
        added: points that are added each time.
    """

    every: int = 1000
    candidates: int = 10_000
    added: int = 100

    name: ClassVar[str] = "rar"
    positive: ClassVar[tuple[str, ...]] = (*Collocation.positive, "every", "candidates", "added")

    def pieces(self) -> list[Piece]:
        """The additions."""
        return [LargestResiduals(self.every, self.candidates, self.added)]


METHODS.register(strong_method("rar", RAR()))
