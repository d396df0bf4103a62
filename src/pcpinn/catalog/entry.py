"""The anatomy of a catalog problem: the same for all, facts only."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..errors import PcpinnError
from ..family.family import Family as ParameterFamily
from ..invert.observations import Observations
from ..invert.truth import Truth
from ..problem.family import Family
from ..problem.problem import Problem
from ..problem.unknowns import Unknown
from ..recipes import Registry
from ..solution.reference import Reference
from ..solution.verdict import USUAL_ACCURACY
from ..solve.method import FAMILY_METHODS, INVERSE_METHODS, METHODS, Method
from ..solve.settings import Settings, problem_is_over_time, resolve_preset

PRESETS = ("quick", "default", "paper")  # that every problem has
PRECISE = "precise"  # one more, of problems whose solutions are smooth enough for many digits
FAMILIES_SUITE = "families"  # of `pcpinn bench`
FAMILY_PRESETS = ("quick", "default")  # that every family has
ACCURACY = "accuracy"  # in place of a preset: nothing is fixed but what is given

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
# Its problems that are stepped in time (Algorithm 3): backward Euler, ILU of the linear part of each step, descent on the whole
# residual, nonlinear terms included, from the weights of the sub-interval before; the first begins cold.
PAPER_STEPS: dict[str, Any] = PAPER3D | {
    "time": "march",
    "scheme": "euler",
    "linearisation": "none",
    "coupled": False,
    "head_steps": 0,
    "tolerance": 1e-12,  # never: the paper trains for a number of iterations
    "iterations": 1000,
    "start_iterations": 15_000,
}
PAPER_CAUSALITY = 10.0  # with several steps in a sub-interval

# Where the presets `paper` differ from the paper, or read it where it does not say: for all problems, ...
_READINGS = (
    "Frequencies of features are of coordinates scaled to [-1, 1], ten along each axis: the paper does not say of what they are.",
    "The loss is in units of ||P^-1 b||^2, of which Adam sees nothing but its epsilon.",
)
PAPER_READINGS = (
    *_READINGS,
    "ILU is SuperLU's, with a limit on its fill (fill_factor): the paper gives the drop tolerance alone.",
)
# ... for inverse problems, ...
INVERSE_READINGS = (
    *_READINGS,
    "Networks are in float64; the paper does not say in what its own are.",
    "Data and equation have equal weights (equation_weight=1): the paper does not give any.",
    "The coefficient is known on the boundary, as the benchmark has it, and held there.",
)
# ... for those of Newton's method, ...
NEWTON_READINGS = (
    "The first guess is u = 0, which the paper leaves open.",
    "A Newton step that would make the correction grow is shortened: plain steps may diverge.",
    "P of an earlier Newton step is kept while it is as good: building it takes longer than the paper's dense products.",
)
# ... for those that are stepped in time, ...
STEPS_READINGS = (
    "The network is in float64, as in all marches: rounding would add up over the steps.",
    "u at t = 0 comes from weights of its own, trained for start_iterations on the initial values, which no step sees: the "
    "paper has no network there, but errors are measured at t = 0, too.",
    "Adam begins anew in each sub-interval, and the gradient goes through the step before as well: the paper leaves both open.",
)
# ... and with several steps in a sub-interval.
CAUSAL_READINGS = (
    f"Causal weights have strength {PAPER_CAUSALITY:g}, times losses in units of the solution: the paper does not give it.",
)


# Ours that are stepped: networks wide enough for least squares in the last layer alone.
STEPS: dict[str, Any] = {"time": "march", "scheme": "radau", "order": 3, "iterations": 0, "start_iterations": 0}

# Where digits are wanted: sines of a stated bandwidth under one linear layer, which is solved for by least squares of the
# preconditioned residual, on elements of high degree. No hidden layer is trained.
LAST_LAYER: dict[str, Any] = {
    "element": "lobatto",
    "preconditioner": "lu",
    "network": "random-features",
    "optimiser": "last-layer",
    "ridge": 1e-14,  # sines depend on each other: what is lost here is lost in the answer
    "iterations": 10,
}
LAST_LAYER_STEPS: dict[str, Any] = STEPS | {"element": "lobatto", "degree": 8, "order": 4, "depth": 0}

# Its inverse problems: Jacobi anew in every iteration; data alone first. Weights of the parts of its loss are not given.
PAPER_INVERSE: dict[str, Any] = {k: v for k, v in PAPER.items() if k != "drop_tolerance"} | {
    "preconditioner": "jacobi",
    "refresh": 1,
    "prior": "none",
    "equation_weight": 1.0,
}


@dataclass(frozen=True, kw_only=True)
class AnyEntry(ABC):
    """What all benchmark problems have.

    Attributes:
        name: on the command line and in the paper's tables.
        title, equation, domain, conditions: for people.
        presets: changes to the default settings, by preset.
        parameters: names and defaults of what `--set` may change about the problem itself, and its data.
        paper: the paper's relative error, its standard deviation, and its seconds, where they stand beside its tables (see
            published.py); None if they do not.
        remark: what a user should know: mistakes in published data and the like.
        deviations: what of the preset `paper` is not as in the paper, or read into it, and why.
        order: its place in lists, from small to large.
        source: of a user's file: its name and digest; empty for the catalog.
        own: settings that hold whatever the preset: those of a user's file.
    """

    name: str
    title: str
    equation: str
    domain: str
    conditions: str
    presets: Mapping[str, Mapping[str, Any]]
    parameters: Mapping[str, float] = field(default_factory=dict)
    paper: tuple[float, float, float] | None = None
    remark: str = ""
    deviations: tuple[str, ...] = ()
    order: int = 1000
    source: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, Any] = field(default_factory=dict)

    methods: ClassVar[Registry[Method]]
    home: ClassVar[str]  # the method that presets are made for
    command: ClassVar[str]  # that solves it
    to_accuracy: ClassVar[bool] = False  # whether it can be solved to an accuracy, in place of a preset

    @abstractmethod
    def _base(self, **parameters: float) -> Problem:
        """The problem; of an inverse one, that with the first guess of its unknowns."""

    def make(self, **parameters: float) -> Problem:
        """The problem for given parameters; of an inverse one, that with the first guess of its unknowns.

        Raises:
            PcpinnError: for parameters that make no sense.
        """
        try:
            return self._base(**parameters)
        except ZeroDivisionError as error:
            given = ", ".join(f"{k}={v:g}" for k, v in parameters.items())
            raise PcpinnError(
                f"{self.name} makes no sense with {given}", "these parameters must not be zero"
            ) from error

    def resolve(
        self, preset: str, changes: Mapping[str, Any], method: str | None = None
    ) -> tuple[dict[str, float], Settings]:
        """The problem's parameters and the settings of a preset for a method, with some of either changed.

        Raises:
            PcpinnError: for an unknown preset or key, or a value that does not fit.
        """
        own_presets = self.methods.find(method or self.home).presets  # some methods have presets for every problem
        if preset == ACCURACY and self.to_accuracy:
            base: Mapping[str, Any] = self.own
            changes = {"accuracy": USUAL_ACCURACY, **changes}
        elif preset not in self.presets and preset not in own_presets:
            raise PcpinnError(
                f"there is no preset {preset!r}", f"use one of {', '.join({**self.presets, **own_presets})}"
            )
        else:
            base = self.presets.get(preset, self.own)
            if "accuracy" in changes and method not in (None, self.home):
                raise PcpinnError(
                    f"method {method!r} has settings of its own and no accuracy to ask for",
                    "leave the accuracy out, or the method",
                )
            if "accuracy" in changes:
                raise PcpinnError(
                    f"preset {preset!r} fixes everything, so there is no accuracy to ask for",
                    "leave the preset out, or the accuracy",
                )
        parameters, own, given = split_parameters(self.parameters, base, changes)
        over_time, home = problem_is_over_time(self.make(**parameters)), self.methods.find(self.home)
        return parameters, resolve_preset(self.methods.find(method or self.home), home, over_time, own, preset, given)


@dataclass(frozen=True, kw_only=True)
class Entry(AnyEntry):
    """A benchmark problem.

    Attributes:
        problem: makes the Problem from its parameters.
        reference: makes the Reference from the same parameters.
        suites: of `pcpinn bench` that it is in, beside all and paper.
    """

    problem: Callable[..., Problem]
    reference: Callable[..., Reference]
    suites: tuple[str, ...] = ()

    methods = METHODS
    home = "pcpinn"
    command = "solve"
    to_accuracy = True

    def _base(self, **parameters: float) -> Problem:
        return self.problem(**parameters)


@dataclass(frozen=True, kw_only=True)
class InverseEntry(AnyEntry):
    """A benchmark of unknown coefficients: a family of problems, data made from the truth with seeded noise, and the truth.

    Attributes:
        problem: parameters -> (function of the unknowns that makes the Problem, unknowns by name).
        data: (seed, **parameters) -> observations.
        truth: parameters -> Truth; None where it is not known.
    """

    problem: Callable[..., tuple[Callable[..., Problem], Mapping[str, Unknown]]]
    data: Callable[..., Observations]
    truth: Callable[..., Truth | None]

    methods = INVERSE_METHODS
    home = "infer"
    command = "infer"

    def family(self, **parameters: float) -> Family:
        """Problem and unknowns together."""
        return Family(*self.problem(**parameters))

    def _base(self, **parameters: float) -> Problem:
        return self.family(**parameters).base


@dataclass(frozen=True, kw_only=True)
class FamilyEntry(AnyEntry):
    """A family of problems, for one network of place and parameters.

    Attributes:
        family: problems and ranges.
        fine: settings of the discretisation that truth is solved on, at parameters that no training sees.
        queries: how many of these, by preset.
        suites: of `pcpinn bench` that it is in.
    """

    family: ParameterFamily
    fine: Mapping[str, Any] = field(default_factory=dict)
    queries: Mapping[str, int] = field(default_factory=dict)
    suites: tuple[str, ...] = (FAMILIES_SUITE,)

    methods = FAMILY_METHODS
    home = "family"
    command = "solve"
    to_accuracy = True

    def _base(self, **parameters: float) -> Problem:
        return self.family.base


CATALOG: Registry[Entry] = Registry("problem", "problems", lambda entry: entry.order)
INVERSE: Registry[InverseEntry] = Registry("inverse problem", "inverse_problems", lambda entry: entry.order)

FAMILIES: Registry[FamilyEntry] = Registry("family", "families", lambda entry: entry.order)


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
