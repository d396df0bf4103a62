"""A network at points that stay where they are: what does not change from one evaluation to the next is kept, where it fits."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .protocol import LinearHead
from .separated import Separated

_USUAL_ROWS = 16_384  # of a part of a table that is kept
_LEAST_ROWS = 64
_COPIES = 5  # of a part of a table, while it is made and used
PART = 0.2  # of the room, for the parts of a table that does not fit


def table_bytes(points: float, inputs: int, width: int, hidden: bool) -> float:
    """What `PlacedNetwork` keeps in float64: of the inputs of the first layer, and of what the last layer sees."""
    return 8.0 * points * (inputs + (width if hidden else 0))


def least_part_bytes(inputs: int, width: int) -> float:
    """What the smallest part of a table takes while it is made and used."""
    return 8.0 * _LEAST_ROWS * _COPIES * max(inputs, width)


class PlacedNetwork:
    """A network with a linear last layer at fixed points (n, d).

    Features of the points are computed once; what the last layer sees, once for all weights that share the hidden layers. A march
    that solves for its last layer alone spends half of its time there otherwise. Tables that do not fit are made a part at a
    time whenever they are needed; those of cosines and plane waves on a grid have factors instead.

    Args:
        network: at these weights, whatever they come to be.
        points: (n, d).
        room: bytes that all of this may take.
        encoded: the points as the first layer sees them, if a network with the same features has them already.

    Attributes:
        rows: points of one part.
        separated: the table by its factors, where it is large and has some.
        points, room, encoded: as given, or found; no `encoded` where it does not fit.
    """

    def __init__(
        self, network: LinearHead, points: Tensor, room: float = math.inf, encoded: Tensor | None = None
    ) -> None:
        self.network, self.points, self.room = network, points, room
        self.separated: Separated | None = getattr(network, "separated", lambda _: None)(points)
        shapes = network.layer_shapes
        inputs, width, deep = shapes[0][1], shapes[-1][1], len(shapes) > 1
        most = (1 - PART) * room
        self._keeps_hidden = self.separated is None and table_bytes(len(points), inputs, width, deep) <= most
        keeps_encoded = self._keeps_hidden or table_bytes(len(points), inputs, width, False) <= most
        self.encoded = encoded
        if encoded is None and keeps_encoded and self.separated is None:
            self.encoded = network.encode_once(points)
        self.rows = _USUAL_ROWS
        if not self._keeps_hidden:
            self.rows = int(max(_LEAST_ROWS, min(_USUAL_ROWS, PART * room / (8 * _COPIES * max(inputs, width)))))
        self._trunk: Tensor | None = None
        self._hidden: Tensor | None = None
        self._values: tuple[Tensor, Tensor] | None = None

    @property
    def width(self) -> int:
        """Number of features that the last layer sees."""
        return self.network.layer_shapes[-1][1]

    def evaluate(self, theta: Tensor, fused: bool = False) -> Tensor:
        """(n, outputs) for any weights (p,); `fused` is faster where nothing but a gradient by theta is wanted."""
        if self.separated is not None:
            weight, bias = self.network.layers(theta)[-1]
            return (self.separated.product(weight.T) + bias) * self.network.output_scale
        if self._keeps_hidden and self.encoded is not None:
            return self.network.propagate(theta, self.encoded, fused)

        def of(weights: Tensor, rows: slice) -> Tensor:
            return self.network.propagate(weights, self._encoded(rows), fused)

        differentiable = torch.is_grad_enabled() and theta.requires_grad
        parts = [
            checkpoint(of, theta, rows, use_reentrant=False) if differentiable else of(theta, rows)
            for rows in self._parts()
        ]
        return torch.cat(parts)

    @torch.no_grad()
    def at(self, points: Tensor) -> Tensor:
        """What the last layer sees at the points with these numbers (m,), for the network's present weights: (m, width)."""
        if self._keeps_hidden:
            return self.hidden()[points]
        return self.network.hidden(self.network.theta.detach(), self._encoded(points))

    @torch.no_grad()
    def hidden(self) -> Tensor:
        """The same at all points, (n, width)."""
        theta = self.network.theta.detach()
        trunk = theta[: -self.network.head_size]
        if self._hidden is None or self._trunk is None or not torch.equal(trunk, self._trunk):
            self._hidden = None  # its memory first
            encoded = self.network.encode_once(self.points) if self.encoded is None else self.encoded
            self._hidden, self._trunk = self.network.hidden(theta, encoded), trunk.clone()
        return self._hidden

    @torch.no_grad()
    def values(self) -> Tensor:
        """(n, outputs) for the network's present weights."""
        theta, unit = self.network.theta.detach(), self.network.output_scale
        if self._keeps_hidden:
            weight, bias = self.network.layers(theta)[-1]
            return nn.functional.linear(self.hidden(), weight, bias) * unit
        now = torch.cat([theta, unit.reshape(-1).to(theta)])
        if self._values is None or not torch.equal(
            self._values[0], now
        ):  # asked for again and again at the same weights
            self._values = now, self.evaluate(theta)
        return self._values[1].clone()

    @torch.no_grad()
    def bend(self, theta: Tensor, v: Tensor) -> Tensor:
        """d^2/dt^2 of the values at theta + t v, t = 0: (n, outputs)."""
        if len(self.network.layer_shapes) == 1:
            return theta.new_zeros(len(self.points), self.network.layer_shapes[0][0])  # linear in theta
        if self._keeps_hidden and self.encoded is not None:
            return self.network.bend(theta, v, self.encoded)
        return torch.cat([self.network.bend(theta, v, self._encoded(rows)) for rows in self._parts()])

    def _parts(self) -> list[slice]:
        return [slice(k, k + self.rows) for k in range(0, len(self.points), self.rows)]

    def _encoded(self, points: Tensor | slice) -> Tensor:
        return self.network.encode_once(self.points[points]) if self.encoded is None else self.encoded[points]
