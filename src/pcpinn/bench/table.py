"""Means over trials, beside the paper's figures; as CSV and as Markdown."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..catalog.published import Figure, best_baseline, paper_result
from .results import Row

METRICS = {"l2re": "L2RE", "l1re": "L1RE", "mse": "MSE"}  # ours: the paper's


@dataclass(frozen=True)
class Mean:
    """Mean and standard deviation over trials: that of the trials themselves (division by n), as in the paper."""

    mean: float
    std: float | None
    count: int


@dataclass(frozen=True)
class Summary:
    """All trials of one problem, method, preset and changes."""

    problem: str
    method: str
    preset: str
    changes: str
    rows: tuple[Row, ...]

    @property
    def finished(self) -> tuple[Row, ...]:
        """Those that came to an answer."""
        return tuple(r for r in self.rows if r.finished)

    def mean(self, column: str) -> Mean | None:
        """Mean of a column of results.csv over the finished trials that have it."""
        return mean_of(getattr(r, column) for r in self.finished)

    @property
    def kind(self) -> str:
        """Trained network, last layer only or spectral basis; several where trials differ; a dash where it is not known."""
        return " / ".join(dict.fromkeys(r.kind for r in self.finished if r.kind)) or "-"

    @property
    def label(self) -> str:
        """Method, preset and changes in one line."""
        return " ".join(w for w in (self.method, self.preset, self.changes.replace(";", " ")) if w)


def mean_of(values: Iterable[float | None]) -> Mean | None:
    """Mean and standard deviation of what is there; None of nothing."""
    there = [v for v in values if v is not None]
    if not there:
        return None
    return Mean(statistics.fmean(there), statistics.pstdev(there) if len(there) > 1 else None, len(there))


def summarise(rows: Iterable[Row]) -> list[Summary]:
    """Rows grouped in the order in which problems first appear, best mean L2RE first within a problem."""
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.problem, row.method, row.preset, row.changes), []).append(row)
    summaries = [Summary(*key, tuple(sorted(group, key=lambda r: r.seed))) for key, group in groups.items()]
    order = {p: i for i, p in enumerate(dict.fromkeys(s.problem for s in summaries))}

    def place(s: Summary) -> tuple[int, float]:
        error = s.mean("l2re")
        return order[s.problem], error.mean if error else float("inf")

    return sorted(summaries, key=place)


def short(value: float | None) -> str:
    """Three digits: 1.23e-4; a dash for nothing."""
    return "-" if value is None else "0" if value == 0 else exponent(f"{value:.2e}")


def exponent(text: str) -> str:
    """1.2e-04 as 1.2e-4."""
    head, _, power = text.partition("e")
    return f"{head}e{int(power)}" if power else text


def with_std(mean: Mean | Figure | None) -> str:
    """1.23e-4 (4.5e-5)."""
    if mean is None:
        return "-"
    return short(mean.mean) + ("" if mean.std is None else f" ({exponent(f'{mean.std:.1e}')})")


def seconds(mean: Mean | None) -> str:
    """12.3 s."""
    return "-" if mean is None else f"{mean.mean:.1f} s"


def gain(summary: Summary) -> float | None:
    """How many times smaller our mean L2RE is than the paper's."""
    paper, ours = paper_result(summary.problem), summary.mean("l2re")
    return paper.mean / ours.mean if paper and ours and ours.mean > 0 else None


def gain_text(summary: Summary) -> str:
    """The gain as people read it: 195x, 3.1x, 0.42x."""
    value = gain(summary)
    return "-" if value is None else f"{value:.0f}x" if value >= 10 else f"{value:.2g}x"


def trials_text(summary: Summary) -> str:
    """5, or 4 of 5 when one failed."""
    done, all_ = len(summary.finished), len(summary.rows)
    return str(all_) if done == all_ else f"{done} of {all_}"


def markdown_table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; bars in cells are escaped."""
    rows = [[cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in [list(header), ["---"] * len(header), *rows])


@dataclass(frozen=True)
class Line:
    """A line of the main table, for `HEADER`; kind is problem, ours, paper or other."""

    kind: str
    cells: tuple[str, ...]


HEADER = ("run", "trials", *METRICS.values(), "time", "kind", "paper / ours")


def main_lines(summaries: Sequence[Summary]) -> list[Line]:
    """Problem by problem: its name, our runs, best first, then what the paper reports."""
    lines = []
    for problem in dict.fromkeys(s.problem for s in summaries):
        lines.append(Line("problem", (problem, *[""] * (len(HEADER) - 1))))
        for s in (s for s in summaries if s.problem == problem):
            means = [with_std(s.mean(m)) for m in METRICS]
            of_run = (s.label, trials_text(s), *means, seconds(s.mean("total_s")), s.kind, gain_text(s))
            lines.append(Line("ours", of_run))
        if paper_result(problem) is not None:
            theirs = [with_std(paper_result(problem, m)) for m in METRICS.values()]
            others = [best_baseline(problem, m) for m in METRICS.values()]
            best = [f"{with_std(o)} {o.method}" if o else "-" for o in others]
            lines.append(Line("paper", ("paper", "", *theirs, "", "", "")))
            lines.append(Line("other", ("best other in the paper", "", *best, "", "", "")))
    return lines


def summaries_as_markdown(summaries: Sequence[Summary]) -> str:
    """The main table."""
    lines = main_lines(summaries)
    return markdown_table(
        HEADER, ([f"**{l.cells[0]}**", *l.cells[1:]] if l.kind == "problem" else l.cells for l in lines)
    )


def summaries_as_csv(summaries: Iterable[Summary]) -> str:
    """Every number of the main table, unrounded."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    parts = [
        f"{m}_{part}"
        for m in (*METRICS, "training", "discretisation", "estimate", "total_s")
        for part in ("mean", "std")
    ]
    published = [
        f"{who}_{m}_{part}" for who in ("paper", "best_other") for m in METRICS for part in ("mean", "std", "method")
    ]
    writer.writerow(["problem", "method", "preset", "changes", "kind", "trials", "finished", *parts, *published])
    for s in summaries:
        line: list[object] = [s.problem, s.method, s.preset, s.changes, s.kind, len(s.rows), len(s.finished)]
        for column in (*METRICS, "training", "discretisation", "estimate", "total_s"):
            mean = s.mean(column)
            line += [mean.mean if mean else "", "" if mean is None or mean.std is None else mean.std]
        for find in (paper_result, best_baseline):
            for metric in METRICS.values():
                figure = find(s.problem, metric)
                line += [figure.mean, figure.std, figure.method] if figure else ["", "", ""]
        writer.writerow(["" if v is None else v for v in line])
    return out.getvalue()
