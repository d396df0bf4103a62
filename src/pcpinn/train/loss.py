"""What a loss is: 0.5 ||r(theta)||^2 of some residual of a network."""

from __future__ import annotations

import sys
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from ..team import ALONE, Team


class Loss(Protocol):
    """Known to optimisers and to the loop; `LeastSquares` adds what Gauss-Newton needs.

    Losses derive from this class. One that changes during training (adaptive weights, points that are redrawn) does so in
    `adapt`, returns these numbers from `state` and takes them back in `restore`, so that a resumed training is the same one.
    """

    network: Any  # u_theta, a `Network`; losses say which kinds they take
    team: Team = ALONE  # the processes that share it
    captured: bool = True  # on a GPU, steps of it may be recorded: no word to the host in it
    layout: int = (
        0  # grows when tensors of the loss are replaced by others: what was prepared for them is prepared anew
    )

    @property
    def theta(self) -> nn.Parameter:
        """The weights (p,)."""

    def loss(self) -> Tensor:
        """A scalar, differentiable in theta."""

    def value_and_gradient(self) -> tuple[Tensor, Tensor]:
        """The loss and its gradient (p,), without a graph."""
        value = self.loss()
        (gradient,) = torch.autograd.grad(value, self.theta)
        return value.detach(), gradient

    def begin(self, by_gradient: bool) -> None:
        """Told before a training whether each step asks once for `value_and_gradient`, and for nothing else.

        A loss that changes at every step by the gradients of its terms may then do so there, and `adapt` need not.
        """
        return

    def changing(self) -> list[Tensor]:
        """The tensors of its state that `value_and_gradient` changes, in place; none by default."""
        return []

    def groups(self) -> list[Tensor]:
        """Scalars whose sum is the loss, for optimisers that treat its terms apart; by default the loss itself."""
        return [self.loss()]

    def head_jacobian(self) -> tuple[Tensor, Tensor] | None:
        """The residual (m,) and its derivative by the last layer (m, p), where the loss has a faster way than by columns."""
        return None

    def adapt(self, iteration: int) -> int:
        """Change what depends on the course of the training, before iteration number `iteration` (from 0).

        Returns the number of iterations until it is to be asked again. Asked twice at one iteration, as where a training is
        resumed, it must start from the same `state`.
        """
        return sys.maxsize

    def describe(self) -> dict[str, Any]:
        """Facts for the report."""

    def state(self) -> dict[str, Tensor]:
        """What changes during training besides theta: named tensors of the loss; nothing by default."""
        return {}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Inverse of `state`, for a loss that was made in the same way; tensors may be on another device."""
        return
