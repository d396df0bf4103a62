"""What a network is given as inputs, from a discrete solution: frequencies, and coordinates that make layers wide."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...discretize.transfer import slopes, squares, variations
from ...network.stretched import even_places, spread
from ...problem.problem import Problem
from .level import Level
from .spectrum import standing_out

_LOWEST = -2  # exponent of the lowest frequency
_STEEP = 0.5  # part of the stretched coordinates that is by the variation of the solution, the rest by the cells


def inputs_of(problem: Problem, level: Level) -> dict[str, Any]:
    """Settings of the network."""
    return {**_frequencies(problem, level), "network.stretch": True, "network.stretch_at": _places(level)}


def _frequencies(problem: Problem, level: Level) -> dict[str, Any]:
    """Up to those of the discrete solution, by the size of its slopes; with those that stand out."""
    space = level.fine.space
    size = np.sqrt(squares(space, level.better).sum(axis=0))
    lower, upper = level.mesh.bounds
    waves = slopes(space, level.better) * (upper - lower) / (4 * np.pi * np.maximum(size, 1e-300)[:, None])
    high = int(np.clip(np.ceil(np.log2(max(float(waves.max()), 1e-9))) + 1, 1, 7))
    found = standing_out(problem, level)
    if not found or problem.periodic_pairs:
        return {"network.feature_high": float(high), "network.feature_count": high + 3}
    usual = 4 * np.pi * 2.0 ** np.arange(_LOWEST, high + 1)  # of coordinates from -1 to 1, as features=log has them
    lines = [sorted({*(usual / side).tolist(), *own}) for side, own in zip(upper - lower, found, strict=True)]
    return {"network.features": "list", "network.frequencies": tuple(map(tuple, lines))}


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
