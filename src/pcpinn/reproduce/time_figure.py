"""Figure 3a: seconds of PCPINN and of the ordinary PINN on four problems, with the smallest and the largest of the trials."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..bench.table import mean_of
from .compare import NOT_RUN, Comparison, Line, of_claim
from .found import Found, Group
from .item import ITEMS, Item
from .main_tables import runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROBLEMS = ("wave1d-c", "burgers1d-c", "heat2d-vc", "ns2d-c")
COMPARABLE = 2.0  # times as long
HEADER = ("problem", "PCPINN: mean [min, max]", "PINN: mean [min, max]", "PCPINN / PINN", "on", "paper")
_PAPER = "about as long; shorter in some cases"


def times(group: Group | None) -> list[float]:
    """Total seconds of the finished trials."""
    return [r.total_s for r in group.finished if r.total_s is not None] if group else []


def shown(seconds: list[float]) -> str:
    """12.3 s [11.0, 14.1]."""
    mean = mean_of(seconds)
    return f"{mean.mean:.1f} s [{min(seconds):.1f}, {max(seconds):.1f}]" if mean else "-"


def compare(found: Found) -> Comparison:
    """One line per problem."""
    lines = []
    for problem in found.choice.of_problems(PROBLEMS):
        groups = [found.group(problem, method) for method in ("pcpinn", "pinn")]
        ours, other = map(times, groups)
        machines = {r.machine for g in groups if g for r in g.finished}
        a, b = mean_of(ours), mean_of(other)
        ratio = a.mean / b.mean if a and b else None
        cells = (
            problem,
            shown(ours),
            shown(other),
            f"{ratio:.2f}" if ratio else "-",
            "; ".join(sorted(machines)) or "-",
        )
        holds = None if ratio is None else ratio <= COMPARABLE
        why = (
            "" if holds is not False else "a run here includes mesh, assembly, errors and estimate; and other machines"
        )
        lines.append(Line((*cells, _PAPER), of_claim(holds), why))
    notes = ["The paper shows its times in a picture only, of a TITAN Xp; a match is at most twice the PINN's time."]
    if all(l.verdict == NOT_RUN for l in lines):
        notes.append("Both methods are needed on a problem.")
    return Comparison(HEADER, tuple(lines), tuple(notes), found.done, found.planned)


def draw(found: Found) -> Figure | None:
    """Bars with the range of the trials."""
    from ..bench.graphics import colour, new_figure

    problems = found.choice.of_problems(PROBLEMS)
    figure = new_figure(5.4, 3.2)
    ax = figure.subplots()
    drawn = False
    for k, method in enumerate(("pcpinn", "pinn")):
        for i, problem in enumerate(problems):
            seconds = times(found.group(problem, method))
            mean = mean_of(seconds)
            if mean is None:
                continue
            span = [[mean.mean - min(seconds)], [max(seconds) - mean.mean]]
            label = method if not drawn or all(t.get_label() != method for t in ax.containers) else None
            ax.bar(i + 0.4 * k - 0.2, mean.mean, 0.36, yerr=span, color=colour(method), label=label, capsize=3)
            drawn = True
    ax.set_xticks(range(len(problems)), problems)
    ax.set(ylabel="seconds", title="mean, smallest and largest of the trials")
    ax.legend() if drawn else None
    return figure if drawn else None


FIGURE_3A = ITEMS.register(
    Item(
        "figure-3a", "Seconds of PCPINN and PINN on four problems",
        "PCPINN takes about as long as the PINN, sometimes less.",
        partial(runs, PROBLEMS, ("pinn",)), compare, draw, order=1031,
    )
)  # fmt: skip
