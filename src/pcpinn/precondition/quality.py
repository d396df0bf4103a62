"""How close P is to A where it matters: the size of I - P^-1 A on smooth functions, for the price of twenty solves."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import PcpinnError

_RANDOM, _SOLUTIONS, _STEPS = 4, 3, 3  # random waves, functions like solutions, power steps (on two columns)


@dataclass(frozen=True)
class Quality:
    """Sizes of E = I - P^-1 A in the norm ||v||^2 = sum of weights v^2. Below 1, P stands in for A; at 0, P is A.

    Attributes:
        smooth: the largest ||E v|| / ||v|| over smooth functions v; the relative residual estimates the training error to
            within a factor of 1 +- smooth.
        largest: the largest ratio that power iteration met, from the worst smooth function and from noise: a lower bound of
            the norm of E, close to its spectral radius.
        applications: how many times P^-1 was applied to a vector.
    """

    smooth: float
    largest: float
    applications: int

    def describe(self) -> dict[str, Any]:
        """Numbers for the report; None where they are not finite."""
        values = {"smooth": self.smooth, "largest": self.largest}
        return {k: float(f"{v:.3g}") if math.isfinite(v) else None for k, v in values.items()}


def estimate_quality(
    A: sp.csr_matrix,
    apply: Callable[[np.ndarray], np.ndarray],
    nodes: np.ndarray,
    weights: np.ndarray,
    components: np.ndarray | None = None,
    seed: int = 0,
) -> Quality:
    """Estimate ||I - P^-1 A|| on smooth functions, and overall.

    Args:
        A: (N, N).
        apply: P^-1 for arrays (N, k).
        nodes: (N, d) position of each degree of freedom.
        weights: (N,) positive weights of the norm.
        components: (N,) which component an unknown belongs to; None for one component.
        seed: of the random probes.

    Raises:
        PcpinnError: for arrays of the wrong length.
    """
    n = A.shape[0]
    nodes = np.asarray(nodes, dtype=np.float64).reshape(len(nodes), -1)
    weights = np.asarray(weights, dtype=np.float64)
    components = np.zeros(n, dtype=np.int64) if components is None else np.asarray(components)
    for name, array in (("nodes", nodes), ("weights", weights), ("components", components)):
        if len(array) != n:
            raise PcpinnError(
                f"{name} has {len(array)} entries for {n} degrees of freedom", "give one per row of A, in its order"
            )
    generator = np.random.default_rng(seed)

    def norm(v: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.sqrt(weights @ v**2)

    def error(v: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return v - apply(A @ v)

    waves = smooth_functions(nodes, components, generator)
    loads = weights[:, None] * waves[:, -_SOLUTIONS:]
    loads[constrained_rows(A)] = 0.0
    with np.errstate(all="ignore"):
        probes = np.hstack([waves, apply(loads)])
        sizes = norm(probes)
        probes = probes[:, sizes > 0] / sizes[sizes > 0]
    images = error(probes)
    ratios = norm(images)
    applications = _SOLUTIONS + probes.shape[1]
    if not np.isfinite(ratios).all():
        return Quality(math.inf, math.inf, applications)
    smooth = largest = float(ratios.max())
    v = np.column_stack([images[:, ratios.argmax()], generator.normal(size=n)])
    for _ in range(_STEPS):
        sizes = norm(v)
        if not (np.isfinite(sizes).all() and (sizes > 0).all()):
            break
        v = error(v / sizes)
        applications += 2
        largest = max(largest, *norm(v).tolist())
    return Quality(smooth, largest if math.isfinite(largest) else math.inf, applications)


def constrained_rows(A: sp.csr_matrix) -> np.ndarray:
    """Numbers of the rows with nothing but a diagonal entry: prescribed values."""
    single = np.flatnonzero(np.diff(A.indptr) == 1)
    return single[A.indices[A.indptr[single]] == single]


def smooth_functions(nodes: np.ndarray, components: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Low waves and polynomials of the coordinates, scaled to the box around them: (N, 4 + random ones).

    Some vanish on the sides of the box, others do not; several components get random amplitudes.
    """
    lower, extent = nodes.min(axis=0), np.ptp(nodes, axis=0)
    xi = (nodes - lower) / np.where(extent > 0, extent, 1.0)
    moving = xi[:, extent > 0] if (extent > 0).any() else xi
    columns = [
        np.ones(len(nodes)),
        xi @ generator.normal(size=xi.shape[1]) + 0.5,
        np.prod(np.sin(np.pi * moving), axis=1),
        np.prod(np.cos(np.pi * moving), axis=1),
    ]
    for k in range(_RANDOM):
        frequency = generator.integers(0, k + 2, size=moving.shape[1]) * np.pi
        phase = generator.uniform(0, 2 * np.pi)
        columns.append(np.cos(moving @ frequency + phase))
    waves = np.column_stack(columns)
    count = int(components.max()) + 1
    if count > 1:
        waves = waves * generator.normal(size=(count, waves.shape[1]))[components]
    return waves
