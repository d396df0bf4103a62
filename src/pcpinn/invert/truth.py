"""What an inverse answer is compared with, how sure it is, and both together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..solution.function import Function
from ..solution.reference import metrics
from .observations import Observations


class Inferred(Function, Protocol):
    """u and the unknowns that were found; an `InverseSolution`, for one."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the components of u."""

    @property
    def coefficients(self) -> Mapping[str, Any]:
        """Functions that were found, by name."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Numbers that were found, by name."""

    @property
    def uncertainty(self) -> Uncertainty | None:
        """How sure they are."""

    @property
    def data(self) -> tuple[Observations, ...]:
        """What was observed."""

    def coefficient(self, name: str) -> Callable[[Any], Any]:
        """A function of points."""

    def std(self, name: str, x: Any = None) -> np.ndarray:
        """Standard deviation of an unknown."""


@dataclass(frozen=True)
class Truth:
    """What the answer is compared with.

    Attributes:
        points: (n, d), time included.
        u: (n, C).
        coefficients: name -> (n,), at the same points.
        parameters: name -> number or (k,).
        note: where it comes from.
    """

    points: np.ndarray
    u: np.ndarray
    coefficients: Mapping[str, np.ndarray] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    note: str = "exact"

    def describe(self) -> dict[str, Any]:
        """For result.json."""
        return {"kind": "exact", "error": 0.0, "points": len(self.points), "note": self.note}


@dataclass
class Uncertainty:
    """Posterior covariances in factored form at nodes: covariance = F F^T.

    Attributes:
        u: (N, r) of the discrete solution.
        coefficients: name -> (M, r) at the nodes of the coefficient.
        parameters: name -> (k, r).
        effective: number of degrees of freedom that the data determine.
        u_at, coefficient_at: points -> sparse matrix from nodes to there.
        coefficient_inputs: number of coordinates that nodes of coefficients have.
    """

    u: np.ndarray
    coefficients: dict[str, np.ndarray]
    parameters: dict[str, np.ndarray]
    effective: float
    u_at: Callable[[np.ndarray, int], Any]
    coefficient_at: Callable[[np.ndarray], Any]
    coefficient_inputs: int


def compare_inverse(solution: Inferred, truth: Truth) -> dict[str, Any]:
    """See `InverseSolution.compare`."""
    n = len(truth.points)
    pairs = {
        name: (np.reshape(solution(truth.points), (n, -1))[:, k], np.reshape(truth.u, (n, -1))[:, k])
        for k, name in enumerate(solution.names)
    }
    pairs |= {name: (solution.coefficient(name)(truth.points), values) for name, values in truth.coefficients.items()}
    result: dict[str, Any] = metrics(*(np.concatenate(part) for part in zip(*pairs.values(), strict=True)))
    result["field"] = {name: metrics(*pair) for name, pair in pairs.items()}
    for name, value in truth.parameters.items():
        result["field"][name] = metrics(np.atleast_1d(solution.parameters[name]), np.atleast_1d(value))
    return result


def expected_error(uncertainty: Uncertainty, names: tuple[str, ...], truth: Truth) -> float:
    """Root of the expected square of the stacked relative error, by the posterior: what the noise leaves of any answer."""
    n = len(truth.points)
    total = sum(float(((uncertainty.u_at(truth.points, k) @ uncertainty.u) ** 2).sum()) for k in range(len(names)))
    size = float((truth.u**2).sum())
    for name, values in truth.coefficients.items():
        factor = uncertainty.coefficients[name]
        places = truth.points[:, : uncertainty.coefficient_inputs]
        total += float(((uncertainty.coefficient_at(places) @ factor) ** 2).sum())
        size += float((values**2).sum())
    assert n
    return float(np.sqrt(total / size))
