"""What an answer is compared with, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Reference:
    """Values that are known to be right, up to a stated error.

    Attributes:
        points: (n, d).
        values: (n, k), one column per compared component.
        components: which components of the solution the columns are compared with.
        kind: "exact" or "certified".
        error: relative error of the reference itself.
        note: how it was made and certified.
    """

    points: np.ndarray
    values: np.ndarray
    components: Sequence[int] = (0,)
    kind: str = "exact"
    error: float = 0.0
    note: str = field(default="", compare=False)


def metrics(u: np.ndarray, r: np.ndarray) -> dict[str, float | None]:
    """L2RE, L1RE, MSE, MAE and maximum of u - r, over all entries together; relative errors of r = 0 are None."""
    e = np.abs(u - r)
    l2, l1 = np.linalg.norm(r), np.abs(r).sum()
    return {
        "l2re": float(np.linalg.norm(e) / l2) if l2 else None,
        "l1re": float(e.sum() / l1) if l1 else None,
        "mse": float((e**2).mean()),
        "mae": float(e.mean()),
        "max": float(e.max()),
    }


def compare(u: np.ndarray, reference: Reference, names: Sequence[str]) -> dict[str, Any]:
    """Metrics of values u (n, C) against a reference, in all and per component name."""
    part = u[:, list(reference.components)]
    result: dict[str, Any] = {**metrics(part, reference.values)}
    result["field"] = {
        names[c]: metrics(part[:, k], reference.values[:, k]) for k, c in enumerate(reference.components)
    }
    return result
