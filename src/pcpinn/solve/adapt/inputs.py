"""What a network is given as inputs, from a discrete solution: frequencies, and coordinates that make layers wide."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...discretize.transfer import slopes, squares, variations
from ...mesh.mesh import Mesh
from ...network.recipe import MLP
from ...network.stretched import even_places, spread
from ...problem.problem import Problem
from ..settings import Settings
from .level import Level
from .spectrum import standing_out

_LOWEST = -2  # exponent of the lowest frequency
_PER_WAVE = 2.5  # nodes that tell a wave from longer ones
_SMALL = 0.1  # of all cells: those that are smaller are not what tells
_STEEP = 0.5  # part of the stretched coordinates that is by the variation of the solution, the rest by the cells
_LITTLE = 0.1  # of the accuracy: a component that is less of its field is error or rounding, whose shape tells nothing


def inputs_of(problem: Problem, level: Level, accuracy: float) -> dict[str, Any]:
    """Settings of the network."""
    counted = _counted(level, _LITTLE * accuracy)
    frequencies = _frequencies(problem, level, counted)
    return {**frequencies, "network.stretch": True, "network.stretch_at": _places(level, counted)}


def resolved(settings: Settings, mesh: Mesh) -> Settings:
    """Without features whose waves are shorter than nodes of a mesh can tell: with these a network is right at nodes alone."""
    own = settings.network
    if not isinstance(own, MLP) or own.features not in ("log", "list"):
        return settings
    extent = np.subtract(*mesh.bounds[::-1])
    sides = np.quantile(np.ptp(mesh.nodes[mesh.vertices], axis=1), _SMALL, axis=0)
    waves = settings.mesh.degree * extent / sides / _PER_WAVE  # that can be told along each side
    if own.frequencies is not None:
        most = 2 * np.pi * waves / extent
        kept = tuple(tuple(f for f in line if f <= m) for line, m in zip(own.frequencies, most, strict=True))
        return settings.with_recipe("network", replace(own, frequencies=kept))
    high = max(
        float(np.floor(np.log2(waves.min()))) - 2, _LOWEST
    )  # a feature 2^k has 2^(k + 2) waves from side to side
    if high >= own.feature_high:
        return settings
    return settings.with_recipe("network", replace(own, feature_high=high, feature_count=int(high) - _LOWEST + 1))


def _counted(level: Level, least: float) -> np.ndarray:
    """(C,) bool: components that are so much of their fields, or more."""
    space = level.fine.space
    size = np.sqrt(squares(space, level.better).sum(axis=0))
    return np.asarray(size > least * np.repeat(level.units, [f.components for f in space.fields]))


def _frequencies(problem: Problem, level: Level, counted: np.ndarray) -> dict[str, Any]:
    """Up to those of the discrete solution, by the size of its slopes; with those that stand out."""
    space = level.fine.space
    size = np.sqrt(squares(space, level.better).sum(axis=0))
    lower, upper = level.mesh.bounds
    waves = slopes(space, level.better) * (upper - lower) / (4 * np.pi * np.maximum(size, 1e-300)[:, None])
    waves[~counted] = 0.0
    high = int(np.clip(np.ceil(np.log2(max(float(waves.max()), 1e-9))) + 1, 1, 7))
    found = standing_out(problem, level, counted)
    if not found or problem.periodic_pairs:
        return {"network.feature_high": float(high), "network.feature_count": high + 3}
    usual = 4 * np.pi * 2.0 ** np.arange(_LOWEST, high + 1)  # of coordinates from -1 to 1, as features=log has them
    lines = [sorted({*(usual / side).tolist(), *own}) for side, own in zip(upper - lower, found, strict=True)]
    return {"network.features": "list", "network.frequencies": tuple(map(tuple, lines))}


def _places(level: Level, counted: np.ndarray) -> tuple[tuple[float, ...], ...]:
    """Along each axis, between which there are as many cells, and as much of what the solution varies.

    Cells alone know of a layer no more than their own size, which may be that of the layer or more.
    """
    space, (lower, upper) = level.fine.space, level.mesh.bounds
    varied = variations(space, level.better, np.flatnonzero(counted))
    at = space.quadrature.x.reshape(varied.shape)
    result = []
    for axis in range(level.mesh.dimension):
        x, even = spread(level.mesh.nodes[level.mesh.vertices][:, :, axis])
        both = np.concatenate([x, at[:, axis]]), np.concatenate([(1 - _STEEP) * even, _STEEP * varied[:, axis]])
        result.append(tuple(even_places(*both, lower[axis], upper[axis]).tolist()))
    return tuple(result)
