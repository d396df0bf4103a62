"""Fields of different units side by side: which of them count, and how large they are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...problem.problem import Problem

_ALIKE = 10.0  # fields whose sizes differ by less share one unit


def counted(problem: Problem, errors: Mapping[str, float]) -> dict[str, float]:
    """Errors by field, without those of auxiliary fields."""
    auxiliary = {f.name for f in problem.unknowns if f.auxiliary}
    return {name: e for name, e in errors.items() if name not in auxiliary}


def counts(problem: Problem) -> np.ndarray:
    """(F,) bool: fields that are not auxiliary."""
    return np.array([not f.auxiliary for f in problem.unknowns])


def scales(units: np.ndarray, problem: Problem, volume: float) -> tuple[float, ...] | None:
    """A typical size of each component from what errors of the fields (F,) are divided by, and the L2 norm of 1.

    None where all are alike.
    """
    typical = units / volume
    if typical.max() <= _ALIKE * typical.min():
        return None
    return tuple(float(t) for t, f in zip(typical, problem.unknowns, strict=True) for _ in range(f.components))
