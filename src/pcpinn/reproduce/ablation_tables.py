"""Tables 3 and 5 to 10: the paper's ablations, metric by metric; and Table 4: five trials against ten."""

from __future__ import annotations

from functools import partial

from ..bench import ABLATIONS, Request, Row, suite
from ..bench.ablations import paper_ablation
from ..bench.table import Mean, mean_of, with_std
from ..catalog.published import best_baseline
from .choice import Choice
from .compare import NOT_RUN, Comparison, Line, of_errors, of_numbers
from .found import Found, Group
from .item import ITEMS, Item
from .part import Part, Runs
from .reasons import reason

HEADER = ("problem", "variant", "metric", "trials", "ours", "paper")
COLUMNS = {
    "L2RE": "l2re",
    "L1RE": "l1re",
    "MSE": "mse",
    "MAE": "mae",
    "condition": "condition",
    "applied_error": "applied_error",
}
UNTRAINED = ("condition", "applied_error")  # no training enters these


def parts(ablation: str, choice: Choice) -> tuple[Part, ...]:
    """The ablation's runs. Presets other than the paper's are told to take an ILU where its tolerance is varied."""
    found = ABLATIONS[ablation]
    own = (("preconditioner", "ilu"),) if ablation == "drop-tolerance" and choice.preset != "paper" else ()
    problems = choice.of_problems(suite("paper") if found.problems is None else found.problems)
    request = Request(
        ablation=ablation, problems=problems, presets=(choice.preset,), trials=choice.trials(found.trials), seed=choice.seed,
        changes=(*own, *choice.changes),
    )  # fmt: skip
    return (Runs(request),)


def line(ablation: str, group: Group, variant: str, metric: str, rows: tuple[Row, ...]) -> Line:
    """One number of ours beside the paper's."""
    ours = mean_of(getattr(r, COLUMNS[metric]) for r in rows)
    paper = paper_ablation(ablation, group.cell.problem, variant, metric)
    verdict = (of_numbers if metric in UNTRAINED else of_errors)(ours, paper)
    printed = with_std(Mean(paper.mean, paper.std, 0)) if paper else "-"
    name = "error of P^-1 b" if metric == "applied_error" else metric
    cells = (
        group.cell.problem,
        variant.replace(";", " "),
        name,
        str(ours.count if ours else 0),
        with_std(ours),
        printed,
    )
    return Line(cells, verdict, "" if metric in UNTRAINED else reason(group, verdict))


def compare(ablation: str, metrics: tuple[str, ...], found: Found) -> Comparison:
    """One line for each problem, variant and metric that the paper has."""
    lines = []
    for group in found.groups():
        for metric in metrics:
            if paper_ablation(ablation, group.cell.problem, group.variant, metric) is not None:
                lines.append(line(ablation, group, group.variant, metric, group.finished))
    notes = [
        f"Ours with the preset {found.choice.preset}. Errors match within a factor of 2, numbers of P within a quarter."
    ]
    return Comparison(HEADER, tuple(lines), tuple(notes), found.done, found.planned)


def compare_trials(found: Found) -> Comparison:
    """Means of five and of ten trials; the paper's last column is the best of the other methods."""
    lines = []
    for group in found.groups():
        for count in ABLATIONS["trials"].counts:
            rows = group.finished[:count] if len(group.finished) >= count else ()
            one = line("trials", group, f"{count} trials", "L2RE", rows)
            other = best_baseline(group.cell.problem)
            best = f"{with_std(other)} {other.method}" if other else "-"
            lines.append(Line((*one.cells, best), one.verdict, one.why if one.verdict != NOT_RUN else ""))
    notes = (f"Ours with the preset {found.choice.preset}; a line needs all of its trials.",)
    return Comparison((*HEADER, "best other"), tuple(lines), notes, found.done, found.planned)


def _item(number: int, ablation: str, title: str, statement: str, metrics: tuple[str, ...]) -> Item:
    own = compare_trials if ablation == "trials" else partial(compare, ablation, metrics)
    item = Item(f"table-{number}", title, statement, partial(parts, ablation), own, order=10 * number)
    return ITEMS.register(item)


_ALL = ("MAE", "MSE", "L1RE", "L2RE")
_SMALL_EFFECT = "the error of poisson2d-ms hardly depends on it: L2RE between 6.17e-2 and 6.56e-2 in Tables 7 to 10."
_item(
    3, "drop-tolerance", "L2RE, condition number and error of P^-1 f by drop tolerance, four Poisson problems",
    "a finer tolerance gives a smaller condition number (not on poisson3d-cg) and often a smaller error; without P the error is "
    "the largest on poisson2d-c and poisson2d-ms.", ("L2RE", *UNTRAINED),
)  # fmt: skip
_item(4, "trials", "Five trials against ten", "means over 5 and over 10 trials are close to each other.", ("L2RE",))
_item(
    5, "preconditioner", "Row balancing, Jacobi and ILU",
    "ILU is ten times better than the two others on poisson2d-ms, a little on wave2d-ms.", ("L2RE",),
)  # fmt: skip
_item(
    6, "initialisation", "Glorot's and He's initialisation",
    "it makes next to no difference on poisson2d-ms, at most a third on ns2d-c and a tenth on wave2d-ms.", ("L2RE",),
)  # fmt: skip
_item(7, "learning-rate", "Learning rate of Adam, poisson2d-ms", _SMALL_EFFECT, _ALL)
_item(8, "adam-betas", "Decay rates of Adam, poisson2d-ms", _SMALL_EFFECT, _ALL)
_item(9, "width", "Neurons per hidden layer, poisson2d-ms", _SMALL_EFFECT, _ALL)
_item(
    10, "depth", "Number of hidden layers, poisson2d-ms",
    _SMALL_EFFECT + " Its column of 5 layers of 128 is that of 256 neurons in Table 9: one of the two is a slip.", _ALL,
)  # fmt: skip
