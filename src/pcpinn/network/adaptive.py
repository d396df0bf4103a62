"""Networks with trainable slopes of their activations (Jagtap et al. 2020): tanh(n a z), a by layer, by neuron, or one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from ..recipes import PerAxis
from .activations import ACTIVATIONS
from .dense import DenseNetwork
from .features import unread_features
from .jets import jet_of, through_layers
from .module_recipe import ModuleRecipe
from .recipe import MLP, NETWORKS, Place
from .seconds import Seconds


class AdaptiveSlopes(nn.Module):
    """A perceptron with the features of `MLP` whose hidden layers are tanh(factor * slope * z).

    Attributes:
        slopes: (depth,), (depth, width) or (1,), trained; 1 / factor at first, so that the activation is tanh.
    """

    def __init__(self, base: DenseNetwork, slopes: tuple[int, ...], factor: float) -> None:
        super().__init__()
        self.base, self.factor = base, factor
        self.slopes = nn.Parameter(torch.full(slopes, 1 / factor, dtype=torch.float64))

    def forward(self, scaled: Tensor) -> Tensor:
        """(n, d) scaled points -> (n, outputs)."""
        base = self.base
        a = base.encode(base.centre + base.half_width * scaled)
        *hidden, (weight, bias) = base.layers(base.theta)
        for (w, c), slope in zip(hidden, self.slopes.expand(len(hidden), *self.slopes.shape[1:]), strict=True):
            a = torch.tanh(self.factor * slope * nn.functional.linear(a, w, c))
        return nn.functional.linear(a, weight, bias)

    def jets(self, scaled: Tensor, seconds: Seconds) -> Callable[[Mapping[str, Tensor]], Tensor]:
        """Weights by name -> jet (1 + d + s, n, outputs) at scaled points: slopes of activations are factors of the weights."""
        base, tanh = self.base, ACTIVATIONS["tanh"]
        encoded = jet_of(lambda s: base.encode(base.centre + base.half_width * s), scaled, seconds)

        def at(parts: Mapping[str, Tensor]) -> Tensor:
            *hidden, last = base.layers(parts["base.theta"])
            slopes = (self.factor * parts["slopes"]).expand(len(hidden), *self.slopes.shape[1:])
            own = [(s[..., None] * w, s * c) for s, (w, c) in zip(slopes, hidden, strict=True)]
            return through_layers(encoded, [*own, last], tanh, scaled.shape[1], seconds)

        return at


@dataclass(frozen=True)
class AdaptiveMLP(ModuleRecipe):
    """A multilayer perceptron with activations tanh(n a z) of trainable slope a.

    Attributes:
        width, depth: units per hidden layer, and number of hidden layers.
        factor: n.
        initialisation, features, feature_count, feature_low, feature_high, feature_std, frequencies: as of network=mlp.
    """

    width: int = 24
    depth: int = 3
    factor: float = 1.0
    initialisation: str = "glorot-normal"
    features: Literal["none", "log", "gaussian", "list"] = "log"
    feature_count: int = 4
    feature_low: float = -2.0
    feature_high: float = 1.0
    feature_std: float = torch.pi
    frequencies: PerAxis | None = None

    positive: ClassVar[tuple[str, ...]] = ("width", "depth", "factor")

    def unread(self) -> Mapping[str, str]:
        """Keys of other kinds of features."""
        return unread_features(self.features)

    @property
    def slopes(self) -> tuple[int, ...]:
        """Shape of the slopes."""
        raise NotImplementedError

    def module(self, place: Place) -> AdaptiveSlopes:
        """The perceptron of an MLP with these keys, and slopes."""
        keys = {key: getattr(self, key) for key in self.schema() if key in MLP.schema()}
        seed = int(torch.randint(2**31, ()))
        base = MLP(**keys).build(place, seed, torch.float64)
        return AdaptiveSlopes(base, self.slopes, self.factor)


@NETWORKS.register
@dataclass(frozen=True)
class LAAF(AdaptiveMLP):
    """A multilayer perceptron with activations tanh(n a z), a trainable slope a for each layer or each neuron.

    Attributes:
        per: layer or neuron: what has a slope of its own.
    """

    per: Literal["layer", "neuron"] = "layer"

    name: ClassVar[str] = "laaf"

    @property
    def slopes(self) -> tuple[int, ...]:
        """Shape of the slopes."""
        return (self.depth,) if self.per == "layer" else (self.depth, self.width)


@NETWORKS.register
@dataclass(frozen=True)
class GAAF(AdaptiveMLP):
    """A multilayer perceptron with activations tanh(n a z), one trainable slope a for all layers."""

    name: ClassVar[str] = "gaaf"

    @property
    def slopes(self) -> tuple[int, ...]:
        """Shape of the slopes."""
        return (1,)
