"""Published figures: every method of the paper's tables (Liu et al., "Preconditioning for Physics-Informed Neural Networks").

The baselines there are taken from the PINNacle benchmark (Hao et al. 2023).
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Figure:
    """One cell of the paper's tables."""

    problem: str
    metric: str
    method: str
    mean: float
    std: float | None


@cache
def published_figures() -> tuple[Figure, ...]:
    """All cells."""
    text = files("pcpinn.catalog").joinpath("data/paper_results.csv").read_text(encoding="utf-8")
    figures = []
    for row in csv.DictReader(text.splitlines()):
        try:
            mean = float(row["mean"])
        except ValueError:
            continue  # the paper prints NaN or a dash where a method failed
        figures.append(Figure(row["problem"], row["metric"], row["method"], mean, _number(row["std"])))
    return tuple(figures)


def paper_result(problem: str, metric: str = "L2RE") -> Figure | None:
    """The paper's own method on a problem."""
    return next((f for f in published_figures() if (f.problem, f.metric, f.method) == (problem, metric, "Ours")), None)


def best_baseline(problem: str, metric: str = "L2RE") -> Figure | None:
    """The best of the other methods on a problem."""
    others = [f for f in published_figures() if f.problem == problem and f.metric == metric and f.method != "Ours"]
    return min(others, key=lambda f: f.mean, default=None)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
