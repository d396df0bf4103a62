"""What a loss is: 0.5 ||r(theta)||^2 of some residual of a network."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor, nn


class Loss(Protocol):
    """Known to optimisers and to the loop; `LeastSquares` adds what Gauss-Newton needs.

    Losses derive from this class. One that changes as it is trained (weights that adapt, points that are drawn anew) gives
    these numbers by `state` and takes them back by `restore`, so that a training that is resumed is the same one.
    """

    network: Any  # u_theta, a `Network`; losses say which kinds they take

    @property
    def theta(self) -> nn.Parameter:
        """The unknown weights (p,)."""

    def loss(self) -> Tensor:
        """A scalar, differentiable in theta."""

    def describe(self) -> dict[str, Any]:
        """Facts for the report."""

    def state(self) -> dict[str, Tensor]:
        """What changes in training beside theta: named tensors, the loss's own; nothing by default."""
        return {}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Inverse of `state`, in a loss that was made in the same way; tensors may be on another device."""
        return
