"""The adjoint method: PDE-constrained optimisation of nodal coefficients by L-BFGS-B, with or without a penalty on roughness.

The weight of the penalty follows from the discrepancy principle: the heaviest with which the misfit is what the noise makes it.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize

from ..errors import PcpinnError
from ..progress import Progress
from ..train.history import History
from .reduced import Reduced, State

PENALTIES = ("none", "tikhonov", "tv")

_LARGEST, _SMALLEST, _FACTOR = 1.0, 1e-9, 10.0  # weights tried, per datum
_CLOSE = 0.1  # the misfit is right up to this part of its standard deviation
_BISECTIONS = 12
_MEMORY = 30


@dataclass
class Minimum:
    """What the optimiser found for one weight; its error where the truth is known, for the record alone."""

    weight: float
    state: State
    iterations: int
    message: str
    l2re: float | None = None


@dataclass
class Search:
    """How the weight was found: minima by descending weight, the chosen one, and whether the misfit could be met."""

    chosen: Minimum
    tried: list[Minimum] = field(default_factory=list)
    target: float = math.nan
    reached: bool = True

    def describe(self) -> dict[str, Any]:
        """Facts for the report."""
        return {
            "weight": self.chosen.weight,
            "misfit_target": None if math.isnan(self.target) else self.target,
            "misfit_reached": self.reached,
            "tried": [
                {"weight": m.weight, "misfit": m.state.misfit, "iterations": m.iterations, "l2re": m.l2re}
                for m in self.tried
            ],
        }


class Descent:
    """L-BFGS-B on J, with a record of all of it.

    Args:
        reduced: J and its gradient.
        iterations: largest number for each weight.
        time_limit: seconds for everything together.
    """

    def __init__(
        self, reduced: Reduced, iterations: int = 500, time_limit: float = math.inf, progress: Progress | None = None
    ) -> None:
        self.reduced, self.iterations, self.time_limit = reduced, iterations, time_limit
        self.progress, self.history, self.done = progress or Progress(), History(), 0
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self._started

    @property
    def out_of_time(self) -> bool:
        """Whether the limit has passed."""
        return self.seconds >= self.time_limit

    def minimise(self, z: np.ndarray, weight: float) -> Minimum:
        """From controls z."""
        reduced, seen = self.reduced, {"best": math.inf}
        reduced.weight, before = weight, self.done
        self.progress.stage(f"l-bfgs-b, penalty {weight:.2g}", self.iterations)
        best: State | None = None

        def objective(at: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal best
            value, gradient = reduced(at)
            if not (math.isfinite(value) and np.isfinite(gradient).all()):
                raise PcpinnError("the misfit is not finite", "give the unknowns closer bounds")
            if value < seen["best"]:
                seen["best"], best = value, reduced.last
            if self.out_of_time:
                raise _OutOfTime
            return value, gradient

        def step(_: np.ndarray) -> None:
            self.done += 1
            self.history.add(self.done, self.seconds, seen["best"])
            self.progress.update(self.done - before, seen["best"])

        message = "time limit"
        try:
            found = minimize(
                objective,
                np.clip(z, reduced.bounds[:, 0], reduced.bounds[:, 1]),
                jac=True,
                method="L-BFGS-B",
                bounds=reduced.bounds,
                callback=step,
                options={
                    "maxiter": self.iterations,
                    "maxfun": 2 * self.iterations + 20,
                    "maxcor": _MEMORY,
                    "ftol": 1e-9,
                    "gtol": 1e-6,
                    "maxls": 40,
                },
            )
            message = "iterations" if found.status == 1 else "converged" if found.status == 0 else "no descent"
        except _OutOfTime:
            pass
        assert best is not None
        return Minimum(weight, best, self.done - before, message)

    def without_penalty(self) -> Search:
        """The paper's way."""
        found = self.minimise(self.reduced.start, 0.0)
        return Search(found, [found])

    def by_discrepancy(self, safety: float = 0.0) -> Search:
        """The heaviest penalty with which the misfit is what the noise makes it.

        The sum of m squared noises is m, give or take sqrt(2 m); the misfit is brought to m + safety * sqrt(2 m).
        Weights fall by factors from a heavy one, each minimum being the start for the next; then the interval is halved.
        """
        m = len(self.reduced.values)
        target = m + safety * math.sqrt(2 * m)
        tried: list[Minimum] = []
        z, weight, above, below = self.reduced.start, _LARGEST * m, None, None
        while weight >= _SMALLEST * m and below is None and not (tried and self.out_of_time):
            found = self.minimise(z, weight)
            tried.append(found)
            z = found.state.z
            if found.state.misfit <= target:
                below = found
            else:
                above = found
                weight /= _FACTOR
        if below is None or above is None:
            chosen = below or min(tried, key=lambda f: f.state.misfit)
            return Search(chosen, tried, target, below is not None)
        for _ in range(_BISECTIONS):
            if abs(below.state.misfit - target) <= _CLOSE * math.sqrt(2 * m) or self.out_of_time:
                break
            if above.weight / below.weight < 1.02:
                break
            found = self.minimise(above.state.z, math.sqrt(above.weight * below.weight))
            tried.append(found)
            if found.state.misfit <= target:
                below = found
            else:
                above = found
        tried.sort(key=lambda f: -f.weight)
        return Search(below, tried, target)


class _OutOfTime(Exception):
    """The time limit has passed."""
