"""The report: one page with the tables beside the paper's, convergence, error maps, and how to make each number again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..catalog import CATALOG
from ..catalog.reference_file import read_reference
from ..errors import PcpinnError
from ..files import read_json, write_atomically
from ..solution.load import load
from ..solution.markup import anchor, code, facts, figure, folded, page, table, text
from ..solution.reference import Reference
from ..solution.solution import Solution
from ..train.history import History
from .cell import Cell
from .figures import convergence, overview, sweep_figure
from .folder import BenchFolder
from .graphics import style, write_figure
from .maps import error_maps
from .outputs import NOTE, main_summaries
from .plan import Plan
from .results import Row
from .sweep_table import Sweep, sweep_header, sweep_lines, sweeps
from .table import HEADER, METRICS, Summary, main_lines, seconds, short, summarise

_MOST_CURVES, _MOST_MAPS = 8, 3


@dataclass
class _Report:
    """What the sections share."""

    bench: BenchFolder
    plans: list[Plan]
    rows: dict[str, Row]
    cells: dict[str, Cell]
    written: list[Path]

    def draw(self, drawing: Any, name: str, alternative: str, caption: str) -> str:
        """Write a figure in both forms, and return it for the page."""
        address, paths = write_figure(drawing, self.bench.path / "figures", name)
        self.written += paths
        return figure(address, alternative, caption)

    def folder(self, row: Row) -> Path:
        """Of the row's run."""
        return self.bench.run_folder(self.cells[row.key])


def write_page(bench: BenchFolder, path: Path) -> list[Path]:
    """Write the page and all figures; returns what was written, the page first.

    Raises:
        PcpinnError: for a folder without a benchmark, or damaged files.
    """
    bench.require()
    plans = bench.plans()
    cells = {p.cell.key: p.cell for plan in plans for p in plan.cells}
    rows = {k: r for k, r in bench.rows().items() if k in cells}
    if not rows:
        raise PcpinnError(f"{bench.path} has no results yet", f"run: pcpinn bench --out {bench.path}")
    report = _Report(bench, plans, rows, cells, [path])
    summaries, found = main_summaries(plans, rows), sweeps(plans, rows)
    problems = list(dict.fromkeys(s.problem for s in summaries))
    with style():
        parts = [_head(report, problems, found), _overview(report, summaries)]
        parts += [_problem(report, p, [s for s in summaries if s.problem == p]) for p in problems]
        parts += [_sweep(report, s) for s in found]
    parts += [_failures(report), _reproduction(report)]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, page("pcpinn benchmark", "".join(parts)))
    return report.written


def _head(report: _Report, problems: Sequence[str], found: Sequence[Sweep]) -> str:
    rows = report.rows.values()
    done = sum(r.finished for r in rows)
    dates = sorted({r.date for r in rows if r.date})
    machines = sorted({r.machine for r in rows if r.machine})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}" if dates else ""
    links = [(p, p) for p in problems] + [(s.name, f"{s.plan.name}: {s.problem}") for s in found]
    nav = "".join(f'<a href="#{anchor(to)}">{text(label)}</a>' for to, label in links)
    planned = len(report.cells)
    return (
        "<h1>pcpinn benchmark</h1>"
        + facts(
            (
                ("runs", f"{done} finished, {len(rows) - done} failed, {planned - len(rows)} not run yet"),
                ("measured", when),
                ("on", "; ".join(machines)),
                ("pcpinn", ", ".join(sorted({r.version for r in rows if r.version}))),
            )
        )
        + f"<nav>{nav}</nav>"
    )


def _overview(report: _Report, summaries: Sequence[Summary]) -> str:
    if not summaries:
        return ""
    lines = main_lines(summaries)
    kinds = {i: line.kind for i, line in enumerate(lines)}
    for i, kind in list(kinds.items()):
        if kind == "ours" and kinds[i - 1] == "problem" and lines[i].cells[2] != "-":
            kinds[i] = "best"
    drawn = ""
    if any(s.mean("l2re") for s in summaries):
        caption = (
            "Mean relative L2 error (bars: standard deviation) of ours, the paper's PCPINN and its best other method."
        )
        drawn = report.draw(overview(summaries), "overview", "errors by problem", caption)
    return f'<h2>All problems</h2><p class="soft">{text(NOTE)}</p>{table(HEADER, [line.cells for line in lines], kinds)}{drawn}'


def _problem(report: _Report, name: str, summaries: Sequence[Summary]) -> str:
    entry = CATALOG.get(name)
    about = ""
    if entry is not None:
        about = f"<p>{text(entry.title)}.</p>" + facts(
            (
                ("equation", entry.equation),
                ("domain", entry.domain),
                ("conditions", entry.conditions),
                ("remark", entry.remark),
            )
        )
    header = ["run", "L2RE", "training", "discretisation", "reference's own", "estimate", "unknowns", "weights", "iterations",
              "setup", "training time", "total time", "memory"]  # fmt: skip
    lines = []
    for s in summaries:
        numbers = [short(m.mean if (m := s.mean(c)) else None) for c in ("l2re", "training", "discretisation")]
        own, estimate = s.mean("reference_error"), s.mean("estimate")
        sizes = [f"{m.mean:.0f}" if (m := s.mean(c)) else "-" for c in ("dofs", "parameters", "iterations")]
        times = [seconds(s.mean(c)) for c in ("setup_s", "train_s", "total_s")]
        memory = s.mean("memory_gib")
        lines.append(
            [s.label, *numbers, short(own.mean if own else None), short(estimate.mean if estimate else None), *sizes, *times,
             f"{memory.mean:.2f} GiB" if memory else "-"]
        )  # fmt: skip
    parts = [f'<section id="{anchor(name)}"><h2>{text(name)}</h2>{about}', _maps(report, name, summaries)]
    parts += ["<h3>The error by part</h3>", table(header, lines), _convergence(report, name, summaries)]
    parts += [_again(report, summaries), "</section>"]
    return "".join(parts)


def _maps(report: _Report, name: str, summaries: Sequence[Summary]) -> str:
    """The best run of our method first, then one of each other method."""
    chosen: dict[str, Row] = {}
    for s in sorted((s for s in summaries if s.finished), key=lambda s: s.method != "pcpinn"):
        ranked = sorted((r for r in s.finished if r.l2re is not None), key=lambda r: r.l2re or 0.0)
        if ranked:
            chosen.setdefault(s.method, ranked[len(ranked) // 2])
    shown: list[tuple[str, str, Solution]] = []
    reference, trouble = None, ""
    for method, row in list(chosen.items())[:_MOST_MAPS]:
        try:
            reference = reference or _reference(report, row)
            shown.append((method, f"{method} {row.preset}", load(report.folder(row))))
        except PcpinnError as error:
            trouble = f'<p class="soft">No picture of a run: {text(error.problem)}.</p>'
    if shown and reference is None:
        trouble = '<p class="soft">No picture: the reference is not in the benchmark\'s folder.</p>'
    if not shown or reference is None:
        return trouble
    caption = (
        f"Solution and error against the {reference.kind} reference ({reference.note}; its own relative error: "
        f"{short(reference.error)}), the trial of median error."
    )
    return report.draw(error_maps(shown, reference), f"map-{name}", f"solution and error of {name}", caption) + trouble


def _reference(report: _Report, row: Row) -> Reference | None:
    """What the run was compared with, as kept in the benchmark's folder."""
    record = read_json(report.folder(row) / "run.json")
    parameters = record.get("problem_parameters") or {}
    if not isinstance(parameters, dict):
        raise PcpinnError(f"{report.folder(row)}/run.json is damaged", "run it again")
    path = report.bench.reference_file(report.cells[row.key], parameters, row.version)
    return read_reference(path)[0] if path.exists() else None


def _convergence(report: _Report, name: str, summaries: Sequence[Summary]) -> str:
    curves = []
    for s in summaries[:_MOST_CURVES]:
        trials = [
            (h, r.l2re if r.l2re is not None else r.training) for r in s.rows if (h := _history(report, r)) is not None
        ]
        if trials:
            curves.append((s, trials))
    if not curves:
        return ""
    caption = (
        "sqrt(2 loss) of each trial; of pcpinn and fem-fit it is a relative residual, which estimates the training error; the "
        "loss of a pinn is of another kind, not comparable. Dots: L2RE along the training, the large one at its end."
    )
    return report.draw(convergence(curves), f"convergence-{name}", f"convergence of {name}", caption)


def _history(report: _Report, row: Row) -> History | None:
    try:
        return History.from_csv((report.folder(row) / "history.csv").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _again(report: _Report, summaries: Sequence[Summary]) -> str:
    """Each trial with the command that makes it, and the settings of each kind of run."""
    lines, commands, settings = [], [], []
    for s in summaries:
        for r in s.rows:
            numbers = [short(getattr(r, m)) for m in METRICS]
            lines.append(
                [
                    s.label,
                    str(r.seed),
                    *numbers,
                    seconds_of(r),
                    r.machine or "-",
                    r.date or "-",
                    r.reason or r.stopped_by,
                ]
            )
            commands.append(report.cells[r.key].command())
        settings.append(_settings(report, s))
    header = ["run", "seed", *METRICS.values(), "time", "machine", "date", "ended by"]
    trials = table(header, lines) + "<h3>The commands of these runs</h3>" + code(commands)
    return folded("Every trial, with its command", trials) + folded("All settings", "".join(settings))


def seconds_of(row: Row) -> str:
    """Total time of one run."""
    return "-" if row.total_s is None else f"{row.total_s:.1f} s"


def _settings(report: _Report, summary: Summary) -> str:
    for row in summary.rows:
        try:
            settings: Mapping[str, Any] = read_json(report.folder(row) / "run.json").get("settings") or {}
            pairs = [(f"{s}.{k}", v) for s, r in settings.items() if isinstance(r, dict) for k, v in r.items()]
            lines = [f"{k} = {v}" for k, v in pairs if k != "run.seed"]
        except (PcpinnError, AttributeError):
            continue
        return f"<h3>{text(summary.label)}</h3>" + code(lines)
    return ""


def _sweep(report: _Report, sweep: Sweep) -> str:
    title = f'<section id="{anchor(sweep.name)}"><h2>{text(sweep.title[0].upper() + sweep.title[1:])}</h2>'
    drawn = ""
    if any(p.mean("l2re") for p in sweep.points):
        caption = "Ours and, where it has them, the paper's numbers."
        drawn = report.draw(sweep_figure(sweep), f"sweep-{sweep.name}", sweep.title, caption)
    rows = [r for p in sweep.points for r in p.rows]
    commands = list(dict.fromkeys(report.cells[r.key].command() for s in summarise(rows) for r in s.rows))
    again = code([sweep.plan.command]) + folded("The commands of these runs", code(commands))
    return f"{title}{table(sweep_header(sweep), sweep_lines(sweep))}{drawn}{again}</section>"


def _failures(report: _Report) -> str:
    lines = [[r.key, r.reason] for r in report.rows.values() if not r.finished]
    return f"<h2>Failed</h2>{table(['run', 'reason'], lines)}" if lines else ""


def _reproduction(report: _Report) -> str:
    commands = [f"{p.command} --out {report.bench.path.name}" for p in report.plans]
    return (
        "<h2>How to make all of it again</h2>"
        + code([*commands, f"pcpinn report {report.bench.path.name}"])
        + '<p class="soft">On a GPU node without a mesher: pcpinn prepare NAME --preset PRESET --out NAME.pcpinn, then name the '
        "file in --problems. Seeds fix the runs on one machine; other machines and versions differ in the last digits, "
        "and in times.</p>"
    )
