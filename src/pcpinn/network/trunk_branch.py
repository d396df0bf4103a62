"""u = sum of c_k(z) phi_k(x): a trunk of functions of the place, whose last layer a branch makes from parameters.

For many parameters, or functions of them: the branch is evaluated once per set of parameters, the trunk once per place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..errors import PcpinnError
from .activations import ACTIVATIONS
from .ansatz import Ansatz
from .boxed import BoxedNetwork
from .dense import Architecture, DenseNetwork, perceptron_like, split_layers, weight_gradients
from .initialisation import initialise_layer
from .query import AT_ONCE, HiddenUnits
from .recipe import MLP, NETWORKS, Place

_BRANCH_WIDTH = 32
_POWERS = 3  # of each parameter, in the logarithm of the size of answers


class TrunkBranchNetwork(BoxedNetwork):
    """Weights theta: hidden layers of the trunk, then all layers of the branch, whose outputs are the trunk's last layer.

    A network that is `sized` has a factor exp(polynomial of the parameters) for each output beside it, whose weights come last.

    Args:
        architecture: of the trunk.
        lower, upper: box of the place.
        outputs: components at a point.
        parameters: K numbers, scaled to [-1, 1].
        branch: (width, depth) of the branch.
        generator: of the first weights.
        dtype: of weights and values.
        bend: activation of the branch; that of the trunk if not given.
        sized: whether outputs have a factor for their size.
    """

    frequencies: Tensor
    ansatz: Ansatz | None

    def __init__(
        self,
        architecture: Architecture,
        lower: Sequence[float],
        upper: Sequence[float],
        outputs: int,
        parameters: int,
        branch: tuple[int, ...],
        generator: torch.Generator,
        dtype: torch.dtype = torch.float64,
        bend: str | None = None,
        sized: bool = False,
    ) -> None:
        super().__init__(lower, upper, outputs, dtype)
        self.architecture, self.numbers, self.branch, self.sized = architecture, parameters, branch, sized
        trunk = DenseNetwork(architecture, lower, upper, outputs, generator, dtype)
        self.trunk = (trunk,)  # in a tuple: its own weights, which are never used, are not among the network's
        self.register_buffer("frequencies", trunk.frequencies.clone())
        hidden, head = trunk.layer_shapes[:-1], trunk.layer_shapes[-1]
        self._trunk_shapes = hidden
        self._branch_shapes = self.shapes_of_branch(head[0] * (head[1] + 1))
        self._size_shapes = [(outputs, _POWERS * parameters)] if sized else []
        shapes = (*hidden, *self._branch_shapes, *self._size_shapes)
        theta = torch.zeros(sum(o * i + o for o, i in shapes), dtype=torch.float64)
        for weight, bias in (*self.layers(theta)[0], *self.layers(theta)[1]):
            initialise_layer(weight, bias, architecture.initialisation, generator)
        self.theta = nn.Parameter(theta.to(dtype))
        self._activation = ACTIVATIONS[architecture.activation]
        self.bends_by = bend or architecture.activation
        if self.bends_by not in ACTIVATIONS:
            raise PcpinnError(f"branch_activation={bend!r} is not a choice", f"use {', '.join(ACTIVATIONS)}")
        self._bend = ACTIVATIONS[self.bends_by]
        self._units = HiddenUnits()

    def shapes_of_branch(self, outer: int) -> list[tuple[int, int]]:
        """(out, in) of the layers of the branch, which has `outer` outputs."""
        width, depth = self.branch
        sizes = [self.numbers] + [width] * depth + [outer]
        return list(zip(sizes[1:], sizes[:-1], strict=True))

    @property
    def inputs(self) -> int:
        """Number K + d of coordinates: parameters first."""
        return self.numbers + len(self.centre)

    @property
    def activation(self) -> Any:
        """Of the trunk's hidden units: its value and its derivative."""
        return self._activation

    @property
    def branch_activation(self) -> Any:
        """Of the hidden units of the branch."""
        return self._bend

    def layers(self, theta: Tensor) -> tuple[list[tuple[Tensor, Tensor]], list[tuple[Tensor, Tensor]]]:
        """Of the trunk (hidden ones) and of the branch."""
        at = sum(o * i + o for o, i in self._trunk_shapes)
        end = at + sum(o * i + o for o, i in self._branch_shapes)
        return split_layers(theta[:at], self._trunk_shapes), split_layers(theta[at:end], self._branch_shapes)

    def size_layer(self, theta: Tensor) -> tuple[Tensor, Tensor] | None:
        """Weight (outputs, powers) and bias (outputs,) of the logarithm of sizes; None of a network without."""
        if not self.sized:
            return None
        (layer,) = split_layers(theta[-sum(o * i + o for o, i in self._size_shapes) :], self._size_shapes)
        return layer

    def encode(self, x: Tensor) -> Tensor:
        """What the trunk's first layer sees of places (..., d)."""
        trunk = self.trunk[0]
        if trunk.theta.device != x.device:
            trunk.to(x.device)
        for name in ("frequencies", "centre", "half_width"):  # those of a file, after loading
            setattr(trunk, name, getattr(self, name))
        return trunk.encode(x)

    def bare(self, theta: Tensor, x: Tensor) -> Tensor:
        """Points (..., K + d) -> (..., outputs), without the ansatz."""
        K = self.numbers
        return self.combined(self.hidden(theta, self.encode(x[..., K:])), self.head(theta, x[..., :K]))

    def hidden(self, theta: Tensor, encoded: Tensor, fused: bool = False) -> Tensor:
        """phi (..., width) at encoded places."""
        return _through(self.layers(theta)[0], encoded, self._activation.fused if fused else self._activation.value)

    def head(self, theta: Tensor, z: Tensor, fused: bool = False) -> Tensor:
        """c (..., outputs, width + 1) for scaled parameters (..., K)."""
        *inner, (weight, bias) = self.layers(theta)[1]
        a = _through(inner, z, self._bend.fused if fused else self._bend.value)
        c, size = nn.functional.linear(a, weight, bias).unflatten(-1, (self.outputs, -1)), self.size_layer(theta)
        return c if size is None else c * nn.functional.linear(powers(z), *size).exp()[..., None]

    def combined(self, phi: Tensor, c: Tensor) -> Tensor:
        """(..., outputs) of phi (..., width) and c (..., outputs, width + 1)."""
        return ((c[..., :-1] * phi[..., None, :]).sum(-1) + c[..., -1]) * self.output_scale

    def layers_at(self, z: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Those of the perceptron of x for parameters z (K,): the trunk, and the last layer that the branch gives it."""
        c = self.head(self.theta, z)
        return [*self.layers(self.theta)[0], (c[:, :-1], c[:, -1])]

    def for_one(self, z: Tensor, x: Tensor) -> Tensor:
        """z (K,), x (n, d) -> (n, outputs), differentiable in both: the branch is asked once."""
        *hidden, (weight, bias) = self.layers_at(z)
        phi = _through(hidden, self.encode(x), self._activation.value)
        return nn.functional.linear(phi, weight, bias) * self.output_scale

    @torch.no_grad()
    def query_one(self, z: Tensor, x: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """z (K,), x (n, d) -> (n, outputs), without derivatives."""
        c = self.head(self.theta, z).to(dtype or x.dtype)
        values = []
        for part in x.split(AT_ONCE // self.architecture.width + 1):
            encoded = self.encode(part).to(dtype or part.dtype)
            phi, factor = self._units.at(self.layers(self.theta)[0], self._activation, encoded)
            values.append(torch.addmm(c[:, -1], phi, c[:, :-1].T, alpha=factor))
        return torch.cat(values).to(self.theta) * self.output_scale

    def place(self, points: Tensor) -> PlacedProduct:
        """The network at points (n, K + d) that stay where they are."""
        return PlacedProduct.at_points(self, points)

    @torch.no_grad()
    def jacobian(self, x: Tensor, component: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """d u_component / d theta at points (n, K + d), one output each (n,): (n, p) of `dtype`. An ansatz is not in it."""
        K, activation = self.numbers, self._activation
        trunk, branch = self.layers(self.theta)
        result = torch.empty(len(x), self.parameter_count, dtype=dtype or x.dtype, device=x.device)
        at = sum(o * i + o for o, i in self._trunk_shapes)
        seen, slopes = _swept(trunk, self.encode(x[:, K:]), activation, last_is_linear=False)
        inner, bends = _swept(branch, x[:, :K], self._bend, last_is_linear=True)
        c = nn.functional.linear(inner[-1], *branch[-1]).unflatten(-1, (self.outputs, -1))
        sizes = self.size_layer(self.theta)
        size = x.new_ones(len(x), self.outputs)
        size = size if sizes is None else nn.functional.linear(powers(x[:, :K]), *sizes).exp()
        each = torch.arange(len(x), device=x.device)
        chosen = (c * size[..., None])[each, component]  # (n, width + 1)
        phi = seen[-1]
        delta = chosen[:, :-1] * self.output_scale.expand(self.outputs)[component, None] * slopes[-1]
        weight_gradients(result[:, :at], trunk, seen[:-1], slopes[:-1], delta)
        one_hot = nn.functional.one_hot(component, self.outputs).to(x.dtype) * self.output_scale
        with_one = torch.cat([phi, torch.ones_like(phi[:, :1])], dim=1)
        outer = ((one_hot * size)[:, :, None] * with_one[:, None, :]).flatten(1)
        end = at + sum(o * i + o for o, i in self._branch_shapes)
        weight_gradients(result[:, at:end], branch, inner, bends, outer)
        if sizes is not None:
            own = one_hot * (chosen * with_one).sum(1, keepdim=True)
            result[:, end:] = torch.cat([(own[:, :, None] * powers(x[:, :K])[:, None]).flatten(1), own], 1)
        return result

    def copy_from(self, other: object) -> bool:
        """Take the weights of another one of the same architecture and box; False if it is not one."""
        same = (
            isinstance(other, TrunkBranchNetwork)
            and type(other) is type(self)
            and other.architecture == self.architecture
            and (other.numbers, other.branch, other.outputs) == (self.numbers, self.branch, self.outputs)
            and (other.bends_by, other.sized) == (self.bends_by, self.sized)
            and all(torch.equal(getattr(other, k).cpu(), getattr(self, k).cpu()) for k in ("centre", "half_width"))
        )
        if same and isinstance(other, TrunkBranchNetwork):
            self.output_scale = other.output_scale.clone().to(self.theta)
            with torch.no_grad():
                self.theta.copy_(other.theta)
                self.frequencies.copy_(other.frequencies)
        return same

    @torch.no_grad()
    def at(self, z: Tensor) -> DenseNetwork:
        """The perceptron of x for parameters z (K,)."""
        network = perceptron_like(self)
        for (v, c), (w, b) in zip(network.layers(network.theta), self.layers_at(z.to(self.theta)), strict=True):
            v.copy_(w)
            c.copy_(b)
        return network


class PlacedProduct:
    """A trunk and branch at points (n, K + d) that stay where they are: each place and each set of parameters counts once.

    Args:
        network: trunk and branch.
        z, places: (S, K) distinct parameters, (M, d) distinct places.
        z_of, x_of: (n,) which of them a point has; None for all pairs, parameter by parameter.
    """

    def __init__(
        self, network: TrunkBranchNetwork, z: Tensor, places: Tensor, z_of: Tensor | None, x_of: Tensor | None
    ) -> None:
        self.network, self._z, self._z_of, self._x_of = network, z, z_of, x_of
        self._encoded = network.encode(places)

    @classmethod
    def at_points(cls, network: TrunkBranchNetwork, points: Tensor) -> PlacedProduct:
        """At points (n, K + d): what is distinct among them is found."""
        K = network.numbers
        z, z_of = torch.unique(points[:, :K], dim=0, return_inverse=True)
        places, x_of = torch.unique(points[:, K:], dim=0, return_inverse=True)
        return cls(network, z, places, z_of, x_of)

    @classmethod
    def on_grid(cls, network: TrunkBranchNetwork, z: Tensor, places: Tensor) -> PlacedProduct:
        """At all pairs of parameters (S, K) and places (M, d), parameter by parameter."""
        return cls(network, z, places, None, None)

    def evaluate(self, theta: Tensor, fused: bool = False) -> Tensor:
        """(n, outputs) for any weights (p,)."""
        network = self.network
        phi, c = network.hidden(theta, self._encoded, fused), network.head(theta, self._z, fused)
        S, M = len(c), len(phi)
        if self._z_of is not None and self._x_of is not None and 2 * len(self._z_of) < S * M:
            return network.combined(phi[self._x_of], c[self._z_of])
        all_ = torch.einsum("mw,sow->smo", phi, c[..., :-1]) + c[:, None, :, -1]
        grid = (all_ * network.output_scale).flatten(0, 1)
        return grid if self._z_of is None or self._x_of is None else grid[self._z_of * M + self._x_of]

    @torch.no_grad()
    def values(self) -> Tensor:
        """(n, outputs) for the network's present weights."""
        return self.evaluate(self.network.theta.detach())

    @torch.no_grad()
    def bend(self, theta: Tensor, v: Tensor) -> Tensor:
        """d^2/dt^2 of the values at theta + t v, t = 0: (n, outputs)."""

        def along(weights: Tensor) -> Tensor:
            return torch.func.jvp(self.evaluate, (weights,), (v,))[1]

        return torch.func.jvp(along, (theta,), (v,))[1]


def powers(z: Tensor) -> Tensor:
    """z, z^2, z^3 (..., 3 K) of scaled parameters (..., K): what the logarithm of sizes is linear in."""
    return torch.cat([z**k for k in range(1, _POWERS + 1)], -1)


def _through(layers: Sequence[tuple[Tensor, Tensor]], a: Tensor, activation: Any) -> Tensor:
    for w, c in layers:
        a = activation(nn.functional.linear(a, w, c))
    return a


def _swept(
    layers: Sequence[tuple[Tensor, Tensor]], a: Tensor, activation: Any, last_is_linear: bool
) -> tuple[list[Tensor], list[Tensor]]:
    """What each layer sees (and, of a last one that is not linear, gives), and slopes of the activations."""
    inputs, slopes = [a], []
    for w, c in layers[: len(layers) - last_is_linear]:
        z = nn.functional.linear(inputs[-1], w, c)
        slopes.append(activation.derivative(z))
        inputs.append(activation.value(z))
    return inputs, slopes


@NETWORKS.register
@dataclass(frozen=True)
class TrunkBranch(MLP):
    """Trunk and branch, u = sum of c_k(parameters) phi_k(x), for families of many parameters or functions.

    Attributes:
        width, depth: of the trunk; its width is the number of functions phi_k.
        branch_depth: hidden layers of the network of the parameters; 0 for answers that are linear in them.
        branch_width: units in each of them; 32 if not given.
        branch_activation: of these units; that of the trunk if not given.
        sized: a factor exp(polynomial of the parameters) for each output, for answers that vary over powers of ten.
    """

    branch_width: int | None = None
    branch_depth: int = 2
    branch_activation: str | None = None
    sized: bool = False

    name: ClassVar[str] = "trunk-branch"
    positive: ClassVar[tuple[str, ...]] = ("width", "depth", "branch_width")
    not_negative: ClassVar[tuple[str, ...]] = ("branch_depth",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.branch_depth == 0 and self.branch_width is not None:
            raise PcpinnError(
                f"branch_width={self.branch_width} is of hidden layers, and branch_depth=0 has none",
                "leave branch_width out, or give branch_depth=1 or more",
            )

    def build(self, place: Place, seed: int, dtype: torch.dtype) -> DenseNetwork:
        """Raises: PcpinnError, since a single problem has no parameters for a branch."""
        raise PcpinnError("network=trunk-branch is for families of problems", "use network=mlp")

    def of_one(self) -> MLP:
        """The trunk: a perceptron of the same keys."""
        return MLP(**{key: getattr(self, key) for key in MLP.schema()})

    def build_family(self, place: Place, parameters: int, seed: int, dtype: torch.dtype) -> Any:
        """With weights drawn from a seed."""
        generator = torch.Generator().manual_seed(seed)
        box = list(place.lower), list(place.upper)
        branch = self.branch_width or _BRANCH_WIDTH, self.branch_depth
        bend, sized, own = self.branch_activation, self.sized, self.architecture(place)
        return TrunkBranchNetwork(own, *box, place.outputs, parameters, branch, generator, dtype, bend, sized)
