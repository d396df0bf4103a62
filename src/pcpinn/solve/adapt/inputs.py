"""What a network is given as inputs, from a discrete solution: frequencies, and coordinates that make layers wide."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...discretize.transfer import slopes, squares, variations
from ...network.stretched import even_places, spread
from .level import Level

_STEEP = 0.5  # part of the stretched coordinates that is by the variation of the solution, the rest by the cells


def inputs_of(level: Level) -> dict[str, Any]:
    """Settings of the network."""
    return {**_frequencies(level), "network.stretch": True, "network.stretch_at": _places(level)}


def _frequencies(level: Level) -> dict[str, Any]:
    """Up to those of the discrete solution, by the size of its slopes."""
    space = level.fine.space
    size = np.sqrt(squares(space, level.better).sum(axis=0))
    lower, upper = level.mesh.bounds
    waves = slopes(space, level.better) * (upper - lower) / (4 * np.pi * np.maximum(size, 1e-300)[:, None])
    high = int(np.clip(np.ceil(np.log2(max(float(waves.max()), 1e-9))) + 1, 1, 7))
    return {"network.feature_high": float(high), "network.feature_count": high + 3}


def _places(level: Level) -> tuple[tuple[float, ...], ...]:
    """Along each axis, between which there are as many cells, and as much of what the solution varies.

    Cells alone know of a layer no more than their own size, which may be that of the layer or more.
    """
    space, (lower, upper) = level.fine.space, level.mesh.bounds
    varied = variations(space, level.better)
    at = space.quadrature.x.reshape(varied.shape)
    result = []
    for axis in range(level.mesh.dimension):
        x, even = spread(level.mesh.nodes[level.mesh.vertices][:, :, axis])
        both = np.concatenate([x, at[:, axis]]), np.concatenate([(1 - _STEEP) * even, _STEEP * varied[:, axis]])
        result.append(tuple(even_places(*both, lower[axis], upper[axis]).tolist()))
    return tuple(result)
