"""FBPINN (Moseley et al. 2023): small networks on overlapping parts of the box, blended by smooth windows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from .activations import ACTIVATIONS
from .jets import jet_of, through_layers, times
from .module_recipe import ModuleRecipe
from .recipe import NETWORKS, Place
from .seconds import Seconds

_STEEPNESS = 8.0  # a window falls from 0.98 to 0.02 within the overlap


class Subdomains(nn.Module):
    """u(x) = sum over parts s of window_s(x) N_s(x), with N_s a tanh perceptron in coordinates of its own part.

    Parts are the cells of a regular grid of [-1, 1]^d. Windows rise and fall as sigmoids at the inner edges of the grid, along
    each axis divided by their sum; those of a part are products over the axes. They add up to one everywhere.

    Attributes:
        weights, biases: of each layer, for all parts together: (parts, out, in), (parts, out).
    """

    edges: Tensor
    lower: Tensor
    upper: Tensor

    def __init__(self, d: int, outputs: int, width: int, depth: int, parts: int, overlap: float) -> None:
        super().__init__()
        edges = torch.linspace(-1, 1, parts + 1, dtype=torch.float64)
        corners = [torch.cartesian_prod(*[line] * d).reshape(-1, d) for line in (edges[:-1], edges[1:])]
        self.register_buffer("edges", edges)
        self.register_buffer("lower", corners[0])
        self.register_buffer("upper", corners[1])
        self.fall = overlap * 2 / parts / _STEEPNESS
        sizes = [d, *[width] * depth, outputs]
        count = len(self.lower)
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for inputs, out in itertools.pairwise(sizes):
            scale = math.sqrt(2 / (inputs + out))
            self.weights.append(nn.Parameter(scale * torch.randn(count, out, inputs, dtype=torch.float64)))
            self.biases.append(nn.Parameter(torch.zeros(count, out, dtype=torch.float64)))

    def windows(self, x: Tensor) -> Tensor:
        """(n, d) -> (parts^d, n): smooth, of sum one; those at the ends of the box do not fall off there."""
        rise = torch.sigmoid((x[..., None] - self.edges[1:-1]) / self.fall)  # (n, d, parts - 1), at each inner edge
        one = torch.ones_like(x[..., None])
        along = torch.cat([one, rise], dim=-1) * (1 - torch.cat([rise, 0 * one], dim=-1))
        along = along / along.sum(-1, keepdim=True)
        product = along[:, 0]
        for axis in range(1, x.shape[1]):
            product = (product[:, :, None] * along[:, axis, None, :]).flatten(1)
        return product.T

    def forward(self, x: Tensor) -> Tensor:
        """(n, d) scaled points -> (n, outputs)."""
        centre, half = (self.lower + self.upper) / 2, (self.upper - self.lower) / 2
        a = (x[None] - centre[:, None]) / half[:, None]
        last = len(self.weights) - 1
        for k, (w, c) in enumerate(zip(self.weights, self.biases, strict=True)):
            a = a @ w.transpose(1, 2) + c[:, None]
            a = a if k == last else torch.tanh(a)
        return (self.windows(x)[:, :, None] * a).sum(0)

    def jets(self, x: Tensor, seconds: Seconds) -> Callable[[Mapping[str, Tensor]], Tensor]:
        """Weights by name -> jet (1 + d + s, n, outputs) at scaled points; windows have no weights."""
        centre, half = (self.lower + self.upper) / 2, (self.upper - self.lower) / 2
        local = jet_of(lambda p: (p[None] - centre[:, None]) / half[:, None], x, seconds)
        windows, d = jet_of(self.windows, x, seconds)[..., None], x.shape[1]

        def at(parts: Mapping[str, Tensor]) -> Tensor:
            layers = [(parts[f"weights.{k}"], parts[f"biases.{k}"]) for k in range(len(self.weights))]
            own = through_layers(local, layers, ACTIVATIONS["tanh"], d, seconds)
            return times(windows, own, d, seconds).sum(1)

        return at


@NETWORKS.register
@dataclass(frozen=True)
class FBPINN(ModuleRecipe):
    """Small networks on overlapping parts of the domain's box, time included, blended by smooth windows.

    Attributes:
        width, depth: of the network of each part: units per hidden layer, number of hidden layers.
        parts: along each axis.
        overlap: width of the zones where neighbours are blended, relative to the size of a part.
    """

    width: int = 16
    depth: int = 2
    parts: int = 2
    overlap: float = 0.5

    name: ClassVar[str] = "fbpinn"
    unseen: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("kinks", "lines", "corners", "corner_size"), "networks of parts see the coordinates alone"
    )
    positive: ClassVar[tuple[str, ...]] = ("width", "depth", "parts", "overlap")

    def module(self, place: Place) -> nn.Module:
        """With weights of Glorot's size."""
        return Subdomains(len(place.lower), place.outputs, self.width, self.depth, self.parts, self.overlap)
