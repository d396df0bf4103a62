"""Coordinates in which the cells of a mesh are about equally many: layers and corners that it was refined for become wide.

For each axis a monotone map of the coordinate, half of it the coordinate itself and half the distribution of the mesh's cells, or
of whatever else is to be spread evenly: a cubic with continuous slope between knots (x, y, slope).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy.interpolate import PchipInterpolator
from scipy.ndimage import gaussian_filter1d
from torch import Tensor

Knots = tuple[tuple[float, float, float], ...]

_KNOTS = 65
_PER_CELL = 8  # points that a cell counts as
_SMOOTH = 3.0  # distances of knots are averaged over so many neighbours: meshes change theirs in jumps
_UNEVEN = 0.02  # maps that differ from the coordinate by less, relative to its range, are left out


def stretches(
    cells: np.ndarray, periodic: tuple[int, ...] = (), at: Sequence[Sequence[float]] | None = None
) -> tuple[Knots, ...]:
    """A map per axis, to [-1, 1], for cells with corners (c, v, d); empty for periodic axes, and for all where cells are even.

    `at` gives the places along each axis that the map spreads evenly, instead of those between which cells are equally many.
    """
    result: list[Knots] = []
    for axis in range(cells.shape[2]):
        low, high = cells[:, :, axis].min(), cells[:, :, axis].max()
        places = np.array(at[axis]) if at else even_places(*spread(cells[:, :, axis]), low, high)
        even = _graded(places, low, high)
        ranks = np.linspace(0, 1, len(even))
        if axis in periodic or np.abs(ranks - even).max() < _UNEVEN:
            result.append(())
            continue
        own, y = low + (high - low) * even, ranks + even - 1
        slope = PchipInterpolator(own, y)(own, 1)
        result.append(tuple(zip(own.tolist(), y.tolist(), slope.tolist(), strict=True)))
    return tuple(result) if any(result) else ()


def spread(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (n,) and weights (n,), together 1, of cells with corners (c, v) along an axis: each along all its extent.

    Not of nodes: many of these share the coordinate of a straight wall, and a map by them would be endlessly steep there.
    """
    first, last = corners.min(axis=1), corners.max(axis=1)
    x = first[:, None] + (last - first)[:, None] * (np.arange(_PER_CELL) + 0.5) / _PER_CELL
    return x.ravel(), np.full(x.size, 1 / x.size)


def even_places(x: np.ndarray, weights: np.ndarray, low: float, high: float) -> np.ndarray:
    """(k,) places from low to high between which coordinates (n,) have the same weight (n,)."""
    order = np.argsort(x, kind="stable")
    w = weights[order] / weights.sum()
    below = np.concatenate([[0.0], np.cumsum(w) - w / 2, [1.0]])
    return np.interp(np.linspace(0, 1, _KNOTS), below, np.concatenate([[low], x[order], [high]]))


def _graded(places: np.ndarray, low: float, high: float) -> np.ndarray:
    """(k,) the same places from 0 to 1, their distances changing smoothly."""
    lengths = np.log(np.maximum(np.diff(places), 1e-6 * (high - low) / len(places)))
    smooth = np.exp(gaussian_filter1d(lengths, _SMOOTH, mode="nearest"))
    return np.concatenate([[0.0], np.cumsum(smooth)]) / smooth.sum()


def stretched(x: Tensor, knots: Tensor) -> Tensor:
    """The map with knots (k, 3) at coordinates x (...); straight on beyond the ends."""
    at, y, slope = knots.T.contiguous()
    k = (at[1:-1] < x.detach()[..., None]).sum(-1)  # not torch.searchsorted, which ONNX does not know
    length = at[k + 1] - at[k]
    t = (x - at[k]) / length
    inside = t.clamp(0, 1)
    value = (
        (1 + 2 * inside) * (1 - inside) ** 2 * y[k]
        + inside * (1 - inside) ** 2 * length * slope[k]
        + inside**2 * (3 - 2 * inside) * y[k + 1]
        + inside**2 * (inside - 1) * length * slope[k + 1]
    )
    beyond = (t - inside) * length
    return value + beyond * torch.where(t > 0.5, slope[k + 1], slope[k])
