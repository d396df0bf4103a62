"""What an answer for a family is worth: errors at unseen parameters, how far estimates are off, and what it costs to ask."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .surrogate import Surrogate
from .unseen import Unseen

_POINTS = 1000  # of a timed query
_TIMED = 20  # queries and estimates that are timed


def measure(answer: Surrogate, unseen: Unseen) -> dict[str, Any]:
    """Errors (mean, 95 %, worst; the largest over the fields, and each field's mean), estimate / true, milliseconds.

    Estimates are left out where the family's equations are not known.
    """
    found = np.stack([_values(answer, unseen.points, m) for m in unseen.mu])
    by_field = unseen.errors(found)
    true = by_field.max(axis=1)
    random = np.random.default_rng(0)
    some = unseen.points[random.integers(len(unseen.points), size=_POINTS)]
    result: dict[str, Any] = {
        "queries": len(true),
        "mean": float(true.mean()),
        "p95": float(np.quantile(true, 0.95)),
        "worst": float(true.max()),
        "fields": {n: float(v) for n, v in zip(_names(answer, unseen), by_field.mean(axis=0), strict=True)},
        "truth": {"error": unseen.error, "how": unseen.how},
        "query_ms": _median_ms(lambda k: answer(some, unseen.mu[k % len(true)])),
    }
    if answer.family is None:
        return result
    estimates = np.asarray(answer.estimate(unseen.mu).total)  # together: on a GPU that is many times faster
    ratio = np.sort(estimates / np.maximum(true, 1e-300))
    low, middle, high = np.quantile(ratio, (0.025, 0.5, 0.975))
    return result | {
        "ratio": {"low": float(low), "median": float(middle), "high": float(high)},
        "within_two": float(((ratio >= 0.5) & (ratio <= 2)).mean()),
        "estimate_ms": _median_ms(lambda k: answer.estimate(unseen.mu[k % len(true)])),
    }


def _values(answer: Surrogate, x: np.ndarray, mu: np.ndarray) -> np.ndarray:
    return np.reshape(answer(x, mu), (len(x), -1))


def _names(answer: Surrogate, unseen: Unseen) -> list[str]:
    return [answer.fields[int(k)].name for k in unseen.counted]


def _median_ms(call: Callable[[int], Any]) -> float:
    call(0)  # what is made once is no part of a query
    took = []
    for k in range(_TIMED):
        started = time.perf_counter()
        call(k)
        took.append(time.perf_counter() - started)
    return 1e3 * float(np.median(took))
