"""What people see of a benchmark: one progress display, and tables of at most 100 columns."""

from __future__ import annotations

import textwrap
import threading
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress
from rich.table import Table

from ..bench import Cell, Row, Watch
from ..bench.family_table import FAMILY_HEADER, family_lines
from ..bench.sweep_table import Sweep, sweep_header, sweep_lines
from ..bench.table import HEADER, Summary, main_lines, short
from ..progress import Progress

_WIDTH, _LABEL = 120, 22
_MORE = ("L1RE", "MSE")  # columns that a narrow terminal has no place for; results.csv and table.md have them


class _RunLine(Progress):
    """One line of the display: a run at work."""

    def __init__(self, bar: RichProgress, name: str) -> None:
        self._bar, self._name = bar, name
        self.task = bar.add_task(escape(name), total=None, news="")

    def stage(self, name: str, total: int | None = None) -> None:
        """Show the new stage."""
        self._bar.reset(self.task, total=total, news=name)

    def update(self, iteration: int, loss: float) -> None:
        """Move the bar."""
        self._bar.update(self.task, completed=iteration, news=f"residual {(2 * loss) ** 0.5:.1e}")


class BenchProgress(Watch):
    """A bar for the whole and one for each run at work; where there is no terminal, one line per ended run."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._bar: RichProgress | None = None
        self._lines: dict[str, _RunLine] = {}
        self._whole: Any = None
        self._total = self._done = self._failed = 0
        self._guard = threading.Lock()

    def begin(self, total: int, done: int) -> None:
        """Show how much there is to do."""
        self._total, self._done = total, done
        if done:
            self.note(f"{done} of {total} runs are finished already")
        if self.console.is_terminal and done < total:
            columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=20), MofNCompleteColumn(),
                       TextColumn("{task.fields[news]}"), TimeElapsedColumn())  # fmt: skip
            self._bar = RichProgress(*columns, console=self.console, transient=True)
            self._whole = self._bar.add_task("[bold]all runs", total=total, completed=done, news="")
            self._bar.start()

    def started(self, cell: Cell) -> Progress:
        """A line for the run."""
        if self._bar is None:
            return Progress()
        line = _RunLine(self._bar, name_of(cell))
        with self._guard:
            self._lines[cell.key] = line
        return line

    def ended(self, cell: Cell, row: Row) -> None:
        """Say how it ended."""
        self._done += 1
        self._failed += not row.finished
        if row.finished:
            what = f"L2RE {short(row.l2re)}" if row.l2re is not None else f"training error {short(row.training)}"
            outcome = f"{what} in {row.total_s or 0:.1f} s"
        else:
            outcome = f"failed: {row.reason}"
        self.note(f"[{self._done}/{self._total}] {name_of(cell)}: {outcome}")
        if self._bar is not None:
            with self._guard:
                line = self._lines.pop(cell.key, None)
            if line is not None:
                self._bar.remove_task(line.task)
            self._bar.update(self._whole, completed=self._done, news=f"{self._failed} failed" if self._failed else "")

    def note(self, text: str) -> None:
        """A line above the bars."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Take the bars away."""
        if self._bar is not None:
            self._bar.stop()


def name_of(cell: Cell) -> str:
    """A run in words."""
    changes = f" {cell.changed.replace(';', ' ')}" if cell.changes else ""
    return f"{cell.problem} {cell.method} {cell.preset}{changes} seed {cell.seed}"


def main_table(summaries: Sequence[Summary], width: int = _WIDTH) -> Table:
    """Ours by problem, best first; below each problem the paper's figures. Narrow terminals see the first error alone."""
    shown = [k for k, name in enumerate(HEADER) if width >= _WIDTH or name not in _MORE]
    table = Table(box=box.SIMPLE_HEAD, title="mean (std) over trials", width=min(width, _WIDTH), pad_edge=False)
    table.add_column("run", overflow="fold", ratio=1, min_width=_LABEL)
    for name in [HEADER[k] for k in shown[1:-1]]:
        table.add_column("n" if name == "trials" else name, justify="right", overflow="fold")
    table.add_column("gain", justify="right")
    styles = {"problem": "bold", "ours": "", "paper": "dim", "other": "dim"}
    for i, line in enumerate(main_lines(summaries)):
        if line.kind == "problem" and i:
            table.add_section()
        # the name of a method goes below its number, changed settings below the method
        cells = [c.replace(") ", ")\n") if line.kind == "other" else c for c in line.cells]
        first = cells[0] if line.kind == "problem" else textwrap.fill(cells[0], _LABEL, subsequent_indent="  ")
        cells = [first, *cells[1:]]
        table.add_row(*(escape(cells[k]) for k in shown), style=styles[line.kind])
    table.caption = "gain: the paper's L2RE divided by ours"
    return table


def family_table(summaries: Sequence[Summary]) -> Table:
    """Families, all methods of each together."""
    table = Table(box=box.SIMPLE_HEAD, title="errors at unseen parameters", pad_edge=False, padding=(0, 1, 0, 0))
    for i, name in enumerate(FAMILY_HEADER):
        table.add_column(escape(name), justify="left" if i == 0 else "right", overflow="fold")
    for line in family_lines(summaries):
        table.add_row(*map(escape, line), style="" if any(line[1:]) else "bold")
    return table


def sweep_table(sweep: Sweep) -> Table:
    """One line per variant."""
    table = Table(box=box.SIMPLE_HEAD, title=escape(sweep.title), pad_edge=False, padding=(0, 1, 0, 0))
    for i, name in enumerate(sweep_header(sweep)):
        table.add_column(escape(name.replace(" ", "\n")), justify="left" if i == 0 else "right", overflow="fold")
    for line in sweep_lines(sweep):
        table.add_row(*map(escape, line))
    return table
