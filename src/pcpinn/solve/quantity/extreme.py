"""Where a function of the fields is largest: sampled in all cells, then narrowed down inside the best of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
from torch import Tensor

from ...discretize.batches import Batch
from ...discretize.places import in_cells_at
from ...discretize.space import Space
from ...errors import PcpinnError

_FINENESS = {1: 8, 2: 6, 3: 4}  # samples along the edges of a cell
_BEST = 12  # cells that are searched further
_STEPS = 40


def highest(space: Space, function: Callable[[Batch], Tensor]) -> np.ndarray:
    """(1, d) where a function of the points of batches (n,) is largest, as far as a search in reference coordinates finds.

    The search never leaves its cell, so that it ends on a boundary if the function grows towards it.

    Raises:
        PcpinnError: where the function is not a number.
    """
    d, count = space.mesh.dimension, len(space.mesh.cells)
    fineness = _FINENESS[d]
    lattice = np.array([p for p in product(range(fineness + 1), repeat=d) if sum(p) <= fineness]) / fineness  # (s, d)
    best, first = np.empty(count), np.empty((count, d))
    step = max(1, 20_000 // len(lattice))
    for start in range(0, count, step):
        cells = np.arange(start, min(start + step, count))
        values = _at(space, cells, np.repeat(lattice[None], len(cells), axis=0), function)
        at = values.argmax(axis=1)
        best[cells], first[cells] = values[np.arange(len(cells)), at], lattice[at]
    cells = np.argsort(-best, kind="stable")[:_BEST]
    X, height = first[cells], best[cells]
    offsets = np.array([p for p in product((-1.0, 0.0, 1.0), repeat=d) if any(p)])
    reach = 0.5 / fineness
    for _ in range(_STEPS):
        tried = _onto_simplex(X[:, None] + reach * offsets)
        values = _at(space, cells, tried, function)
        at = values.argmax(axis=1)
        found = values[np.arange(len(cells)), at]
        better = found > height
        X[better], height[better] = tried[better, at[better]], found[better]
        reach = reach if better.any() else reach / 2
        if reach < 1e-9:
            break
    chosen = int(height.argmax())
    batch = in_cells_at(space, cells[chosen : chosen + 1], X[chosen][:, None, None], np.ones((1, 1)))
    return batch.points.numpy()


def _at(space: Space, cells: np.ndarray, X: np.ndarray, function: Callable[[Batch], Tensor]) -> np.ndarray:
    """(m, q) at reference points X (m, q, d)."""
    batch = in_cells_at(space, cells, np.moveaxis(X, -1, 0), np.ones(X.shape[:2]))
    values = function(batch).reshape(X.shape[:2]).numpy()
    if np.isnan(values).any():
        at = batch.points.numpy()[np.isnan(values).ravel()][0].tolist()
        raise PcpinnError(
            f"the function for an extreme value is not a number at {at}", "check its roots and logarithms there"
        )
    return values


def _onto_simplex(X: np.ndarray) -> np.ndarray:
    """Points (..., d) moved into the reference simplex."""
    X = np.clip(X, 0.0, 1.0)
    return X / np.maximum(X.sum(axis=-1, keepdims=True), 1.0)
