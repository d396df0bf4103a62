"""Study inverse-robustness: what becomes of an inverse problem with more noise, fewer data, worse data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..catalog import INVERSE, InverseEntry
from ..invert.observations import Observations
from .inverse_comparison import Attempt, mesh_changes
from .study import STUDIES, Context, Data, Sizes, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHOD = "infer"
_RADIUS = 0.12  # of a cluster, in parts of the domain
_DENSE = 60  # clusters are chosen among this many times the data
_OUTLIER = 10.0  # standard deviations

Table = list[dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """One kind of data: its name, how bad it is, the data, and settings to go with them."""

    name: str
    value: Any
    data: Observations
    changes: dict[str, Any] = field(default_factory=dict)


def cases(entry: InverseEntry, sizes: Sizes, seed: int) -> Iterator[Case]:
    """All of them, for one seed."""
    noise, points = sizes["usual_noise"], sizes["usual_points"]
    usual = entry.data(seed, noise=noise, points=points)
    for percent in sizes["noise_percent"]:
        yield Case("noise, percent", percent, entry.data(seed, noise=percent / 100, points=points))
    for count in sizes["points"]:
        yield Case("points", count, entry.data(seed, noise=noise, points=count))
    for count in sizes["clusters"]:
        yield Case("clusters", count, clustered(entry, count, points, noise, seed))
    for percent in sizes["outlier_percent"]:
        worse = with_outliers(usual, percent / 100, seed)
        for loss in ("squares", "huber"):
            yield Case(f"outliers, percent ({loss})", percent, worse, {"misfit": loss})
    yield Case("noise not given", None, replace(usual, noise=None))
    middle = float(np.median(usual.points[:, 0]))
    yield Case("left half only", None, usual.subset(usual.points[:, 0] <= middle))
    if usual.points.shape[1] == 3:
        t = usual.points[:, -1]
        yield Case("no data in time", "0.3 to 0.7", usual.subset((t < 0.3) | (t > 0.7)))
        yield Case("no data in time", "0 to 0.5", usual.subset(t > 0.5))
        yield Case("no data in time", "0.5 to 1", usual.subset(t < 0.5))


def clustered(entry: InverseEntry, count: int, points: int, noise: float, seed: int) -> Observations:
    """Data around a few random places alone."""
    dense = entry.data(seed, noise=noise, points=_DENSE * points)
    random = np.random.default_rng([seed, count])
    lower, upper = dense.points.min(axis=0), dense.points.max(axis=0)
    x = (dense.points - lower) / (upper - lower)
    space = min(2, x.shape[1])  # clusters of places, at all times
    centres = random.uniform(_RADIUS, 1 - _RADIUS, size=(count, space))
    distance = np.linalg.norm(x[:, None, :space] - centres[None], axis=2).min(axis=1)
    near = np.flatnonzero(distance < _RADIUS)
    keep = np.sort(random.choice(near, size=min(points, len(near)), replace=False))
    return dense.subset(keep)


def with_outliers(data: Observations, share: float, seed: int) -> Observations:
    """Some of the values are off by ten standard deviations, up or down."""
    random = np.random.default_rng([seed, 7])
    bad = random.choice(len(data), size=round(share * len(data)), replace=False)
    values = data.values.copy()
    noise = float(np.median(np.asarray(data.noise, dtype=float)))
    values[bad] += _OUTLIER * noise * random.choice([-1.0, 1.0], size=len(bad))
    return replace(data, values=values)


def compute(context: Context) -> Data:
    """All cases for all seeds."""
    sizes, entry = context.sizes, INVERSE.find(context.problem)
    entry.resolve(sizes["preset"], {})
    usual: dict[str, Any] = {"device": context.device_of_pieces, **mesh_changes(entry, sizes)}
    usual |= {"iterations": sizes["iterations"]} if sizes["iterations"] else {}
    context.progress.stage("runs")
    seeds = range(context.seed, context.seed + sizes["seeds"])
    todo = [(seed, case) for seed in seeds for case in cases(entry, sizes, seed)]
    pieces = [
        Attempt(
            f"{case.name}-{case.value}-s{seed}", METHOD, entry.name, sizes["preset"],
            {**usual, **case.changes, "seed": seed}, case.data,
        )
        for seed, case in todo
    ]  # fmt: skip
    found = context.spread.map(pieces, context.progress)
    runs: Table = [
        {"problem": entry.name, "case": case.name, "value": case.value, "seed": seed, **row}
        for (seed, case), row in zip(todo, found, strict=True)
    ]
    rows = _means(runs)
    failed = sum(r["outcome"] != "ok" for r in runs)
    return {"rows": rows, "runs": runs, "summary": {"runs": len(runs), "failed": failed}}


def _means(runs: Table) -> Table:
    groups: dict[tuple[str, Any], Table] = {}
    for run in runs:
        groups.setdefault((run["case"], run["value"]), []).append(run)
    result = []
    for (case, value), found in groups.items():
        row: dict[str, Any] = {"problem": found[0]["problem"], "case": case, "value": value, "data": found[0]["data"]}
        for key in ("l2re", "l2re_u", "l2re_a", "expected", "training", "seconds"):
            values = [r[key] for r in found if r[key] is not None]
            row[key] = float(np.mean(values)) if values else None
        bad = [r["outcome"] for r in found if r["outcome"] != "ok"]
        row["converged"] = all(r["converged"] is not False for r in found)
        result.append({**row, "runs": len(found), "outcome": bad[0] if bad else "ok"})
    return result


def words(data: Data) -> list[str]:
    """How many went through, and the span of errors of each kind of data."""
    summary = data["summary"]
    short = [_label(row) for row in data["rows"] if not row["converged"]]
    lines = [f"{summary['runs'] - summary['failed']} of {summary['runs']} runs gave an answer."]
    lines += [f"Networks stopped short of the discrete answer: {', '.join(short)}."] if short else []
    for case in dict.fromkeys(row["case"] for row in data["rows"]):
        found = [r for r in data["rows"] if r["case"] == case and r["l2re"] is not None]
        if found:
            told = ", ".join(
                f"{r['value']}: {r['l2re']:.2e}" if r["value"] is not None else f"{r['l2re']:.2e}" for r in found
            )
            lines.append(f"{case}: {told}.")
    return lines


def _label(row: dict[str, Any]) -> str:
    return row["case"] if row["value"] is None else f"{row['case']} {row['value']}"


def draw(data: Data) -> Figure:
    """Errors over noise and over the number of points, and of the other cases."""
    from ..bench.graphics import new_figure

    figure = new_figure(9.6, 3.6)
    panels = figure.subplots(1, 3)
    for axes, case in zip(panels, ("noise, percent", "points"), strict=False):
        found = [r for r in data["rows"] if r["case"] == case and r["l2re"] is not None]
        for key, label, style in (("l2re", "(u, a)", "o-"), ("l2re_a", "a", "s--"), ("expected", "expected", ":")):
            pairs = [(r["value"], r[key]) for r in found if r[key] is not None]
            if pairs:
                axes.plot(*zip(*pairs, strict=True), style, ms=4, lw=1, label=label)
        axes.set(yscale="log", xlabel=case, ylabel="relative error")
        axes.set_xscale("log" if case == "points" else "linear")
        axes.legend(fontsize=7)
    others = [r for r in data["rows"] if r["case"] not in ("noise, percent", "points") and r["l2re"] is not None]
    panels[2].barh([_label(r) for r in others], [r["l2re"] for r in others], color="#2563eb")
    panels[2].set(xscale="log", xlabel="relative error of (u, a)")
    panels[2].tick_params(axis="y", labelsize=6)
    return figure


_USUAL = {
    "usual_noise": 0.1,
    "usual_points": 2500,
    "noise_percent": (0, 5, 10, 20, 50),
    "points": (25, 100, 500, 2500),
    "clusters": (3, 10),
    "outlier_percent": (5, 20),
    "cells": 0,  # 0: those of the preset
    "iterations": 0,
}
STUDY = Study(
    "inverse-robustness",
    "An inverse problem with more noise, fewer data, worse data",
    "nothing: its data are 2500 values with noise of 0.1.",
    {"preset": "quick", "seeds": 1, **_USUAL},
    {"preset": "default", "seeds": 5, **_USUAL},
    compute,
    words,
    draw,
    problem="poisson-inv",
    order=80,
)
STUDIES.register(STUDY)
