"""What an answer is compared with, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import PcpinnError
from ..problem.real import real_array


@dataclass(frozen=True)
class Reference:
    """Values that are known to be right, up to a stated error.

    Attributes:
        points: (n, d).
        values: (n, k), one column per compared component.
        components: which components of the solution the columns are compared with.
        kind: "exact", "certified" or "published" (data of others, of unknown error).
        error: relative error of the reference itself.
        note: how it was made and certified.
    """

    points: np.ndarray
    values: np.ndarray
    components: Sequence[int] = (0,)
    kind: str = "exact"
    error: float = 0.0
    note: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        points, values = (real_array(v, "a reference") for v in (self.points, self.values))
        values = values[:, None] if values.ndim == 1 else values
        expected = (len(points), len(self.components))
        if points.ndim != 2 or values.shape != expected:
            raise PcpinnError(
                f"a reference has points {points.shape} and values {values.shape}",
                "give points (n, d) and values (n, k), one column for each of the components",
            )
        if not (np.isfinite(points).all() and np.isfinite(values).all()):
            raise PcpinnError("a reference has values that are not finite", "leave those points out")
        facts_fit = isinstance(self.kind, str) and isinstance(self.note, str) and isinstance(self.error, int | float)
        if not facts_fit or not all(isinstance(c, int) for c in self.components):
            raise PcpinnError(
                f"a reference of kind {self.kind!r}, error {self.error!r}, components {self.components!r}",
                "kind is text, error a number, components whole numbers",
            )
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "values", values)

    def where(self, which: np.ndarray) -> Reference:
        """At some of its points: (n,) bool."""
        return replace(self, points=self.points[which], values=self.values[which])

    def describe(self) -> dict[str, Any]:
        """For result.json."""
        return {"kind": self.kind, "error": self.error, "points": len(self.points), "note": self.note}

    def check_fits(self, dimension: int, components: int) -> None:
        """Refuse a reference of another domain or other fields."""
        if self.points.shape[1] != dimension:
            raise PcpinnError(
                f"the reference's points have {self.points.shape[1]} coordinates",
                f"the domain has {dimension}, time included",
            )
        if not all(0 <= c < components for c in self.components):
            raise PcpinnError(
                f"the reference is for components {list(self.components)}", f"there are {components}, from 0"
            )


# Keys of `errors` in result.json: against the reference, by part, and without a reference.
ERRORS = ("l2re", "l1re", "mse", "mae", "max", "field", "training", "discretisation", "estimate")


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
