"""Larger networks that are the same function: new units count for nothing until training gives them weight."""

from __future__ import annotations

from dataclasses import replace

import torch

from .dense import DenseNetwork


@torch.no_grad()
def widened(network: DenseNetwork, width: int, seed: int) -> DenseNetwork:
    """The network with `width` units per hidden layer, the same function as before.

    New units have random weights from what is below them, and weights zero to what is above.
    """
    old = network.architecture
    lower = (network.centre - network.half_width).tolist()
    upper = (network.centre + network.half_width).tolist()
    generator = torch.Generator().manual_seed(seed)
    grown = DenseNetwork(replace(old, width=width), lower, upper, network.outputs, generator, network.theta.dtype).to(
        network.theta.device
    )
    grown.frequencies.copy_(network.frequencies)
    grown.output_scale = network.output_scale.clone()
    pairs = zip(network.layers(network.theta), grown.layers(grown.theta), strict=True)
    for k, ((w, b), (W, B)) in enumerate(pairs):
        rows, columns = w.shape
        if k:
            W[:rows, columns:] = 0.0
        W[:rows, :columns] = w
        B[:rows] = b
    return grown
