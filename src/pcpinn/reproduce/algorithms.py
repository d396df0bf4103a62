"""Algorithms 1 to 4: which problems take which, and whether the presets `paper` have the settings that the paper states.

Source of data/paper_settings.csv: Liu et al., the appendix on implementation details, problem by problem, and its global
settings (3 x 64 units in two dimensions, time included, 5 x 128 in three; 20 000 iterations). Newton's iterations are added up.
"""

from __future__ import annotations

import csv
from functools import cache, partial
from importlib.resources import files

from ..catalog import find_entry
from .compare import Comparison, Line, of_claim
from .found import Found
from .item import ITEMS, Item, nothing

KEYS = ("depth", "width", "drop_tolerance", "iterations", "newton_steps", "intervals", "steps_per_interval")


@cache
def stated() -> dict[str, dict[str, float]]:
    """What the paper says, by problem; `algorithm` and those of the keys that the problem has."""
    text = files("pcpinn.reproduce").joinpath("data/paper_settings.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    return {r["problem"]: {k: float(v) for k, v in r.items() if k != "problem" and v} for r in rows}


def actual(problem: str) -> dict[str, float]:
    """What the preset `paper` has."""
    _, settings = find_entry(problem).resolve("paper", {})
    found = {"depth": settings.network.depth, "width": settings.network.width}
    found |= {"drop_tolerance": settings.preconditioner.drop_tolerance, "iterations": settings.optimiser.iterations}
    if settings.marches:
        window = settings.time.window
        found |= {"intervals": settings.time.steps // window, "steps_per_interval": window}
    else:
        found["newton_steps"] = settings.newton.newton_iterations
    return found


def problems(algorithm: int) -> list[str]:
    """Those that take it. The paper names Algorithm 3 for all marches; with one step in each interval it is Algorithm 2."""
    if algorithm == 2:
        return [p for p, s in stated().items() if s.get("steps_per_interval") == 1]
    return [p for p, s in stated().items() if s["algorithm"] == algorithm]


def compare(algorithm: int, found: Found) -> Comparison:
    """One line per problem, of the settings that the paper states for it."""
    lines, keys = [], [k for k in KEYS if any(k in stated()[p] for p in problems(algorithm))]
    for problem in found.choice.of_problems(problems(algorithm)):
        paper, ours = stated()[problem], actual(problem)
        off = [k for k in keys if k in paper and ours.get(k) != paper[k]]
        shown = [f"{ours.get(k, float('nan')):g}" + (f" ({paper[k]:g})" if k in off else "") for k in keys]
        lines.append(Line((problem, *shown), of_claim(not off), f"{', '.join(off)} not as stated" if off else ""))
    notes = ("Settings of the preset paper; in brackets what the paper states where it is something else.",)
    return Comparison(("problem", *(k.replace("_", " ") for k in keys)), tuple(lines), notes)


def _item(number: int, title: str, statement: str) -> Item:
    return ITEMS.register(
        Item(f"algorithm-{number}", title, statement, nothing, partial(compare, number), order=3000 + number)
    )


_item(1, "Linear problems: settings of the presets", "ILU, then gradient descent on the preconditioned residual.")
_item(2, "Time, one step after the other: settings of the presets", "each step a linear system, weights handed on.")
_item(3, "Time in sub-intervals: settings of the presets", "all steps of an interval at once, weighted by causality.")
_item(4, "Nonlinear problems: settings of the presets", "Newton's method, each step trained with a P of its own.")
