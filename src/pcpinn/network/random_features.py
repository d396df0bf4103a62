"""Random features: sines and cosines of random frequencies, under one linear layer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch

from .dense import DenseNetwork
from .recipe import MLP, NETWORKS, NetworkRecipe, Place


@NETWORKS.register
@dataclass(frozen=True)
class RandomFeatures(NetworkRecipe):
    """Sines and cosines along random directions, and a linear layer: a network whose hidden layer is not trained.

    With corners each wave also runs through what one of them, drawn by lot, adds to the inputs: log r and the direction from it.
    So what is singular in the middle of a hole is within reach outside.

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
        if place.corners:
            return self._around_corners(place, seed, dtype)
        recipe = MLP(depth=0, features="gaussian", feature_count=self.waves, feature_std=self.spread)
        bare = Place(place.lower, place.upper, place.outputs)
        network = recipe.build(bare, seed, dtype)
        with torch.no_grad():
            network.theta.zero_()
        return network

    def _around_corners(self, place: Place, seed: int, dtype: torch.dtype) -> DenseNetwork:
        """One hidden layer of sines, whose weights are the frequencies."""
        d = len(place.lower)
        bare = Place(place.lower, place.upper, place.outputs, corners=place.corners, corner_size=place.corner_size)
        recipe = MLP(width=2 * self.waves, depth=1, activation="sin", features="none")
        network = recipe.build(bare, seed, dtype)
        generator = torch.Generator().manual_seed(seed)
        own = torch.randint(len(place.corners), (self.waves,), generator=generator)
        seen = torch.arange(len(place.corners)).repeat_interleave(1 + d) == own[:, None]  # log r and d numbers of each
        drawn = torch.randn(self.waves, d + seen.shape[1], generator=generator, dtype=torch.float64)
        drawn[:, d:] *= seen
        with torch.no_grad():
            network.theta.zero_()
            weight, bias = network.layers(network.theta)[0]
            weight.copy_((self.spread * drawn).repeat(2, 1))
            bias[self.waves :] = math.pi / 2
        return network
