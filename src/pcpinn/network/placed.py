"""A network at points that stay where they are: what does not change from one evaluation to the next is kept."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .protocol import LinearHead
from .separated import Separated


class PlacedNetwork:
    """A network with a linear last layer at fixed points (n, d).

    Features of the points are computed once; what the last layer sees, once for all weights that share the hidden layers. A march
    that solves for its last layer alone spends half of its time there otherwise.
    """

    def __init__(self, network: LinearHead, points: Tensor) -> None:
        self.network = network
        self.table: Separated | None = getattr(network, "separated", lambda _: None)(points)
        self.encoded = network.encode_once(points) if self.table is None else None
        self._trunk: Tensor | None = None
        self._hidden: Tensor | None = None

    def evaluate(self, theta: Tensor, fused: bool = False) -> Tensor:
        """(n, outputs) for any weights (p,); `fused` is faster where nothing but a gradient by theta is wanted."""
        if self.encoded is None:
            return self._by_factors(theta)
        return self.network.propagate(theta, self.encoded, fused)

    def features(self) -> Tensor | Separated:
        """What the last layer sees, as a table or as an operator where a table would be too large."""
        return self.hidden() if self.table is None else self.table

    def _by_factors(self, theta: Tensor) -> Tensor:
        assert self.table is not None
        weight, bias = self.network.layers(theta)[-1]
        return (self.table.product(weight.T) + bias) * self.network.output_scale

    @torch.no_grad()
    def hidden(self) -> Tensor:
        """What the last layer sees, (n, width), for the network's present weights."""
        assert self.encoded is not None
        theta = self.network.theta.detach()
        trunk = theta[: -self.network.head_size]
        if self._hidden is None or self._trunk is None or not torch.equal(trunk, self._trunk):
            self._hidden = None  # its memory first
            self._hidden, self._trunk = self.network.hidden(theta, self.encoded), trunk.clone()
        return self._hidden

    @torch.no_grad()
    def values(self) -> Tensor:
        """(n, outputs) for the network's present weights."""
        if self.table is not None:
            return self._by_factors(self.network.theta.detach())
        weight, bias = self.network.layers(self.network.theta.detach())[-1]
        return nn.functional.linear(self.hidden(), weight, bias) * self.network.output_scale

    @torch.no_grad()
    def bend(self, theta: Tensor, v: Tensor) -> Tensor:
        """d^2/dt^2 of the values at theta + t v, t = 0: (n, outputs); forward mode over forward mode."""

        def along(weights: Tensor) -> Tensor:
            return torch.func.jvp(self.evaluate, (weights,), (v,))[1]

        return torch.func.jvp(along, (theta,), (v,))[1]
