"""Sweeps as tables: one line per variant, beside the paper's ablation where it has one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .ablations import ABLATIONS, AblationFigure, paper_ablation
from .plan import Plan
from .results import Row
from .table import Mean, markdown_table, mean_of, seconds, short, with_std

_COLUMNS = {"condition": "condition", "applied_error": "P^-1 b error", "quality": "P quality"}


@dataclass(frozen=True)
class Point:
    """One variant of a sweep.

    Attributes:
        variant: the changes, as text.
        rows: its trials.
        paper: the paper's L2RE, condition and error of P^-1 b, by column of results.csv.
    """

    variant: str
    rows: tuple[Row, ...]
    paper: Mapping[str, AblationFigure]

    def mean(self, column: str) -> Mean | None:
        """Mean over the finished trials."""
        return mean_of(getattr(r, column) for r in self.rows if r.finished)

    @property
    def label(self) -> str:
        """The values of the varied keys: what tells it from the other variants."""
        return ", ".join(part.partition("=")[2] or part for part in self.variant.split(";")) or "-"


@dataclass(frozen=True)
class Sweep:
    """All variants for one problem, method and preset of a plan."""

    plan: Plan
    problem: str
    method: str
    preset: str
    points: tuple[Point, ...]

    @property
    def title(self) -> str:
        """What is varied, of what."""
        what = ABLATIONS[self.plan.name].title if self.is_ablation else self.plan.name
        return f"{what}: {self.problem}, {self.method} {self.preset}"

    @property
    def axis(self) -> str:
        """The varied keys; where P is left out altogether at the end of a sweep over another key, that key."""
        keys = [", ".join(part.partition("=")[0] for part in p.variant.split(";") if "=" in part) for p in self.points]
        return next(iter(keys), "") or "variant"

    @property
    def is_ablation(self) -> bool:
        """Whether it is one of the paper's."""
        return self.plan.kind == "ablation" and self.plan.name in ABLATIONS

    @property
    def name(self) -> str:
        """For files."""
        return "-".join((self.plan.name.replace(" ", "-").replace(":", "-"), self.problem, self.method, self.preset))

    @property
    def measured(self) -> tuple[str, ...]:
        """The columns about the preconditioner that it has numbers for."""
        return tuple(c for c in _COLUMNS if any(p.mean(c) for p in self.points))


def sweeps(plans: Iterable[Plan], rows: Mapping[str, Row]) -> list[Sweep]:
    """The sweeps of all ablations and sweeps among the plans, variants in the order that was asked for."""
    result = []
    for plan in plans:
        if plan.kind not in ("ablation", "sweep"):
            continue
        groups: dict[tuple[str, str, str], dict[str, list[Row]]] = {}
        for p in plan.cells:
            if p.cell.key in rows:
                variants = groups.setdefault((p.cell.problem, p.cell.method, p.cell.preset), {})
                variants.setdefault(p.variant, []).append(rows[p.cell.key])
        for (problem, method, preset), variants in groups.items():
            counts = ABLATIONS[plan.name].counts if plan.kind == "ablation" and plan.name in ABLATIONS else ()
            if counts:
                trials = [r for group in variants.values() for r in group]
                variants = {f"{n} trials": trials[:n] for n in counts if len(trials) >= n}
            points = tuple(Point(v, tuple(g), _paper(plan, problem, v)) for v, g in variants.items())
            result.append(Sweep(plan, problem, method, preset, points))
    return result


def _paper(plan: Plan, problem: str, variant: str) -> dict[str, AblationFigure]:
    if plan.kind != "ablation":
        return {}
    metrics = {"l2re": "L2RE", "condition": "condition", "applied_error": "applied_error"}
    found = {column: paper_ablation(plan.name, problem, variant, metric) for column, metric in metrics.items()}
    return {column: figure for column, figure in found.items() if figure is not None}


def sweep_header(sweep: Sweep) -> list[str]:
    """Names of the columns."""
    header = [sweep.axis, "trials", "L2RE"] + (["paper L2RE"] if sweep.is_ablation else [])
    for column in sweep.measured:
        header.append(_COLUMNS[column])
        if sweep.is_ablation and column != "quality":
            header.append("(paper)")
    return [*header, "time"]


def sweep_lines(sweep: Sweep) -> list[list[str]]:
    """One line per variant."""
    lines = []
    for p in sweep.points:
        done = sum(r.finished for r in p.rows)
        line = [p.label, str(done) if done == len(p.rows) else f"{done} of {len(p.rows)}"]
        line.append(with_std(p.mean("l2re")))
        if sweep.is_ablation:
            paper = p.paper.get("l2re")
            line.append(with_std(Mean(paper.mean, paper.std, 0)) if paper else "-")
        for column in sweep.measured:
            mean = p.mean(column)
            line.append(_number(column, mean.mean if mean else None))
            if sweep.is_ablation and column != "quality":
                line.append(_number(column, p.paper[column].mean if column in p.paper else None))
        lines.append([*line, seconds(p.mean("total_s"))])
    return lines


def _number(column: str, value: float | None) -> str:
    """A condition number as people write it; the rest with an exponent."""
    plain = column == "condition" and value is not None and value < 1e4
    return f"{value:.3g}" if plain else short(value)


def sweeps_as_markdown(found: Sequence[Sweep]) -> str:
    """All sweeps, each under its title."""
    return "\n\n".join(f"## {s.title}\n\n{markdown_table(sweep_header(s), sweep_lines(s))}" for s in found)
