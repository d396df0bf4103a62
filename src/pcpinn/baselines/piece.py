"""What a baseline adds to the strong form: weights of terms, samples, terms of the loss. One idea, one piece, one file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from ..discretize.pointwise import Pointwise
from ..network.protocol import Network

Draw = Callable[[int, np.random.Generator], np.ndarray]
"""(count, generator) -> points inside (count, d)."""


class Seen(Protocol):
    """What a piece sees of the loss (`StrongLoss`, which says more of each)."""

    network: Network
    seen: Any
    pointwise: Pointwise
    points: Tensor
    weights: Tensor
    names: list[str]
    draw: Draw | None

    @property
    def theta(self) -> nn.Parameter:
        """The weights of the network (p,)."""

    @property
    def sizes(self) -> list[int]:
        """Numbers of residuals of the parts."""

    def parts(self) -> list[Tensor]:
        """Residuals of the equations, of each condition, of what pieces add; not weighted."""

    def part_losses(self) -> list[Tensor]:
        """0.5 ||r||^2 of each, not weighted."""

    def take_points(self, points: Tensor) -> None:
        """Replace the points inside."""

    def random(self, iteration: int) -> np.random.Generator:
        """Random numbers of an iteration."""


class Piece:
    """A part of a method that looks at the loss, changes it now and then, or adds to it; by default nothing of it.

    A piece keeps no state of its own: what changes are the loss's weights and points, which checkpoints hold. Random numbers
    come from the run's seed and the iteration.

    Attributes:
        every: iterations between two changes; 0 for none.
        changes: what it changes of the loss: "weights", "points".
        extra: names of the residuals that it adds.
    """

    every: int = 0
    changes: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    def adapt(self, loss: Seen, iteration: int) -> None:
        """Change the loss before an iteration, a multiple of `every`."""
        return

    def residuals(self, loss: Seen) -> list[Tensor]:
        """More parts of the residual, one for each of `extra`: their squares are added up, not averaged."""
        return []

    def penalty(self, loss: Seen) -> Tensor | None:
        """A scalar that is added to the loss and is no sum of squares."""
        return None

    def describe(self, loss: Seen) -> dict[str, Any]:
        """Facts for the report."""
        return {}


class RepeatedPiece(Piece):
    """A piece whose change is the same work each time, in place and without a word to the host: a GPU replays it from a graph."""

    def draw(self, loss: Seen, iteration: int) -> list[Tensor]:
        """Numbers that the change takes and that differ from one iteration to another; always of the same shapes."""
        return []

    def change(self, loss: Seen, drawn: list[Tensor]) -> None:
        """Change the loss's weights in place."""
        raise NotImplementedError

    def adapt(self, loss: Seen, iteration: int) -> None:
        """Draw, then change."""
        self.change(loss, self.draw(loss, iteration))


class GradientPiece(RepeatedPiece):
    """A piece that changes weights by the gradients of all parts. Where each step asks for them, it is asked within the step."""

    def weigh(self, loss: Seen, gradients: Sequence[Tensor]) -> None:
        """Change the loss's weights in place, by the gradients (p,) of 0.5 ||r||^2 of each part."""
        raise NotImplementedError

    def change(self, loss: Seen, drawn: list[Tensor]) -> None:
        """Measure the gradients first."""
        self.weigh(loss, part_gradients(loss)[1])


def part_gradients(loss: Seen) -> tuple[list[Tensor], list[Tensor]]:
    """0.5 ||r||^2 of each part, not weighted, and their gradients (p,)."""
    losses = loss.part_losses()
    gradients = [torch.autograd.grad(own, loss.theta, retain_graph=True)[0] for own in losses]
    return [own.detach() for own in losses], gradients
