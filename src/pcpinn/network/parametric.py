"""A perceptron on (z, x): parameters z of a family beside the place. At given z it is a perceptron of x alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from .dense import Architecture, DenseNetwork, perceptron_like
from .initialisation import initialise_layer


@runtime_checkable
class OneSet(Protocol):
    """A network of a family that is cheaper for many places and one set of parameters than for pairs of both."""

    def for_one(self, z: Tensor, x: Tensor) -> Tensor:
        """z (K,), x (n, d) -> (n, outputs), differentiable in both."""

    def query_one(self, z: Tensor, x: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """The same without derivatives, and faster; layers in `dtype`, the network's own by default."""


class ParametricNetwork(DenseNetwork):
    """The first layer sees the features of x and, scaled to [-1, 1] already, K parameters; x has the box and the features.

    Args:
        architecture, lower, upper, outputs, generator, dtype: as of the perceptron of x.
        parameters: K.
    """

    def __init__(
        self,
        architecture: Architecture,
        lower: Sequence[float],
        upper: Sequence[float],
        outputs: int,
        parameters: int,
        generator: torch.Generator,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        super().__init__(architecture, lower, upper, outputs, generator, dtype)
        self.numbers = parameters
        out, fan_in = self._shapes[0]
        self._shapes[0] = (out, fan_in + parameters)
        theta = torch.empty(sum(o * i + o for o, i in self._shapes), dtype=torch.float64)
        for weight, bias in self.layers(theta):
            initialise_layer(weight, bias, architecture.initialisation, generator)
        self.theta = nn.Parameter(theta.to(dtype))

    @property
    def inputs(self) -> int:
        """Number K + d of coordinates: parameters first."""
        return self.numbers + len(self.centre)

    def encode(self, x: Tensor) -> Tensor:
        """What the first layer sees of (..., K + d): features of the place, then the parameters."""
        return torch.cat([super().encode(x[..., self.numbers :]), x[..., : self.numbers]], dim=-1)

    def layers_at(self, z: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Those of the perceptron of x for parameters z (K,), which change the bias of the first layer."""
        (w, b), *rest = self.layers(self.theta)
        places = w.shape[1] - self.numbers
        return [(w[:, :places], b + w[:, places:] @ z), *rest]

    def for_one(self, z: Tensor, x: Tensor) -> Tensor:
        """z (K,), x (n, d) -> (n, outputs), differentiable in both."""
        (w, b), *rest = self.layers_at(z)
        a = nn.functional.linear(super().encode(x), w, b)
        for v, c in rest:
            a = nn.functional.linear(self._activation.value(a), v, c)
        return a * self.output_scale

    @torch.no_grad()
    def query_one(self, z: Tensor, x: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """z (K,), x (n, d) -> (n, outputs), without derivatives."""
        return self._queried(self.layers_at(z), super().encode, x, dtype)

    def copy_from(self, other: object) -> bool:
        """As of perceptrons; the number of parameters must be the same."""
        return isinstance(other, ParametricNetwork) and other.numbers == self.numbers and super().copy_from(other)

    @torch.no_grad()
    def at(self, z: Tensor) -> DenseNetwork:
        """The perceptron of x for parameters z (K,)."""
        network = perceptron_like(self)
        for (v, c), (w, b) in zip(network.layers(network.theta), self.layers_at(z.to(self.theta)), strict=True):
            v.copy_(w)
            c.copy_(b)
        return network
