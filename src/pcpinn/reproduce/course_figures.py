"""Figures 1a, 3c and 4: L2RE over the iterations, mean and band over trials."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..bench.table import mean_of, short, with_std
from .ablation_tables import line as ablation_line
from .ablation_tables import parts as ablation_parts
from .choice import Choice
from .compare import NOT_RUN, Comparison, Line, of_claim
from .found import Found, Group
from .item import ITEMS, Item
from .main_tables import OTHERS, published, runs
from .part import Part

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHARES = (0.01, 0.1, 1.0)  # of a training: where the table looks at it


def band(found: Found, group: Group) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Iterations, mean and standard deviation of L2RE over trials; None where no training was watched."""
    courses = [np.array(found.course(row)) for row in group.finished if found.course(row)]
    if not courses:
        return None
    at = np.unique(np.concatenate([c[:, 0] for c in courses]))
    at = at[at <= min(c[-1, 0] for c in courses)]
    errors = np.stack([np.interp(at, c[:, 0], c[:, 2]) for c in courses])
    return at, errors.mean(axis=0), errors.std(axis=0)


def along(found: Found, group: Group) -> tuple[str, ...]:
    """The mean error after 1 %, 10 % and all of the iterations."""
    seen = band(found, group)
    if seen is None:
        return ("-",) * len(_SHARES)
    at, mean, _ = seen
    return tuple(short(float(np.interp(share * at[-1], at, mean))) for share in _SHARES)


def label(group: Group) -> str:
    """A variant, or a method."""
    return group.variant.replace(";", " ") or group.cell.method


HEADER = ("problem", "curve", "trials", *(f"after {share:.0%}" for share in _SHARES), "final L2RE", "paper")


def compare_methods(problem: str, found: Found) -> Comparison:
    """Our method against each other one."""
    ours = found.group(problem, "pcpinn")
    lowest = mean_of(r.l2re for r in ours.finished) if ours else None
    lines = []
    for group in found.groups():
        mean, paper = mean_of(r.l2re for r in group.finished), published(problem, group.cell.method, "L2RE")
        cells = (
            problem,
            label(group),
            str(mean.count if mean else 0),
            *along(found, group),
            with_std(mean),
            with_std(paper),
        )
        if group is ours or group.cell.method == "pcpinn":
            lines.append(Line(cells, "" if mean else NOT_RUN))
            continue
        holds = None if lowest is None or mean is None else lowest.mean < mean.mean
        lines.append(Line(cells, of_claim(holds), "" if holds is not False else "not above that of PCPINN"))
    notes = ("The paper shows curves only (of a part of the methods): a match is an error above PCPINN's.",)
    return Comparison(HEADER, tuple(lines), notes, found.done, found.planned)


def compare_tolerances(found: Found) -> Comparison:
    """Each curve by its end, which Table 3 has as a number."""
    lines = []
    for group in found.groups():
        end = ablation_line("drop-tolerance", group, group.variant, "L2RE", group.finished)
        _, _, _, trials, ours, paper = end.cells
        cells = (group.cell.problem, label(group), trials, *along(found, group), ours, paper)
        lines.append(Line(cells, end.verdict, end.why))
    notes = ["The paper shows curves; their ends are in its Table 3, and are compared within a factor of 2."]
    worst = _worst(found)
    notes += [worst] if worst else []
    return Comparison(HEADER, tuple(lines), tuple(notes), found.done, found.planned)


def _worst(found: Found) -> str:
    means = {label(g): m.mean for g in found.groups() if (m := mean_of(r.l2re for r in g.finished))}
    return f"The largest error is that of {max(means, key=lambda k: means[k])}." if len(means) > 1 else ""


def draw(found: Found) -> Figure | None:
    """Mean over trials, and a band of one standard deviation."""
    from matplotlib import colormaps

    from ..bench.graphics import new_figure, plain

    seen = [(g, b) for g in found.groups() if (b := band(found, g)) is not None]
    if not seen:
        return None
    figure = new_figure(5.6, 3.6)
    ax = figure.subplots()
    for k, (group, (at, mean, std)) in enumerate(seen):
        shade = colormaps["viridis"](0.9 * k / max(1, len(seen) - 1))
        dashed = "none" in group.variant
        ax.plot(at, mean, "--" if dashed else "-", color=shade, lw=1.2, label=plain(label(group)))
        ax.fill_between(at, np.maximum(mean - std, 0.1 * mean), mean + std, color=shade, alpha=0.2, lw=0)
    ax.set(yscale="log", xlabel="iteration", ylabel="L2RE", title=seen[0][0].cell.problem)
    ax.legend(fontsize=6)
    return figure


def _one(problem: str, choice: Choice) -> tuple[Part, ...]:
    """The ablation of the drop tolerance on one problem, whatever other problems were asked for."""
    chosen = Choice(choice.preset, choice.seeds, choice.seed, (problem,), None, choice.changes)
    return ablation_parts("drop-tolerance", chosen)


def _tolerance_item(name: str, problem: str, statement: str, order: int) -> Item:
    title = f"L2RE over iterations by drop tolerance, {problem}"
    return ITEMS.register(Item(name, title, statement, partial(_one, problem), compare_tolerances, draw, order))


FIGURE_1A = ITEMS.register(
    Item(
        "figure-1a", "L2RE over iterations of PCPINN and PINNs, wave1d-c",
        "PCPINN converges quickly and far below the PINNs, which have plateaus and oscillate.",
        partial(runs, ("wave1d-c",), OTHERS), partial(compare_methods, "wave1d-c"), draw, order=1011,
    )
)  # fmt: skip
_OFTEN = "a preconditioner does not always lower the condition number, but often helps convergence."
_tolerance_item(
    "figure-3c", "poisson2d-c", "the error grows as P becomes less precise; without P it stays large.", 1033
)
_tolerance_item("figure-4a", "poisson2d-cg", _OFTEN, 1041)
_tolerance_item("figure-4b", "poisson2d-ms", _OFTEN, 1042)
_tolerance_item("figure-4c", "poisson3d-cg", _OFTEN, 1043)
