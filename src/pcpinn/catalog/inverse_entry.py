"""The anatomy of an inverse benchmark: a family of problems, data made from the truth with seeded noise, and the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import PcpinnError
from ..invert.observations import Observations
from ..invert.truth import Truth
from ..problem.family import Family
from ..problem.problem import Problem
from ..problem.unknowns import Unknown
from ..recipes import Registry
from ..solve.method import INVERSE_METHODS
from ..solve.settings import Settings, problem_is_over_time, resolve_preset
from .entry import PAPER, split_parameters

# The paper's appendix: Jacobi anew in every iteration, Adam; data alone first. Weights of the parts of its loss are not given.
PAPER_INVERSE: dict[str, Any] = {k: v for k, v in PAPER.items() if k != "drop_tolerance"} | {
    "preconditioner": "jacobi",
    "refresh": 1,
    "prior": "none",
    "equation_weight": 1.0,
}


@dataclass(frozen=True)
class InverseEntry:
    """A benchmark of unknown coefficients.

    Attributes:
        name, title, equation, domain, conditions, remark: for people.
        problem: parameters -> (function of the unknowns that makes the Problem, unknowns by name).
        data: (seed, **parameters) -> observations.
        truth: parameters -> Truth.
        presets: changes to the default settings, by preset.
        parameters: names and defaults of what `--set` may change about problem and data.
        paper: the paper's relative error of (u, a), its standard deviation, and its seconds; None if it is not there.
        order: its place in lists, from small to large.
    """

    name: str
    title: str
    equation: str
    domain: str
    conditions: str
    problem: Callable[..., tuple[Callable[..., Problem], dict[str, Unknown]]]
    data: Callable[..., Observations]
    truth: Callable[..., Truth]
    presets: Mapping[str, Mapping[str, Any]]
    parameters: Mapping[str, float] = field(default_factory=dict)
    paper: tuple[float, float, float] | None = None
    remark: str = ""
    order: int = 1000

    def resolve(
        self, preset: str, changes: Mapping[str, Any], method: str = "infer"
    ) -> tuple[dict[str, float], Settings]:
        """Parameters and settings of a preset for a method, with some of either changed."""
        if preset not in self.presets:
            raise PcpinnError(f"there is no preset {preset!r}", f"use one of {', '.join(self.presets)}")
        parameters, own, given = split_parameters(self.parameters, self.presets[preset], changes)
        home, over_time = INVERSE_METHODS.find("infer"), problem_is_over_time(self.family(**parameters).base)
        return parameters, resolve_preset(INVERSE_METHODS.find(method), home, over_time, own, preset, given)

    def family(self, **parameters: float) -> Family:
        """Problem and unknowns together."""
        return Family(*self.problem(**parameters))


INVERSE: Registry[InverseEntry] = Registry("inverse problem", "inverse_problems", lambda entry: entry.order)
