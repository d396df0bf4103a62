"""The paper's ablations as named sweeps, with its own figures.

Source: Liu et al., "Preconditioning for Physics-Informed Neural Networks", the tables of its appendices on preconditioner
precision and ablations. Its Adam tables name beta2 = 0.999 beside learning rates. Its columns "5 hidden layers of 128" and
"256 neurons in 5 layers" hold the same numbers, so one of them must be a slip; they are given here as printed.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from ..errors import PcpinnError

Variant = Mapping[str, str]


@dataclass(frozen=True)
class Ablation:
    """A sweep of the paper.

    Attributes:
        title: what is varied.
        problems: those of the paper; None for its whole suite.
        variants: changes to the preset, one mapping each.
        trials: seeds per variant, as in the paper (where it tells).
        base: changes common to all variants.
        measure: whether to measure the preconditioner: condition number and error of P^-1 b.
        counts: numbers of trials to compare, for the ablation of trials itself.
    """

    title: str
    problems: tuple[str, ...] | None
    variants: tuple[Variant, ...]
    trials: int
    base: Variant = field(default_factory=dict)
    measure: bool = False
    counts: tuple[int, ...] = ()


def _each(key: str, *values: object) -> tuple[Variant, ...]:
    return tuple({key: str(v)} for v in values)


_POISSON = ("poisson2d-c", "poisson2d-cg", "poisson3d-cg", "poisson2d-ms")
_ADAM = {"optimiser": "adam"}

ABLATIONS: dict[str, Ablation] = {
    "drop-tolerance": Ablation(
        "drop tolerance of the incomplete factorisation",
        _POISSON,
        ({"drop_tolerance": "1e-4"}, {"drop_tolerance": "1e-3"}, {"drop_tolerance": "1e-2"}, {"drop_tolerance": "1e-1"},
         {"preconditioner": "none"}),
        trials=1,
        measure=True,
    ),
    "preconditioner": Ablation(
        "kind of preconditioner",
        ("poisson2d-ms", "wave2d-ms"),
        _each("preconditioner", "row-balancing", "jacobi", "ilu"),
        trials=3,
    ),
    "initialisation": Ablation(
        "initialisation of the weights",
        ("poisson2d-ms", "ns2d-c", "wave2d-ms"),
        _each("initialisation", "glorot-uniform", "glorot-normal", "he-normal", "he-uniform"),
        trials=3,
    ),
    "learning-rate": Ablation(
        "learning rate of Adam",
        ("poisson2d-ms",),
        _each("learning_rate", 1e-4, 3e-4, 1e-3, 3e-3),
        trials=3,
        base={**_ADAM, "beta1": "0.9", "beta2": "0.999"},
    ),
    "adam-betas": Ablation(
        "decay rates of Adam",
        ("poisson2d-ms",),
        tuple({"beta1": a, "beta2": b} for a, b in
              (("0.9", "0.9"), ("0.9", "0.99"), ("0.9", "0.999"), ("0.99", "0.99"), ("0.99", "0.999"))),
        trials=3,
        base={**_ADAM, "learning_rate": "1e-3"},
    ),
    "width": Ablation("neurons per hidden layer", ("poisson2d-ms",), _each("width", 32, 64, 128, 256, 512), 3, {"depth": "5"}),
    "depth": Ablation("hidden layers", ("poisson2d-ms",), _each("depth", 3, 4, 5, 6, 7), 3, {"width": "128"}),
    "trials": Ablation("number of random trials", None, ({},), trials=10, counts=(5, 10)),
}  # fmt: skip


def find_ablation(name: str) -> Ablation:
    """The ablation called `name`."""
    if name not in ABLATIONS:
        raise PcpinnError(f"there is no ablation {name!r}", f"use one of {', '.join(ABLATIONS)}")
    return ABLATIONS[name]


@dataclass(frozen=True)
class AblationFigure:
    """One number of the paper's ablation tables; `variant` is written as in a benchmark's plan."""

    ablation: str
    problem: str
    variant: str
    metric: str
    mean: float
    std: float | None


@cache
def ablation_figures() -> tuple[AblationFigure, ...]:
    """All of them."""
    text = files("pcpinn.bench").joinpath("data/paper_ablations.csv").read_text(encoding="utf-8")
    return tuple(
        AblationFigure(
            r["ablation"],
            r["problem"],
            r["variant"],
            r["metric"],
            float(r["mean"]),
            float(r["std"]) if r["std"] else None,
        )
        for r in csv.DictReader(text.splitlines())
    )


def paper_ablation(ablation: str, problem: str, variant: str, metric: str = "L2RE") -> AblationFigure | None:
    """The paper's number for a variant, where it gives one."""
    wanted = (ablation, problem, variant, metric)
    return next((f for f in ablation_figures() if (f.ablation, f.problem, f.variant, f.metric) == wanted), None)
