"""Studies wave, helmholtz and burgers: condition number against the error of an ordinary PINN with hard conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..catalog import find_entry
from ..condition.number import condition_number
from .families import FAMILIES, paper_values
from .fit import linear_fit, min_max
from .study import STUDIES, Context, Data, Study
from .sweep import Training, train_sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PAPER = {
    "width": 100,
    "depth": 5,
    "points": 8192,
    "batch": 8192,
    "iterations": 20_000,
    "learning_rate": 1e-3,
    "trials": 5,
}
_SMALL = {"width": 32, "depth": 3, "points": 8192, "batch": 512, "iterations": 4000, "learning_rate": 1e-3, "trials": 1}
_NORMALISATIONS = {"wave": "log", "helmholtz": "sqrt", "burgers": "log"}
_UNSOLVED = 0.3  # an L2RE that is no answer
_LINES = 5  # of the histories, in the figure


def _grid(name: str, value: float, cells: int) -> dict[str, Any]:
    """Method and grid of the condition number. A wave takes as many steps in time as its speed asks for."""
    if name == "wave":
        return {
            "method": "fem",
            "degree": 2,
            "cells": (cells,),
            "steps": math.ceil(4 * cells * max(value, 1)),
        }
    if name == "helmholtz":
        return {"method": "fdm", "cells": (cells, cells)}
    return {"method": "fem", "degree": 4, "cells": (2 * cells,), "steps": cells, "time": "slabs"}


def _values(name: str, count: int) -> list[float]:
    """At most `count` of the paper's values: of helmholtz the first ones, of burgers evenly from its first to its last, of wave
    closer to each other where C is small, and the problem easy."""
    values = paper_values(name)
    if count >= len(values):
        return values
    if name == "helmholtz":
        return values[:count]
    last = len(values) - 1
    at = np.geomspace(1, last + 1, count) - 1 if name == "wave" else np.linspace(0, last, count)
    return [values[i] for i in np.unique(np.round(at).astype(int))]


def normalised(name: str, conditions: np.ndarray) -> np.ndarray:
    """The paper's: MinMax(log cond) for wave and burgers (its shift c is 0), MinMax(sqrt(cond)) for helmholtz."""
    return min_max(np.sqrt(conditions) if _NORMALISATIONS[name] == "sqrt" else np.log(conditions))


def compute(name: str, context: Context) -> Data:
    """Condition numbers, then all networks together, then the fit."""
    sizes, family, entry = context.sizes, FAMILIES[name], find_entry(FAMILIES[name].name)
    values = _values(name, sizes["values"])
    found = []
    for k, value in enumerate(values):
        context.progress.count("condition numbers", k, len(values))
        problem = entry.problem(**{**entry.parameters, family.parameter: value})
        found.append(condition_number(problem, **_grid(name, value, sizes["cells"])))
    conditions = np.array([c.condition for c in found])
    names = ("width", "depth", "points", "batch", "iterations", "learning_rate")
    training = Training(**{k: sizes[k] for k in names}, records=100)
    seeds = [context.seed + k for k in range(sizes["trials"])]
    histories = train_sweep(
        family, values, seeds, training, context.device, context.progress, context.seed, context.folder
    )
    errors = histories.final_errors.reshape(len(values), len(seeds))
    finite = np.where(np.isfinite(errors), errors, np.nan)
    mean = finite.mean(axis=1)
    x = normalised(name, conditions)
    losses, steps = np.array(histories.losses), histories.iterations
    by_value = np.array(histories.errors).reshape(len(steps), len(values), len(seeds)).mean(axis=2)
    rows = [
        {
            family.parameter: value,
            "condition": found[i].condition,
            "inverse_norm": found[i].inverse_norm,
            "ratio_f_u": found[i].ratio_f_u,
            "normalised": x[i],
            "l2re": mean[i],
            "l2re_std": float(finite[i].std()) if len(seeds) > 1 else None,
            "loss": float(losses[-1].reshape(len(values), len(seeds))[i].mean()),
        }
        for i, value in enumerate(values)
    ]
    history = [
        {"iteration": steps[k], family.parameter: value, "l2re": by_value[k, i]}
        for i, value in enumerate(values)
        for k in range(len(steps))
    ]
    facts = {"networks": len(values) * len(seeds), "training_s": histories.seconds}
    along = [{"iteration": step, "r": linear_fit(x, np.log10(by_value[k]))["r"]} for k, step in enumerate(steps)]
    summary = {**correlation(x, mean, by_value), "normalisation": _NORMALISATIONS[name], **facts}
    return {"parameter": family.parameter, "summary": summary, "rows": rows, "history": history, "along": along}


def correlation(x: np.ndarray, errors: np.ndarray, history: np.ndarray) -> dict[str, Any]:
    """The fit of log10(errors) (k,), that without the unsolved ones, and that of the mean over the end of the history (r, k)."""
    solved = errors < _UNSOLVED
    last = history[-max(1, len(history) // 10) :]
    return {
        **linear_fit(x, np.log10(errors)),
        "r_late": linear_fit(x, np.log10(last).mean(axis=0))["r"],
        "r_without_failures": linear_fit(x[solved], np.log10(errors[solved]))["r"],
        "failed": int((~solved).sum()),
    }


def words(data: Data) -> list[str]:
    """Correlation, ranges, and what training did not solve."""
    rows, s, p = data["rows"], data["summary"], data["parameter"]
    first, last = rows[0], rows[-1]
    known = [(a["r"], a["iteration"]) for a in data["along"] if a["r"] is not None]
    lines = [
        f"log(L2RE) against MinMax({s['normalisation']}(cond)): r = {_r(s['r'])} over {len(rows)} values of {p} (rank "
        f"correlation {_r(s['rank'])}); with the mean of the last tenth of training r = {_r(s['r_late'])}.",
        f"cond from {first['condition']:.3g} ({p} = {first[p]:g}) to {last['condition']:.3g} ({p} = {last[p]:g}); "
        f"L2RE from {_number(first['l2re'])} to {_number(last['l2re'])}.",
        f"{s['networks']} networks trained together in {s['training_s']:.0f} s.",
    ]
    if data["study"] == "helmholtz":
        lines.append(
            "The paper's ansatz, taken as it is, contains the exact solution: these errors are not those of a PINN."
        )
    if known:
        (low, when_low), (high, when_high) = min(known), max(known)
        lines.append(
            f"Along training r is between {low:.3f} (iteration {when_low}) and {high:.3f} (iteration {when_high}): when "
            "the networks are looked at decides."
        )
    if s["failed"]:
        lines.append(
            f"{s['failed']} of {len(rows)} values end with L2RE above {_UNSOLVED:g}: not solved. Without them r = "
            f"{_r(s['r_without_failures'])}."
        )
    return lines


def draw(data: Data) -> Figure:
    """Left the correlation, right the histories."""
    from matplotlib import colormaps

    from ..bench.graphics import PAPER_COLOUR, new_figure

    figure = new_figure(9.0, 3.4)
    left, right = figure.subplots(1, 2)
    rows, p, s = data["rows"], data["parameter"], data["summary"]
    x = np.array([row["normalised"] for row in rows])
    shades = colormaps["viridis"](x * 0.9)
    y = [row["l2re"] for row in rows]
    deviation = [row["l2re_std"] or 0.0 for row in rows]
    left.errorbar(x, y, deviation, fmt="none", ecolor="#9ca3af", lw=0.8)
    left.scatter(x, y, c=shades, zorder=3)
    if s["slope"] is not None:
        ends = np.array([0.0, 1.0])
        left.plot(ends, 10 ** (s["slope"] * ends + s["intercept"]), color=PAPER_COLOUR, lw=1, label=f"r = {s['r']:.3f}")
        left.legend()
    left.set(yscale="log", xlabel=f"MinMax({s['normalisation']}(condition number))", ylabel="L2RE", title=data["study"])
    for i in np.unique(np.linspace(0, len(rows) - 1, _LINES).round().astype(int)):
        row, shade = rows[i], shades[i]
        line = [h for h in data["history"] if h[p] == row[p]]
        label = f"{p} = {row[p]:.3g}, cond {row['condition']:.3g}"
        right.plot([h["iteration"] for h in line], [h["l2re"] for h in line], color=shade, lw=1.2, label=label)
    right.set(yscale="log", xlabel="iteration", ylabel="L2RE")
    right.legend(fontsize=7)
    return figure


def _r(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _number(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.2e}"


def _of(name: str) -> Callable[[Context], Data]:
    return lambda context: compute(name, context)


_CLAIM = (
    "log(L2RE) of a PINN with hard conditions grows in a strong, simple, linear relation with the condition number, "
    "normalised as {how}; larger condition numbers converge more slowly. Its sweep: {sweep}, means of 5 trials."
)


def _study(name: str, title: str, how: str, sweep: str, small: dict[str, Any], full: dict[str, Any]) -> Study:
    claim = _CLAIM.format(how=how, sweep=sweep)
    return STUDIES.register(Study(name, title, claim, _SMALL | small, _PAPER | full, _of(name), words, draw, order=20))


WAVE = _study(
    "wave", "Condition number and error: a wave of speed C", "MinMax(log cond)", "40 values of C from 1.1 to 5",
    {"values": 10, "cells": 12}, {"values": 40, "cells": 24, "learning_rate": 1e-4},
)  # fmt: skip
HELMHOLTZ = _study(
    "helmholtz", "Condition number and error: Helmholtz' equation with a source of frequency A", "MinMax(sqrt(cond))",
    "A = 1, 2, ..., 20", {"values": 6, "cells": 50, "iterations": 6000}, {"values": 20, "cells": 200},
)  # fmt: skip
BURGERS = _study(
    "burgers", "Condition number and error: Burgers' equation of viscosity nu", "MinMax(log(cond + c))",
    "21 values of nu from 0.01 to 1, evenly on a logarithmic scale", {"values": 9, "cells": 24}, {"values": 21, "cells": 64},
)  # fmt: skip
