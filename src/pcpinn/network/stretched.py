"""Coordinates in which the cells of a mesh are about equally many: layers and corners that it was refined for become wide.

For each axis a monotone map of the coordinate, half of it the coordinate itself and half the distribution of the mesh's nodes: a
cubic with continuous slope between knots (x, y, slope).
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.interpolate import PchipInterpolator
from scipy.ndimage import gaussian_filter1d
from torch import Tensor

Knots = tuple[tuple[float, float, float], ...]

_KNOTS = 65
_SMOOTH = 3.0  # distances of knots are averaged over so many neighbours: meshes change theirs in jumps
_UNEVEN = 0.02  # maps that differ from the coordinate by less, relative to its range, are left out


def stretches(nodes: np.ndarray, periodic: tuple[int, ...] = ()) -> tuple[Knots, ...]:
    """A map per axis for nodes (n, d), to [-1, 1]; empty for periodic axes, and for all where nodes are spread evenly."""
    result: list[Knots] = []
    for axis in range(nodes.shape[1]):
        x = np.sort(nodes[:, axis])
        low, high = x[0], x[-1]
        own = low + (high - low) * _graded(x)
        ranks = np.linspace(0, 1, _KNOTS)
        even = (own - low) / (high - low)
        if axis in periodic or np.abs(ranks - even).max() < _UNEVEN:
            result.append(())
            continue
        y = ranks + even - 1
        slope = PchipInterpolator(own, y)(own, 1)
        result.append(tuple(zip(own.tolist(), y.tolist(), slope.tolist(), strict=True)))
    return tuple(result) if any(result) else ()


def _graded(x: np.ndarray) -> np.ndarray:
    """(k,) places from 0 to 1 between which sorted coordinates are about equally many, their distances changing smoothly."""
    places = np.quantile(x, np.linspace(0, 1, _KNOTS))
    lengths = np.log(np.maximum(np.diff(places), 1e-6 * (x[-1] - x[0]) / _KNOTS))
    smooth = np.exp(gaussian_filter1d(lengths, _SMOOTH, mode="nearest"))
    return np.concatenate([[0.0], np.cumsum(smooth)]) / smooth.sum()


def stretched(x: Tensor, knots: Tensor) -> Tensor:
    """The map with knots (k, 3) at coordinates x (...); straight on beyond the ends."""
    at, y, slope = knots.T.contiguous()
    with torch.no_grad():
        k = (torch.searchsorted(at, x.detach().contiguous()) - 1).clamp(0, len(at) - 2)
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
