"""Hidden units where the mesh has its cells: many where it is fine, and as steep as its cells are small.

A mesh that was refined for a solution knows where this varies; a network that starts so resolves the same layers and corners
before any training.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from .dense import DenseNetwork


@torch.no_grad()
def centre_units(network: DenseNetwork, centres: np.ndarray, sizes: np.ndarray, seed: int) -> None:
    """Give every other unit of the first hidden layer a centre in a cell, a random direction and a width.

    Widths are spread (in logarithms) from the cell's size to that of the domain, more of them small ones. Along periodic axes
    units see the coordinate through the sine and cosine of one wave.

    Args:
        network: with at least one hidden layer.
        centres, sizes: (c, d) and (c,) of the cells.
        seed: of the random choices.
    """
    if network.architecture.depth < 1:
        return
    random = np.random.default_rng([seed, 17])
    weight, bias = network.layers(network.theta)[0]
    units = np.arange(0, len(bias), 2)
    middle, half = network.centre.double().cpu().numpy(), network.half_width.double().cpu().numpy()
    own = random.integers(0, len(centres), len(units))
    direction = random.normal(size=(len(units), network.inputs))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    extent = 2 * half.max()
    spread = random.random(len(units)) * random.random(len(units))
    width = sizes[own] * np.maximum(extent / sizes[own], 1.0) ** spread
    at = (centres[own] + random.normal(scale=0.3, size=direction.shape) * sizes[own, None] - middle) / half
    slope = direction * half / width[:, None]
    rows, shift = np.zeros((len(units), weight.shape[1])), np.zeros(len(units))
    features = network.architecture.features
    plain = [a for a in range(network.inputs) if a not in features.periodic]
    for column, axis in enumerate(plain):
        rows[:, column] = slope[:, axis]
        shift -= slope[:, axis] * at[:, axis]
    first = len(plain) + sum(map(len, features.kinks))
    frequencies = network.frequencies.double().cpu().numpy()
    for axis in features.periodic:
        wave = _lowest(frequencies, axis)
        if wave is None:
            continue
        k, number = wave
        rows[:, first + number] = slope[:, axis] / k * np.cos(k * at[:, axis])
        rows[:, first + frequencies.shape[1] + number] = -slope[:, axis] / k * np.sin(k * at[:, axis])
    weight[units] = torch.from_numpy(rows).to(weight)
    bias[units] = torch.from_numpy(shift).to(bias)
    others = np.arange(1, len(bias), 2)
    bias[others] = torch.from_numpy(random.uniform(-1, 1, len(others))).to(bias)


def _lowest(frequencies: np.ndarray, axis: int) -> tuple[float, int] | None:
    """The lowest frequency along one axis alone, and its number."""
    along = np.abs(frequencies[axis])
    alone = (np.abs(np.delete(frequencies, axis, axis=0)) < 1e-12).all(axis=0) & (along > 0)
    if not alone.any():
        return None
    number = int(np.argmin(np.where(alone, along, math.inf)))
    return float(frequencies[axis, number]), number
