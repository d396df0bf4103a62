"""Figures of a benchmark: all errors at a glance, convergence, sweeps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..catalog.published import best_baseline, paper_result
from ..train.history import History
from .graphics import OTHER_COLOUR, PAPER_COLOUR, PRESET_LINES, colour, new_figure, plain, thinned
from .sweep_table import Sweep
from .table import Mean, Summary

_MARKERS = {"default": "o", "quick": "^", "paper": "s"}


def overview(summaries: Sequence[Summary]) -> Figure:
    """L2RE by problem: ours, the paper's, its best other method."""
    problems = list(dict.fromkeys(s.problem for s in summaries))
    figure = new_figure(7.2, 1.3 + 0.34 * len(problems))
    ax = figure.subplots()
    ax.set_xscale("log")
    at = {p: i for i, p in enumerate(problems)}
    for p, y in at.items():
        paper, other = paper_result(p), best_baseline(p)
        if other is not None:
            ax.plot(other.mean, y, "x", color=OTHER_COLOUR, ms=6, label="best other method in the paper")
        if paper is not None:
            ax.errorbar(paper.mean, y, xerr=_bar(paper), fmt="D", color=PAPER_COLOUR, ms=5, lw=1, label="paper")
    for s in summaries:
        mean = s.mean("l2re")
        if mean is not None and mean.mean > 0:
            marker = _MARKERS.get(s.preset, "o")
            ax.errorbar(
                mean.mean, at[s.problem], xerr=_bar(mean), fmt=marker, color=colour(s.method), ms=5.5, lw=1,
                alpha=0.9, label=plain(f"{s.method} {s.preset}"),
            )  # fmt: skip
    ax.set_yticks(list(at.values()), [plain(p) for p in at])
    ax.set_ylim(len(problems) - 0.5, -0.5)
    ax.set_xlabel("relative L2 error")
    _legend_below(figure, ax)
    return figure


def _bar(mean: Mean | object) -> list[list[float]] | None:
    """Error bars that stay positive on a logarithmic axis."""
    std, value = getattr(mean, "std", None), float(getattr(mean, "mean", 0.0))
    return None if not std else [[min(std, 0.9 * value)], [std]]


def _legend_below(figure: Figure, ax: Axes) -> None:
    """Each label once."""
    handles, labels = ax.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    if unique:
        figure.legend(list(unique.values()), list(unique), loc="outside lower center", ncols=min(4, len(unique)))


def convergence(curves: Sequence[tuple[Summary, Sequence[tuple[History, float | None]]]]) -> Figure:
    """Residual against iterations and against seconds, a line per trial; dots are L2RE on the way, the large one at its end.

    Args:
        curves: for each summary, history and L2RE of its trials.
    """
    figure = new_figure(7.6, 3.0)
    axes = figure.subplots(1, 2, sharey=True)
    for summary, trials in curves:
        above = 2 + (summary.method == "pcpinn")
        look = {"color": colour(summary.method), "ls": PRESET_LINES.get(summary.preset, "-")}
        for history, error in trials:
            data = history.to_array()
            data = data[thinned(len(data))]
            data = data[np.isfinite(data).all(axis=1) & (data[:, 2] > 0)]
            if not len(data):
                continue
            known = np.array(history.measured, dtype=float).reshape(-1, 3)
            known = known[thinned(len(known))]
            for ax, x, at in zip(axes, data.T[:2], known.T[:2], strict=True):
                ax.plot(x, np.sqrt(2 * data[:, 2]), lw=1, alpha=0.8, label=plain(summary.label), zorder=above, **look)
                ax.plot(at, known[:, 2], ".", ms=2, color=look["color"], zorder=above)
                if error:
                    ax.plot(x[-1], error, "o", color=look["color"], ms=4, zorder=above)
    for ax, name in zip(axes, ("iteration", "seconds of training"), strict=True):
        ax.set_yscale("log")
        ax.set_xlabel(name)
        if max((float(np.max(line.get_xdata())) for line in ax.lines if len(line.get_xdata())), default=0.0) > 1000:
            ax.set_xscale("log")
    axes[0].set_ylabel("sqrt(2 loss); dots: L2RE")
    _legend_below(figure, axes[1])
    return figure


def sweep_figure(sweep: Sweep) -> Figure:
    """L2RE by variant, ours and the paper's; beside it what was measured of the preconditioner."""
    measured = [c for c in ("condition", "applied_error") if c in sweep.measured]
    figure = new_figure(3.8 * (1 + len(measured)), 3.0)
    axes = np.atleast_1d(figure.subplots(1, 1 + len(measured)))
    titles = {"l2re": "L2RE", "condition": "condition number", "applied_error": "error of P^-1 b"}
    x = np.arange(len(sweep.points))
    for ax, column in zip(axes, ("l2re", *measured), strict=True):
        ours = [p.mean(column) for p in sweep.points]
        paper = [p.paper.get(column) for p in sweep.points]
        _line(ax, x, ours, colour(sweep.method), "o-", "ours")
        _line(ax, x, paper, PAPER_COLOUR, "D--", "paper")
        ax.set_yscale("log")
        ax.set_xticks(x, [plain(p.label) for p in sweep.points], rotation=30 if len(x) > 4 else 0)
        ax.set_xlabel(plain(sweep.axis))
        ax.set_title(titles[column])
        if ax.lines:
            ax.legend()
    return figure


def _line(ax: Axes, x: np.ndarray, means: Sequence[object], hue: str, look: str, label: str) -> None:
    there = [(i, float(getattr(m, "mean", 0.0)), getattr(m, "std", None)) for i, m in zip(x, means, strict=True) if m]
    there = [(i, m, s) for i, m, s in there if m > 0]
    if there:
        at, mean, std = zip(*there, strict=True)
        below = [min(s or 0.0, 0.9 * m) for m, s in zip(mean, std, strict=True)]
        ax.errorbar(at, mean, yerr=[below, [s or 0.0 for s in std]], fmt=look, color=hue, ms=4, lw=1.2, label=label)
