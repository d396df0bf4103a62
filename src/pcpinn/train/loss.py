"""What a loss is: 0.5 ||r(theta)||^2 of some residual of a network."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor, nn


class Loss(Protocol):
    """Known to optimisers and to the loop; `LeastSquares` adds what Gauss-Newton needs.

    Losses derive from this class. One that changes during training (adaptive weights, points that are redrawn) returns
    these numbers from `state` and takes them back in `restore`, so that a resumed training is the same one.
    """

    network: Any  # u_theta, a `Network`; losses say which kinds they take

    @property
    def theta(self) -> nn.Parameter:
        """The weights (p,)."""

    def loss(self) -> Tensor:
        """A scalar, differentiable in theta."""

    def describe(self) -> dict[str, Any]:
        """Facts for the report."""

    def state(self) -> dict[str, Tensor]:
        """What changes during training besides theta: named tensors of the loss; nothing by default."""
        return {}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Inverse of `state`, for a loss that was made in the same way; tensors may be on another device."""
        return
