"""Study inverse-comparison: methods for one inverse problem, the same data for all, several seeds of its noise."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..baselines.inverse_methods import infer_by
from ..catalog import INVERSE, InverseEntry
from ..errors import PcpinnError
from ..invert.observations import Observations
from ..invert.solution import InverseSolution
from ..progress import Progress
from .study import STUDIES, Context, Data, Sizes, Study, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = {
    "infer": "preconditioned networks",
    "pinn": "ordinary PINN",
    "adjoint": "adjoint",
    "adjoint-tikhonov": "adjoint, Tikhonov",
    "adjoint-tv": "adjoint, total variation",
}


class Published(NamedTuple):
    """The paper's figures: relative error of (u, a), its standard deviation over 5 trials, seconds."""

    l2re: float
    std: float
    seconds: float


# The paper's table of inverse problems.
PAPER = {
    ("poisson-inv", "infer"): Published(1.80e-2, 9.30e-3, 187.0),
    ("poisson-inv", "pinn"): Published(2.45e-2, 1.03e-2, 490.0),
    ("poisson-inv", "adjoint"): Published(7.82e2, 0.0, 1.4),
    ("heat-inv", "infer"): Published(9.04e-3, 2.34e-3, 321.0),
    ("heat-inv", "pinn"): Published(5.09e-2, 4.34e-3, 3390.0),
    ("heat-inv", "adjoint"): Published(1.50e3, 0.0, 10.7),
}


@dataclass(frozen=True)
class Attempt:
    """`attempt` as a piece of a study: its name in words, which run it is, and data instead of the entry's."""

    name: str
    method: str
    problem: str
    preset: str
    changes: dict[str, Any]
    data: Observations | None = None

    @property
    def key(self) -> str:
        """The name, and a hash of all else."""
        changes = sorted((k, str(v)) for k, v in self.changes.items())
        identity = hashlib.sha256(repr([self.method, self.problem, self.preset, changes]).encode())
        if self.data is not None:
            identity.update(self.data.points.tobytes() + self.data.values.tobytes() + repr(self.data.noise).encode())
        words = re.sub(r"[^A-Za-z0-9.]+", "-", f"{self.problem}-{self.name}").strip("-.")[:80]
        return f"{words}-{identity.hexdigest()[:8]}"

    def run(self, progress: Progress) -> dict[str, Any]:
        """The row."""
        return plain(attempt(self.method, INVERSE.find(self.problem), self.preset, self.changes, self.data))


def attempt(
    method: str,
    entry: InverseEntry,
    preset: str,
    changes: Mapping[str, Any],
    data: Observations | None = None,
) -> dict[str, Any]:
    """One run as a row; what goes wrong is told in the row, and nothing else stops for it.

    Args:
        method, entry, preset: what to run.
        changes: of the preset, seed included.
        data: instead of the entry's.

    Raises:
        PcpinnError: for a method, a preset or a change that does not exist.
    """
    parameters, settings = entry.resolve(preset, changes, method)
    build, unknowns = entry.problem(**parameters)
    given = data or entry.data(settings.run.seed, **parameters)
    row: dict[str, Any] = {"data": len(given), "l2re": None, "l2re_u": None, "l2re_a": None}
    try:
        solution = infer_by(method, build, given, unknowns, settings, truth=entry.truth(**parameters))
    except (PcpinnError, ArithmeticError, ValueError, RuntimeError) as error:
        what = error.problem if isinstance(error, PcpinnError) else str(error)
        return {
            **row,
            "expected": None,
            "training": None,
            "converged": None,
            "seconds": None,
            "iterations": None,
            "outcome": f"failed: {what[:120]}",
        }
    return row | _facts(solution)


def _facts(solution: InverseSolution) -> dict[str, Any]:
    errors, result = solution.errors, solution.result
    finite = math.isfinite(errors["l2re"])
    tried = [m["l2re"] for m in result.get("penalty", {}).get("tried", ())]
    return {
        "l2re": errors["l2re"],
        "l2re_u": errors["field"]["u"]["l2re"],
        "l2re_a": errors["field"]["a"]["l2re"],
        "hindsight": min(tried) if len(tried) > 1 else None,
        "expected": result["inverse"].get("expected_l2re"),
        "training": errors["training"],
        "converged": result["inverse"].get("converged"),
        "seconds": result["time"]["total_s"],
        "iterations": result["iterations"],
        "outcome": "ok" if finite else "failed: not finite",
    }


def mesh_changes(entry: InverseEntry, sizes: Sizes) -> dict[str, Any]:
    """Cells along each axis of space; 0 leaves them to the preset."""
    return {"cells": (sizes["cells"],) * len(entry.presets[sizes["preset"]]["cells"])} if sizes["cells"] else {}


def compute(context: Context) -> Data:
    """Every method on every seed."""
    sizes, entry = context.sizes, INVERSE.find(context.problem)
    entry.resolve(sizes["preset"], {})
    methods = [m for m in _known(sizes["methods"]) if m != "adjoint-tv" or sizes["tv"] > 1]
    changes: dict[str, Any] = {"noise": sizes["noise"], "points": sizes["points"]}
    changes |= mesh_changes(entry, sizes)
    iterations = {"pinn": sizes["pinn_iterations"], "infer": sizes["iterations"]}
    pieces: list[Attempt] = []
    context.progress.stage("runs")
    for seed in range(context.seed, context.seed + sizes["seeds"]):
        for method in methods:
            count = iterations.get(method, sizes["adjoint_iterations"])
            own: dict[str, Any] = {"iterations": count} if count else {}
            own |= (
                {"device": context.device_of_pieces} if method in iterations else {}
            )  # adjoint methods have no networks
            own |= {"seed": seed}
            pieces.append(Attempt(f"{method}-s{seed}", method, entry.name, sizes["preset"], {**changes, **own}))
    found = context.spread.map(pieces, context.progress)
    runs = [
        {"problem": entry.name, "method": piece.method, "seed": piece.changes["seed"], **row}
        for piece, row in zip(pieces, found, strict=True)
    ]
    rows = [_summed(entry.name, method, [r for r in runs if r["method"] == method]) for method in methods]
    failed = sum(r["outcome"] != "ok" for r in runs)
    return {"rows": rows, "runs": runs, "summary": {"runs": len(runs), "failed": failed}}


def _known(methods: Iterable[str]) -> tuple[str, ...]:
    for method in methods:
        if method not in LABELS:
            raise PcpinnError(f"methods={method!r} is none of this study", f"use some of {', '.join(LABELS)}")
    return tuple(methods)


def _summed(problem: str, method: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    good = [r for r in runs if r["outcome"] == "ok"]

    def mean(key: str) -> float | None:
        values = [r[key] for r in good if r.get(key) is not None]
        return float(np.mean(values)) if values else None

    paper = PAPER.get((problem, method))
    return {
        "problem": problem,
        "method": LABELS[method],
        "runs": len(good),
        "failed": len(runs) - len(good),
        "l2re": mean("l2re"),
        "std": float(np.std([r["l2re"] for r in good])) if good else None,
        "l2re_u": mean("l2re_u"),
        "l2re_a": mean("l2re_a"),
        "best_weight": mean("hindsight"),
        "expected": mean("expected"),
        "training": mean("training"),
        "seconds": mean("seconds"),
        "paper_l2re": paper.l2re if paper else None,
        "paper_seconds": paper.seconds if paper else None,
    }


def words(data: Data) -> list[str]:
    """One sentence per method."""
    lines = []
    for row in data["rows"]:
        if row["l2re"] is None:
            lines.append(f"{row['method']}: all {row['failed']} runs failed.")
            continue
        text = f"{row['method']}: error of (u, a) {row['l2re']:.2e} (u {row['l2re_u']:.2e}, a {row['l2re_a']:.2e})"
        text += f" in {row['seconds']:.0f} s"
        if row["best_weight"] is not None:
            text += f"; with the best of the weights tried, known in hindsight, {row['best_weight']:.2e}"
        if row["expected"] is not None:
            text += f"; its posterior expects {row['expected']:.2e}"
        lines.append(text + ".")
    return lines


def draw(data: Data) -> Figure:
    """Errors of each run, method by method."""
    from ..bench.graphics import new_figure

    figure = new_figure(7.0, 3.4)
    axes = figure.subplots()
    for k, row in enumerate(data["rows"]):
        errors = [r["l2re"] for r in data["runs"] if LABELS[r["method"]] == row["method"] and r["l2re"] is not None]
        axes.plot([k] * len(errors), errors, "o", ms=5, alpha=0.7, color="#2563eb", label="" if k else "each run")
        if row["paper_l2re"] is not None:
            axes.plot([k], [row["paper_l2re"]], "_", ms=18, color="#dc2626", label="" if k else "the paper")
    axes.set(yscale="log", ylabel="relative error of (u, a)", title=data["problem"])
    axes.set_xticks(range(len(data["rows"])), [row["method"] for row in data["rows"]], fontsize=7)
    axes.legend(fontsize=7)
    return figure


# cells and iterations (of the preconditioned networks): 0 leaves them to the preset; tv=2 adds total variation
_USUAL = {"methods": tuple(LABELS), "noise": 0.1, "points": 2500, "cells": 0, "iterations": 0}
STUDY = Study(
    "inverse-comparison",
    "An inverse problem by several methods: preconditioned networks, the ordinary PINN, adjoint methods",
    "the preconditioned networks have the smallest error of (u, a), 1.80e-2 on poisson-inv and 9.04e-3 on heat-inv; the best "
    "PINN has 2.45e-2 and 5.09e-2, and the adjoint method, without any penalty, follows the noise: 7.82e+2 and 1.50e+3.",
    {"preset": "quick", "seeds": 2, **_USUAL, "pinn_iterations": 3000, "adjoint_iterations": 300, "tv": 1},
    {"preset": "default", "seeds": 5, **_USUAL, "pinn_iterations": 20_000, "adjoint_iterations": 500, "tv": 2},
    compute,
    words,
    draw,
    problem="poisson-inv",
    order=70,
    spreads=True,
)
STUDIES.register(STUDY)
