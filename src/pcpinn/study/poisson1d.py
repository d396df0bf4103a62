"""Study poisson1d: three ways to find ||F^-1|| of the model problem, against the theory's 4 / P^2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..catalog import find_entry
from ..condition.number import condition_number
from .study import STUDIES, Context, Data, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def theory(P: float) -> float:
    """||F^-1|| = 4 / P^2 on (0, 2 pi / P)."""
    return 4 / P**2


def compute(context: Context) -> Data:
    """||F^-1|| for every P and method."""
    sizes, entry = context.sizes, find_entry("poisson1d")
    ways: dict[str, dict[str, Any]] = {f"FDM {n}": {"method": "fdm", "cells": (n,)} for n in sizes["meshes"]}
    ways[f"FEM {sizes['elements']}"] = {"method": "fem", "cells": (sizes["elements"],), "degree": 2}
    ways["neural"] = {"method": "neural", "seed": context.seed}
    rows, done = [], 0
    for P in sizes["P"]:
        row: dict[str, Any] = {"P": P, "theory": theory(P)}
        for name, way in ways.items():
            context.progress.count("norms of inverses", done, len(sizes["P"]) * len(ways))
            row[name] = condition_number(entry.problem(P=P), **way).inverse_norm
            done += 1
        rows.append(row)
    deviations = {name: max(abs(row[name] / row["theory"] - 1) for row in rows) for name in ways}
    return {"rows": rows, "summary": {"deviations": deviations, "largest_deviation": max(deviations.values())}}


def words(data: Data) -> list[str]:
    """The largest deviation of each method."""
    each = ", ".join(f"{name} {100 * d:.2g} %" for name, d in data["summary"]["deviations"].items())
    return [f"Largest deviation from 4 / P^2 over {len(data['rows'])} values of P: {each}."]


def draw(data: Data) -> Figure:
    """Norms, and their relative deviations."""
    from ..bench.graphics import PAPER_COLOUR, new_figure

    figure = new_figure(9.0, 3.4)
    left, right = figure.subplots(1, 2)
    rows = data["rows"]
    P = [row["P"] for row in rows]
    left.plot(P, [row["theory"] for row in rows], color=PAPER_COLOUR, label="theory 4 / P^2")
    for name, mark in zip(data["summary"]["deviations"], "x+^sov*", strict=False):
        left.plot(P, [row[name] for row in rows], mark, ms=6, mfc="none", label=name)
        off = [max(abs(row[name] / row["theory"] - 1), 1e-10) for row in rows]
        right.plot(P, off, mark + "-", lw=0.7, ms=5, mfc="none", label=name)
    right.axhline(0.02, color="#9ca3af", ls="--", lw=0.8)
    left.set(xscale="log", yscale="log", xlabel="P", ylabel="norm of the inverse")
    right.set(xscale="log", yscale="log", xlabel="P", ylabel="relative deviation")
    left.legend()
    return figure


STUDY = Study(
    "poisson1d",
    "The norm of the inverse of the model problem",
    "||F^-1|| = 4 / P^2 for u'' = f on (0, 2 pi / P) with u = 0 at both ends; finite differences and a trained network "
    "estimate it closely.",
    {"P": (0.5, 1.0, 2.0, 4.0, 8.0), "meshes": (10, 25, 100), "elements": 20},
    {"P": (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0), "meshes": (10, 25, 50, 100, 1000), "elements": 100},
    compute,
    words,
    draw,
    order=10,
)
STUDIES.register(STUDY)
