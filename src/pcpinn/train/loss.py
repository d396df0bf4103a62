"""What a loss is: 0.5 ||r(theta)||^2 of some residual of a network."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor, nn

from ..network.protocol import Network


class Loss(Protocol):
    """Known to optimisers and to the loop; `LeastSquares` adds what Gauss-Newton needs."""

    @property
    def network(self) -> Network:
        """u_theta."""

    @property
    def theta(self) -> nn.Parameter:
        """The unknown weights (p,)."""

    def loss(self) -> Tensor:
        """A scalar, differentiable in theta."""

    def describe(self) -> dict[str, Any]:
        """Facts for the report."""
