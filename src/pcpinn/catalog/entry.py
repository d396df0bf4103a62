"""The anatomy of a catalog problem: the same for all, facts only."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import PcpinnError
from ..problem.problem import Problem
from ..recipes import Registry
from ..solution.reference import Reference
from ..solve.method import METHODS
from ..solve.settings import Settings, problem_is_over_time, resolve_preset

PRESETS = ("quick", "default", "paper")

# The paper's global settings (its appendix on environment and settings): Adam, SiLU, 10 log-spaced Fourier features.
PAPER: dict[str, Any] = {
    "degree": 1,
    "curved": False,
    "preconditioner": "ilu",
    "drop_tolerance": 1e-3,
    "norm": "uniform",
    "width": 64,
    "depth": 3,
    "activation": "silu",
    "initialisation": "torch",
    "features": "log",
    "feature_count": 10,
    "feature_low": -5.0,
    "feature_high": 5.0,
    "optimiser": "adam",
    "learning_rate": 1e-3,
    "beta1": 0.9,
    "beta2": 0.99,
    "iterations": 20_000,
    "precision": "float32",
}
PAPER3D: dict[str, Any] = PAPER | {"width": 128, "depth": 5}  # problems of three dimensions, time included
PAPER_GAUSSIAN: dict[str, Any] = PAPER3D | {"features": "gaussian", "feature_count": 128, "feature_std": math.pi}
# Its problems that are stepped in time: backward Euler, P of the linear part, weights of the step before to begin with.
# With several steps in a window these get causal weights, whose strength the paper does not give.
PAPER_CAUSALITY = 10.0
PAPER_STEPS: dict[str, Any] = PAPER | {
    "time": "march",
    "scheme": "euler",
    "linearisation": "linear-part",
    "head_steps": 0,
    "iterations": 1000,
    "start_iterations": 15_000,
    "newton_iterations": 3,
}


@dataclass(frozen=True)
class Entry:
    """A benchmark problem.

    Attributes:
        name: on the command line and in the paper's tables.
        title, equation, domain, conditions: for people.
        problem: makes the Problem from its parameters.
        reference: makes the Reference from the same parameters.
        presets: changes to the default settings, by preset.
        parameters: names and defaults of what `--set` may change about the problem itself.
        remark: what a user should know: deviations from the paper, mistakes in published data.
        suites: of `pcpinn bench` that it is in, beside all and paper.
        order: its place in lists, from small to large.
    """

    name: str
    title: str
    equation: str
    domain: str
    conditions: str
    problem: Callable[..., Problem]
    reference: Callable[..., Reference]
    presets: Mapping[str, Mapping[str, Any]]
    parameters: Mapping[str, float] = field(default_factory=dict)
    remark: str = ""
    suites: tuple[str, ...] = ()
    order: int = 1000

    def make(self, **parameters: float) -> Problem:
        """The problem for given parameters.

        Raises:
            PcpinnError: for parameters that make no sense.
        """
        try:
            return self.problem(**parameters)
        except ZeroDivisionError as error:
            given = ", ".join(f"{k}={v:g}" for k, v in parameters.items())
            raise PcpinnError(
                f"{self.name} makes no sense with {given}", "these parameters must not be zero"
            ) from error

    def resolve(
        self, preset: str, changes: Mapping[str, Any], method: str = "pcpinn"
    ) -> tuple[dict[str, float], Settings]:
        """The problem's parameters and the settings of a preset for a method, with some of either changed.

        Raises:
            PcpinnError: for an unknown preset or key, or a value that does not fit.
        """
        if preset not in self.presets:
            raise PcpinnError(f"there is no preset {preset!r}", f"use one of {', '.join(self.presets)}")
        parameters, own, given = split_parameters(self.parameters, self.presets[preset], changes)
        home, over_time = METHODS.find("pcpinn"), problem_is_over_time(self.make(**parameters))
        return parameters, resolve_preset(METHODS.find(method), home, over_time, own, preset, given)


CATALOG: Registry[Entry] = Registry("problem", "problems", lambda entry: entry.order)


def split_parameters(
    known: Mapping[str, float], preset: Mapping[str, Any], changes: Mapping[str, Any]
) -> tuple[dict[str, float], dict[str, Any], dict[str, Any]]:
    """The parameters of a problem, and what is left of preset and changes without them."""
    merged = {**preset, **changes}
    parameters = {k: _number(k, merged.get(k, default)) for k, default in known.items()}
    own, given = ({k: v for k, v in part.items() if k not in known} for part in (preset, changes))
    return parameters, own, given


def _number(key: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise PcpinnError(f"{key}={value!r} does not fit", "give a number") from None
