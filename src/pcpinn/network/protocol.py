"""What the rest of the package asks of a network, whatever it is made of."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from ..errors import PcpinnError
from .ansatz import Ansatz


class Placed(Protocol):
    """A network at fixed points (n, d), without its ansatz."""

    def evaluate(self, theta: Tensor, fused: bool = False) -> Tensor:
        """(n, outputs) for any weights (p,); `fused` where nothing but a gradient by theta is wanted."""

    def values(self) -> Tensor:
        """(n, outputs) for the network's present weights, without derivatives."""

    def bend(self, theta: Tensor, v: Tensor) -> Tensor:
        """d^2/dt^2 of the values at theta + t v, t = 0: (n, outputs), without derivatives."""


class Network(Protocol):
    """u_theta: points (..., d) -> values (..., outputs), with all weights in one flat vector.

    Attributes:
        theta: (p,) the weights. Optimisers change them in place; an inverse problem makes them a view of a longer vector.
        output_scale: () the unit of the outputs.
        ansatz: makes the values take given ones on given walls; None for none.
    """

    theta: nn.Parameter
    output_scale: Tensor
    ansatz: Ansatz | None

    @property
    def inputs(self) -> int:
        """Number of coordinates d."""

    @property
    def outputs(self) -> int:
        """Number of values at a point."""

    @property
    def parameter_count(self) -> int:
        """Number of weights p."""

    def __call__(self, x: Tensor) -> Tensor:
        """Points (..., d) -> (..., outputs)."""

    def evaluate(self, theta: Tensor, x: Tensor) -> Tensor:
        """The same, for any weights (p,): a function that torch.func can differentiate in both."""

    def bare(self, theta: Tensor, x: Tensor) -> Tensor:
        """The same without the ansatz."""

    def jacobian(self, x: Tensor, component: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """d u_component(x) / d theta for points (n, d), one output each (n,): (n, p) of `dtype`. An ansatz is not in it."""

    def place(self, points: Tensor) -> Placed:
        """The network at points (n, d) that stay where they are."""

    def copy_from(self, other: object) -> bool:
        """Take the weights of another network of the same kind and box; False, and nothing changes, if it is not one."""


@runtime_checkable
class Layered(Protocol):
    """A network whose weights are dense layers."""

    @property
    def layer_shapes(self) -> list[tuple[int, int]]:
        """(out, in) of each layer."""

    def layers(self, theta: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Views of theta: weight (out, in) and bias (out,) of each layer."""


@runtime_checkable
class HeadMethods(Layered, Protocol):
    """The methods of a `LinearHead`.

    From Python 3.12 on, isinstance does not see the parameters and buffers of a torch module: only methods can be asked for.
    """

    @property
    def head_size(self) -> int:
        """Number of weights of the last layer: the end of theta."""

    def encode_once(self, x: Tensor) -> Tensor:
        """What the first layer sees of points (n, d)."""

    def hidden(self, theta: Tensor, encoded: Tensor, fused: bool = False) -> Tensor:
        """What the last layer sees: (..., width)."""

    def propagate(self, theta: Tensor, encoded: Tensor, fused: bool = False) -> Tensor:
        """All layers, on encoded points."""


def no_layers(network: object, who: str) -> PcpinnError:
    """The refusal of a network that is not made of layers, by a method `who` that works on them."""
    return PcpinnError(
        f"{who} works on the layers of a network, and {type(network).__name__} does not show them",
        "use pcpinn's own MLP, or another optimiser: gauss-newton, adam, lbfgs",
    )


class LinearHead(HeadMethods, Protocol):
    """A layered network whose last layer is linear, and whose hidden layers can be evaluated alone."""

    theta: nn.Parameter
    output_scale: Tensor

    def bend(self, theta: Tensor, v: Tensor, encoded: Tensor) -> Tensor:
        """d^2/dt^2 of `propagate` at theta + t v, t = 0."""
