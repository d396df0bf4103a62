"""Random features: sines and cosines of random frequencies, under one linear layer."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from .dense import DenseNetwork
from .recipe import MLP, NETWORKS, NetworkRecipe, Place


@NETWORKS.register
@dataclass(frozen=True)
class RandomFeatures(NetworkRecipe):
    """Sines and cosines along random directions, and a linear layer: a network whose hidden layer is not trained.

    Along periodic axes frequencies are whole numbers of waves. Kinks, a sudden start and corners add inputs, and each wave runs
    through these, too: through all distances from kinks, and of the corners through what one of them, drawn by lot, adds (log r
    and the direction from it). So what is singular in the middle of a hole is within reach outside.

    Attributes:
        waves: number of frequencies; each gives a sine and a cosine.
        spread: standard deviation of the frequencies, in radians per half of the domain.
    """

    waves: int = 300
    spread: float = 5.0

    name: ClassVar[str] = "random-features"
    positive: ClassVar[tuple[str, ...]] = ("waves", "spread")

    def build(self, place: Place, seed: int, dtype: torch.dtype) -> DenseNetwork:
        """With frequencies drawn from a seed, and a linear layer of zeros."""
        if place.corners or place.start or any(place.kinks):
            return self._through_inputs(place, seed, dtype)
        recipe = MLP(depth=0, features="gaussian", feature_count=self.waves, feature_std=self.spread)
        network = recipe.build(replace(place, stretch=()), seed, dtype)
        with torch.no_grad():
            network.theta.zero_()
        return network

    def _through_inputs(self, place: Place, seed: int, dtype: torch.dtype) -> DenseNetwork:
        """One hidden layer of sines, whose weights are the frequencies."""
        recipe = MLP(width=2 * self.waves, depth=1, activation="sin", features="none", feature_count=1)
        network = recipe.build(replace(place, stretch=()), seed, dtype)
        generator = torch.Generator().manual_seed(seed)
        own = torch.randint(max(1, len(place.corners)), (self.waves,), generator=generator)
        inputs = network.layer_shapes[0][1]
        each = 1 + len(place.lower)  # log r and the direction, of each corner
        last = inputs - (place.start > 0)
        drawn = torch.randn(self.waves, inputs, generator=generator, dtype=torch.float64)
        seen = torch.arange(len(place.corners)).repeat_interleave(each) == own[:, None]
        drawn[:, last - seen.shape[1] : last] *= seen
        with torch.no_grad():
            network.theta.zero_()
            weight, bias = network.layers(network.theta)[0]
            weight.copy_((self.spread * drawn).repeat(2, 1))
            bias[self.waves :] = math.pi / 2
        return network
