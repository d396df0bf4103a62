"""The network u_theta: scaled inputs, Fourier features, a multilayer perceptron."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import PcpinnError
from . import sloped
from .activations import ACTIVATIONS
from .along import second_along
from .boxed import BoxedNetwork
from .features import Features
from .initialisation import INITIALISATIONS, initialise_layer
from .interfaces import distance
from .jets import jet_of, through_layers
from .placed import PlacedNetwork
from .query import AT_ONCE, propagated
from .seconds import Seconds
from .separated import LARGE, Separated, separate
from .stretched import stretched

_DEEPEST = 1000  # beyond this nothing trains, and files that say so are damaged


@dataclass(frozen=True)
class Architecture:
    """Everything about a network but its weights: hidden layers, activation, initialisation, features.

    With depth 0 the outputs are linear in the features: one hidden layer of sines and cosines whose weights stay as they are.
    """

    width: int = 32
    depth: int = 3
    activation: str = "tanh"
    initialisation: str = "glorot-normal"
    features: Features = field(default_factory=Features)

    def __post_init__(self) -> None:
        if self.width < 1 or self.depth < 0:
            raise PcpinnError(
                f"width={self.width}, depth={self.depth}", "give a width of 1 or more and a depth of 0 or more"
            )
        if self.depth > _DEEPEST:
            raise PcpinnError(f"depth={self.depth}", f"give at most {_DEEPEST} hidden layers; 2 to 5 are usual")
        if self.activation not in ACTIVATIONS:
            raise PcpinnError(f"activation={self.activation!r} is not a choice", f"use {', '.join(ACTIVATIONS)}")
        if self.initialisation not in INITIALISATIONS:
            raise PcpinnError(
                f"initialisation={self.initialisation!r} is not a choice", f"use {', '.join(INITIALISATIONS)}"
            )
        if (self.initialisation == "radial") != (self.activation == "exp") or (
            self.activation == "exp" and self.depth != 1
        ):
            raise PcpinnError(
                f"initialisation={self.initialisation} with activation={self.activation} and depth={self.depth}",
                "radial units are one layer of exponentials: initialisation=radial, activation=exp, depth=1",
            )

    def layer_shapes(self, inputs: int, outputs: int) -> list[tuple[int, int]]:
        """(out, in) of each layer, for given numbers of coordinates and outputs."""
        sizes = [self.features.width(inputs)] + [self.width] * self.depth + [outputs]
        return list(zip(sizes[1:], sizes[:-1], strict=True))

    def parameter_count(self, inputs: int, outputs: int) -> int:
        """Number of weights."""
        return sum(o * i + o for o, i in self.layer_shapes(inputs, outputs))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Architecture:
        """Inverse of `to_dict`."""
        return cls(**{**data, "features": Features(**data["features"])})


def split_layers(theta: Tensor, shapes: Sequence[tuple[int, int]]) -> list[tuple[Tensor, Tensor]]:
    """Views of a flat vector: weight (out, in) and bias (out,) of each layer."""
    sizes = [size for out, inputs in shapes for size in (out * inputs, out)]
    pieces = theta.split(
        [*sizes, len(theta) - sum(sizes)]
    )  # not by slices: their gradients would be added up one by one
    return [(pieces[2 * k].view(shape), pieces[2 * k + 1]) for k, shape in enumerate(shapes)]


class DenseNetwork(BoxedNetwork):
    """A perceptron whose weights are one flat vector `theta`, so that optimisers see a plain vector; its last layer is linear."""

    frequencies: Tensor
    kink_axes: Tensor
    kinks: Tensor
    interfaces: Tensor

    def __init__(
        self,
        architecture: Architecture,
        lower: Sequence[float],
        upper: Sequence[float],
        outputs: int,
        generator: torch.Generator,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        super().__init__(lower, upper, outputs, dtype)
        self.architecture = architecture
        self._shapes = architecture.layer_shapes(
            len(lower), outputs
        )  # refuses features that do not fit the coordinates
        lo, hi = (torch.as_tensor(corner, dtype=torch.float64) for corner in (lower, upper))
        frequencies = architecture.features.frequencies(len(lo), generator, (hi - lo) / 2)
        self.register_buffer("frequencies", frequencies.to(dtype))
        at = [(axis, c) for axis, line in enumerate(architecture.features.kinks) for c in line]
        self.register_buffer("kink_axes", torch.tensor([a for a, _ in at], dtype=torch.long), persistent=False)
        self.register_buffer("kinks", torch.tensor([c for _, c in at], dtype=dtype), persistent=False)
        pieces = torch.tensor(architecture.features.interfaces, dtype=dtype).reshape(-1, len(lo), len(lo))
        self.register_buffer("interfaces", pieces, persistent=False)
        alone = architecture.features.kind == "cosines"
        self._plain = [a for a in range(len(lo)) if not alone and a not in architecture.features.periodic]
        theta = torch.empty(architecture.parameter_count(len(lo), outputs), dtype=torch.float64)
        for weight, bias in self.layers(theta):
            initialise_layer(weight, bias, architecture.initialisation, generator)
        self.theta = nn.Parameter(theta.to(dtype))
        self._activation = ACTIVATIONS[architecture.activation]

    @property
    def layer_shapes(self) -> list[tuple[int, int]]:
        """(out, in) of each layer."""
        return list(self._shapes)

    def activation(self, z: Tensor) -> Tensor:
        """What hidden layers do to each number."""
        return self._activation.value(z)

    def layers(self, theta: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Views of theta: weight (out, in) and bias (out,) of each layer."""
        return split_layers(theta, self._shapes)

    def encode(self, x: Tensor) -> Tensor:
        """What the first layer sees of points (..., d): scaled coordinates and features; no weights in it."""
        scaled = self.scaled(x)
        phase = scaled @ self.frequencies
        plain = scaled if len(self._plain) == self.inputs else scaled[..., self._plain]
        parts = [plain, torch.sin(phase), torch.cos(phase)]
        if len(self.kinks):
            parts.insert(1, torch.abs(x[..., self.kink_axes] - self.kinks) / self.half_width[self.kink_axes])
        if self.architecture.features.kind == "cosines":
            parts.append(self.architecture.features.cosines(scaled))
        if self.architecture.features.corners:
            parts += self.architecture.features.at_corners(x, 2 * self.half_width.max())
        for axis, knots in enumerate(self.architecture.features.stretch):
            if knots:
                parts.append(stretched(x[..., axis], torch.tensor(knots).to(x))[..., None])
        start = self.architecture.features.start
        if start > 0:
            parts.append(torch.sqrt(((scaled[..., -1:] + 1) / 2).clamp(min=0) + start))
        if len(self.interfaces):
            parts.append(distance(x, self.interfaces, 2 * self.half_width.max()))
        if self.architecture.features.squares:
            parts.append(plain**2)
        return torch.cat(parts, dim=-1)

    @torch.no_grad()
    def encode_once(self, x: Tensor, rows: int = 16_384) -> Tensor:
        """The same for points (n, d) that stay where they are: a part at a time, so that little but the result needs memory."""
        if len(x) <= rows:
            return self.encode(x)
        first = self.encode(x[:rows])
        result = first.new_empty(len(x), first.shape[1])
        result[:rows] = first
        for k in range(rows, len(x), rows):
            result[k : k + rows] = self.encode(x[k : k + rows])
        return result

    def bare(self, theta: Tensor, x: Tensor) -> Tensor:
        """The same without the ansatz; without derivatives many points are taken a part at a time: features need memory."""
        rows = AT_ONCE // self._shapes[0][1] + 1
        if torch.compiler.is_compiling() or torch.is_grad_enabled() or x.ndim != 2 or len(x) <= rows:
            return self.propagate(theta, self.encode(x))
        return torch.cat([self.propagate(theta, self.encode(part)) for part in x.split(rows)])

    def _queried(
        self,
        layers: Sequence[tuple[Tensor, Tensor]],
        encode: Callable[[Tensor], Tensor],
        x: Tensor,
        dtype: torch.dtype | None,
    ) -> Tensor:
        """Values without derivatives, in `dtype`; many points a part at a time, as in `bare`."""
        parts = x.split(AT_ONCE // self._shapes[0][1] + 1)
        values = [propagated(layers, self._activation, encode(part).to(dtype or part.dtype)) for part in parts]
        return torch.cat(values).to(self.theta) * self.output_scale

    def jets(self, points: Tensor, seconds: Seconds) -> Callable[[Tensor], Tensor]:
        """theta -> jet (1 + d + s, n, outputs) at points (n, d) that stay where they are, without the ansatz: see jets.py."""
        encoded = jet_of(self.encode, points, seconds)

        def at(theta: Tensor) -> Tensor:
            layers = self.layers(theta)
            return through_layers(encoded, layers, self._activation, self.inputs, seconds) * self.output_scale

        return at

    def sloped_jets(self, points: Tensor, seconds: Seconds) -> Callable[[Tensor], Tensor] | None:
        """The same with the slopes of one sum of second derivatives, for which see sloped.py.

        None where reverse mode is less work: for one output, unless activations are kernels.
        """
        if self.outputs == 1 and not sloped.has_kernels(self.theta, self._activation):
            return None
        encoded = sloped.sloped_jet_of(self.encode, points, seconds)

        def at(theta: Tensor) -> Tensor:
            rows = sloped.through_layers(encoded, self.layers(theta), self._activation, self.inputs, seconds)
            return rows * self.output_scale

        return at

    def separated(self, points: Tensor) -> Separated | None:
        """The table of features at points (n, d), by its factors; None unless it is large and there are such."""
        if self.architecture.depth or len(points) * self._shapes[0][1] <= LARGE:
            return None
        return separate(self.architecture.features, self.scaled(points.detach()), self.frequencies)

    def place(self, points: Tensor) -> PlacedNetwork:
        """The network at points (n, d) that stay where they are."""
        return PlacedNetwork(self, points)

    def copy_from(self, other: object) -> bool:
        """Take weights, frequencies and unit of another perceptron of the same architecture and box; False if it is not one.

        Coordinates that are stretched by another mesh are taken over with them.
        """
        if not isinstance(other, DenseNetwork):
            return False
        own, theirs = self.architecture.features.stretch, other.architecture.features.stretch
        alike = replace(self.architecture, features=replace(self.architecture.features, stretch=theirs))
        same = (
            other.architecture == alike
            and list(map(bool, own)) == list(map(bool, theirs))
            and other.outputs == self.outputs
            and all(torch.equal(getattr(other, k).cpu(), getattr(self, k).cpu()) for k in ("centre", "half_width"))
            and other.frequencies.shape == self.frequencies.shape
        )
        if same:
            self.architecture = alike
            self.output_scale = other.output_scale.clone().to(self.theta)
            with torch.no_grad():
                for key in ("theta", "frequencies"):
                    getattr(self, key).copy_(getattr(other, key))
        return same

    def propagate(self, theta: Tensor, encoded: Tensor, fused: bool = False) -> Tensor:
        """The layers alone (no ansatz), on encoded points; `fused` is faster where nothing but a gradient by theta is wanted."""
        weight, bias = self.layers(theta)[-1]
        return nn.functional.linear(self.hidden(theta, encoded, fused), weight, bias) * self.output_scale

    def hidden(self, theta: Tensor, encoded: Tensor, fused: bool = False) -> Tensor:
        """What the last layer sees: (..., width)."""
        activation = self._activation.fused if fused else self._activation.value
        a = encoded
        for w, c in self.layers(theta)[:-1]:
            a = activation(nn.functional.linear(a, w, c))
        return a

    def bend(self, theta: Tensor, v: Tensor, encoded: Tensor) -> Tensor:
        """d^2/dt^2 of `propagate` at theta + t v, t = 0: (n, outputs), without derivatives."""
        return second_along(self.layers(theta), self.layers(v), self._activation, encoded) * self.output_scale

    @property
    def head_size(self) -> int:
        """Number of weights of the last layer: the end of theta."""
        out, inputs = self._shapes[-1]
        return out * (inputs + 1)

    @torch.no_grad()
    def jacobian(self, x: Tensor, component: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """d u_component(x) / d theta for points (n, d), one output each (n,): a matrix (n, p) of `dtype`, layer by layer.

        A weight's derivative at one point is (sensitivity of its output) x (its input); one backward sweep gives all. An
        ansatz is not in it.
        """
        layers = self.layers(self.theta)
        inputs, slopes = [self.encode(x)], []
        for w, c in layers[:-1]:
            z = nn.functional.linear(inputs[-1], w, c)
            slopes.append(self._activation.derivative(z))
            inputs.append(self._activation.value(z))
        delta = nn.functional.one_hot(component, self.outputs).to(x.dtype) * self.output_scale
        result = torch.empty(len(x), self.parameter_count, dtype=dtype or x.dtype, device=x.device)
        weight_gradients(result, layers, inputs, slopes, delta)
        return result


def weight_gradients(
    result: Tensor,
    layers: Sequence[tuple[Tensor, Tensor]],
    inputs: Sequence[Tensor],
    slopes: Sequence[Tensor],
    delta: Tensor,
) -> None:
    """Fill result (n, p) with derivatives by the weights of layers, from the last one backwards.

    Args:
        result: where they go, in the order of `split_layers`.
        layers: weights and biases.
        inputs: (n, in) what each layer sees.
        slopes: (n, out) of the activation after each layer but the last.
        delta: (n, out) derivative by what the last layer gives.
    """
    end = result.shape[1]
    for k in reversed(range(len(layers))):
        out, fan_in = layers[k][0].shape
        d, a = delta.to(result.dtype), inputs[k].to(result.dtype)
        result[:, end - out : end] = d
        end -= out
        block = result[:, end - out * fan_in : end].unflatten(1, (out, fan_in))
        torch.mul(d[:, :, None], a[:, None, :], out=block)
        end -= out * fan_in
        if k:
            delta = (delta @ layers[k][0]) * slopes[k - 1]


@torch.no_grad()
def perceptron_like(other: Any) -> DenseNetwork:
    """A perceptron of x with the architecture, box, frequencies and unit of another network; its weights are still to be set."""
    box = (other.centre - other.half_width).tolist(), (other.centre + other.half_width).tolist()
    network = DenseNetwork(other.architecture, *box, other.outputs, torch.Generator(), other.theta.dtype)
    network = network.to(other.theta.device)
    for name in ("frequencies", "centre", "half_width"):
        getattr(network, name).copy_(getattr(other, name))
    network.output_scale = other.output_scale.clone()
    return network
