"""Random features: sines and cosines of random frequencies, under one linear layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from .dense import DenseNetwork
from .recipe import MLP, NETWORKS, NetworkRecipe, Place


@NETWORKS.register
@dataclass(frozen=True)
class RandomFeatures(NetworkRecipe):
    """Sines and cosines along random directions, and a linear layer: a network whose hidden layer is not trained.

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
        recipe = MLP(depth=0, features="gaussian", feature_count=self.waves, feature_std=self.spread)
        bare = Place(place.lower, place.upper, place.outputs)
        network = recipe.build(bare, seed, dtype)
        with torch.no_grad():
            network.theta.zero_()
        return network
