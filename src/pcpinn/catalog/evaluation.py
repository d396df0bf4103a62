"""Where references are evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..solution.reference import Reference
from .screened_poisson import SeriesSolution


def series_reference(series: SeriesSolution, note: str, per_axis: int = 101) -> Reference:
    """A series on a grid over its domain; its bound on the largest error becomes a relative L2 error."""
    x = points_outside_disks(series.domain.lower, series.domain.upper, series.domain.disks, per_axis)
    u = series(x)
    error = float(series.bound * np.sqrt(len(u)) / np.linalg.norm(u))
    certificate = "error bounded by its boundary mismatch (maximum principle)"
    return Reference(x, u[:, None], kind="certified", error=error, note=f"{note}, {certificate}")


def grid_points(*axes: np.ndarray) -> np.ndarray:
    """All combinations of the values of each axis, the last running fastest: (n, d)."""
    return np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=1)


def points_outside_disks(
    lower: Sequence[float], upper: Sequence[float], disks: Iterable[tuple[float, float, float]], per_axis: int
) -> np.ndarray:
    """A regular grid over a rectangle, edges included, without the insides of the disks (x, y, radius): (n, 2)."""
    x = grid_points(*(np.linspace(a, b, per_axis) for a, b in zip(lower, upper, strict=True)))
    keep = np.ones(len(x), dtype=bool)
    for cx, cy, r in disks:
        keep &= np.hypot(x[:, 0] - cx, x[:, 1] - cy) >= r
    return x[keep]
