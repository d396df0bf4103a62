"""Tables 2 and 12 to 14: mean errors of all methods on all problems, by metric."""

from __future__ import annotations

from functools import partial

from ..bench import Cell, Request, suite
from ..bench.table import METRICS, mean_of, with_std
from ..catalog import find_entry
from ..catalog.published import Figure, published_figures
from ..catalog.task import begin
from ..solve.kind import kind_of
from .choice import Choice
from .compare import Comparison, Line, of_errors
from .found import Found
from .item import ITEMS, Item
from .part import Part, Runs
from .reasons import reason

TRIALS = 5
OTHERS = ("pinn", "pinn-w", "lra", "ntk", "rar", "multiadam", "gpinn", "vpinn", "laaf", "gaaf", "fbpinn")
TOP = tuple(m for m in OTHERS if m not in ("rar", "vpinn"))  # Table 2 leaves these two out
HEADER = ("problem", "method", "kind", "trials", "ours", "paper", "paper / ours")


def runs(problems: tuple[str, ...], others: tuple[str, ...], choice: Choice) -> tuple[Part, ...]:
    """Our method and others on some problems, as the paper has them."""
    problems, methods = choice.of_problems(problems), choice.of_methods(("pcpinn", *others))
    trials, parts = choice.trials(TRIALS), []
    for ours, preset in ((True, choice.preset), (False, choice.baseline_preset)):
        named = tuple(m for m in methods if (m == "pcpinn") == ours)
        if named:
            request = Request(
                problems=problems,
                methods=named,
                presets=(preset,),
                trials=trials,
                seed=choice.seed,
                changes=choice.changes,
            )
            parts.append(Runs(request))
    return tuple(parts)


def published(problem: str, method: str, metric: str) -> Figure | None:
    """What the paper's tables have for a method, by our name of it."""
    name = "ours" if method == "pcpinn" else method
    found = (f for f in published_figures() if (f.problem, f.metric) == (problem, metric))
    return next((f for f in found if f.method.lower() == name), None)


def _usual_kind(cell: Cell) -> str:
    """What the preset makes: early rows do not say what their answers are made of."""
    _, settings, _ = begin(find_entry(cell.problem), cell.preset, dict(cell.changes), cell.method)
    return kind_of(settings)


def compare(column: str, found: Found) -> Comparison:
    """One line for each problem and method; other methods only where there is something of them."""
    lines, missing = [], 0
    for group in found.groups():
        ours = mean_of(getattr(r, column) for r in group.finished)
        paper = published(group.cell.problem, group.cell.method, METRICS[column])
        if ours is None and group.cell.method != "pcpinn":
            missing += 1
            continue
        verdict = of_errors(ours, paper)
        kinds = " / ".join(dict.fromkeys(r.kind or _usual_kind(group.cell) for r in group.finished)) or "-"
        ratio = f"{paper.mean / ours.mean:.3g}" if ours and paper and ours.mean else "-"
        cells = (
            group.cell.problem,
            group.cell.method,
            kinds,
            str(ours.count if ours else 0),
            with_std(ours),
            with_std(paper),
        )
        lines.append(Line((*cells, ratio), verdict, reason(group, verdict)))
    notes = [f"Ours with the preset {found.choice.preset}; other methods with {found.choice.baseline_preset}."]
    notes.append("A match is within a factor of 2 of the paper's mean, or within two of its standard deviations.")
    if missing:
        notes.append(f"{missing} pairs of another method and a problem are not run, and not listed.")
    return Comparison(HEADER, tuple(lines), tuple(notes), found.done, found.planned)


def _item(name: str, title: str, statement: str, column: str, others: tuple[str, ...], order: int) -> Item:
    def parts(choice: Choice) -> tuple[Part, ...]:
        return runs(suite("paper"), others, choice)

    return ITEMS.register(Item(name, title, statement, parts, partial(compare, column), order=order))


_BEST = "the preconditioned PINN has the smallest error on 17 of 18 problems (not on burgers2d-c)"
TABLE_2 = _item(
    "table-2", "Mean L2RE of our method and nine PINNs on 18 problems", f"{_BEST}, by an order of magnitude on 7.",
    "l2re", TOP, 20,
)  # fmt: skip
TABLE_12 = _item(
    "table-12", "Mean and standard deviation of L2RE, eleven PINNs", f"{_BEST}.", "l2re", OTHERS, 120
)  # fmt: skip
TABLE_13 = _item(
    "table-13", "Mean and standard deviation of L1RE, eleven PINNs",
    "the preconditioned PINN has the smallest L1RE on 16 of 18 problems (not on burgers2d-c and ks).", "l1re", OTHERS, 130,
)  # fmt: skip
TABLE_14 = _item(
    "table-14", "Mean and standard deviation of MSE, eleven PINNs",
    "as Table 12 by the mean squared error; of wave2d-ms the paper prints a smaller one for vPINN.", "mse", OTHERS, 140,
)  # fmt: skip
