"""Table 11: the inverse problems by preconditioned networks, an ordinary PINN and the adjoint method."""

from __future__ import annotations

from typing import Any

from ..bench.table import Mean, mean_of, with_std
from ..study import Data
from ..study.inverse_comparison import LABELS, PAPER, STUDY
from .choice import Choice
from .compare import NOTHING, WORSE, Comparison, Line, of_errors
from .found import Found
from .item import ITEMS, Item
from .part import Part, Studied

TRIALS = 5
PROBLEMS = ("poisson-inv", "heat-inv")
HEADER = ("problem", "method", "trials", "error of (u, a)", "paper", "seconds", "paper (s)")


def parts(choice: Choice) -> tuple[Part, ...]:
    """A study per problem and seed, so that an interruption costs one seed."""
    sizes = (("preset", choice.preset), ("seeds", "1"), ("tv", "1"), *choice.changes)
    if choice.methods is not None:
        sizes = (*sizes, ("methods", ",".join(choice.of_methods(LABELS))))
    seeds = range(choice.seed, choice.seed + choice.trials(TRIALS))
    problems = choice.of_problems(PROBLEMS)
    return tuple(Studied(STUDY.name, p, choice.full, sizes, seed) for p in problems for seed in seeds)


def compare(found: Found) -> Comparison:
    """One line for each problem and method; those that the paper has not stand there without a verdict."""
    lines, used = [], list[Data]()
    for problem in found.choice.of_problems(PROBLEMS):
        for method in found.choice.of_methods(LABELS):
            studies, own = _runs(found, problem, method)
            used += studies
            ours, seconds = mean_of(r["l2re"] for r in own), mean_of(r["seconds"] for r in own)
            table = PAPER.get((problem, method))
            paper = Mean(table.l2re, table.std, TRIALS) if table else None
            if ours is None and paper is None:
                continue
            verdict = of_errors(ours, paper) if paper else NOTHING
            times = (f"{seconds.mean:.1f}" if seconds else "-", f"{table.seconds:g}" if table else "-")
            cells = (problem, LABELS[method], str(ours.count if ours else 0), with_std(ours), with_std(paper), *times)
            lines.append(Line(cells, verdict, _why(method, verdict, own)))
    notes = [
        "The paper's SOTA is the best PINN of PINNacle; ours is the ordinary one. Its seconds are those of a TITAN Xp."
    ]
    presets = sorted({data["sizes"]["preset"] for data in used})
    if presets:
        notes.append(f"Meshes and networks of the preset {', '.join(presets)}.")
    return Comparison(HEADER, tuple(lines), tuple(notes), found.done, found.planned, presets not in ([], ["paper"]))


def _runs(found: Found, problem: str, method: str) -> tuple[list[Data], list[dict[str, Any]]]:
    """The runs of a method with the studies that have them: those asked for, else smaller ones of the same seeds."""
    seeds = {p.seed for p in found.parts if isinstance(p, Studied)}
    smaller = [d for d in found.sources.studies.values() if d["study"] == STUDY.name and d["seed"] in seeds]
    for studies in (found.studies(STUDY.name), smaller):
        runs = {id(d): [r for r in d["runs"] if (r["problem"], r["method"]) == (problem, method)] for d in studies}
        if any(runs.values()):
            return [d for d in studies if runs[id(d)]], [row for own in runs.values() for row in own]
    return [], []


def _why(method: str, verdict: str, runs: list[dict[str, object]]) -> str:
    if method == "adjoint" and verdict == "better":
        return "without a penalty it follows the noise; how far depends on mesh, bounds and iterations, which are not stated"
    if verdict == WORSE and method == "pinn":
        return "not converged: fewer steps than the paper's 490 s and 3390 s"
    return "some runs stopped short of the discrete answer" if any(r.get("converged") is False for r in runs) else ""


TABLE_11 = ITEMS.register(
    Item(
        "table-11", "Two inverse problems: ours, a PINN, the adjoint method",
        "preconditioned networks have the smallest errors, 1.80e-2 and 9.04e-3; the adjoint method follows the noise.",
        parts, compare, order=110,
    )
)  # fmt: skip
