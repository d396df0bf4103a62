"""Straight lines through points, and how well they fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def linear_fit(x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> dict[str, float | None]:
    """slope, intercept, Pearson's r and Spearman's rank correlation of at least three points that are finite."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    good = np.isfinite(x) & np.isfinite(y)
    x, y = x[good], y[good]
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return {"slope": None, "intercept": None, "r": None, "rank": None}
    from scipy import stats  # here: every command line would wait for it

    slope, intercept = np.polyfit(x, y, 1)
    return {
        "slope": float(slope),
        "intercept": float(intercept),
        "r": float(np.corrcoef(x, y)[0, 1]),
        "rank": float(stats.spearmanr(x, y).statistic),
    }


def min_max(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Shifted and scaled to [0, 1]; equal values become 0."""
    v = np.asarray(values, dtype=np.float64)
    span = np.ptp(v)
    result: np.ndarray = (v - v.min()) / (span or 1.0)
    return result
