"""Mesh lines along one coordinate: evenly spread, through given places, graded towards them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import PcpinnError

_RATIO = 0.2  # of neighbouring layers: each is so much thinner than the next one away from its line


def mesh_lines(lower: float, upper: float, count: int, through: Sequence[float] = (), layers: int = 0) -> np.ndarray:
    """Ascending values from `lower` to `upper`.

    Args:
        count: number of cells without the layers; spread over the pieces between the lines by their lengths.
        through: places inside where a mesh line must run.
        layers: further lines on either side of each of them, which come closer and closer.

    Raises:
        PcpinnError: when there are fewer cells than pieces.
    """
    places = sorted(c for c in set(through) if lower < c < upper)
    ends = np.array([lower, *places, upper])
    counts = _share(count, np.diff(ends))
    near = _RATIO ** np.arange(layers, 0, -1.0)  # of the cell beside a line
    values = [np.array([lower])]
    for k, (a, b, n) in enumerate(zip(ends[:-1], ends[1:], counts, strict=True)):
        inner = np.linspace(a, b, n + 1)
        size = (b - a) / n
        if layers and k > 0:
            inner = np.concatenate([inner[:1], a + size * near, inner[1:]])
        if layers and k < len(counts) - 1:
            inner = np.concatenate([inner[:-1], b - size * near[::-1], inner[-1:]])
        values.append(inner[1:])
    return np.concatenate(values)


def _share(count: int, lengths: np.ndarray) -> np.ndarray:
    """Split a number of cells over pieces: at least one each, as even as whole numbers can be."""
    if count < len(lengths):
        raise PcpinnError(
            f"{count} cells are too few for {len(lengths)} pieces between the kinks", "give more cells along that axis"
        )
    counts = np.ones(len(lengths), dtype=int)
    for _ in range(count - len(lengths)):
        counts[np.argmax(lengths / counts)] += 1
    return counts
