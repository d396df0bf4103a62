"""What people see: progress, tables, messages."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress
from rich.table import Table

from ..catalog.published import best_baseline, paper_result
from ..progress import Progress

_LINES_EVERY = 10.0  # seconds between lines where there is no terminal to draw on


class TerminalProgress(Progress):
    """A live bar with stage, iterations, loss and time left; plain lines where the output is not a terminal."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._bar: RichProgress | None = None
        if console.is_terminal:
            self._bar = RichProgress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(bar_width=28),
                MofNCompleteColumn(),
                TextColumn("{task.fields[loss]}"),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=console,
                transient=True,
            )
            self._bar.start()
        self._task: Any = None
        self._counted = ""
        self._total: int | None = None
        self._printed = time.monotonic()
        self._first: tuple[int, float] | None = None

    def stage(self, name: str, total: int | None = None) -> None:
        """Show the new stage."""
        self._total, self._first = total, None
        if self._bar is None:
            if total is not None:
                self.console.print(f"{name}: {total} iterations")
            return
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(name, total=total, loss="")

    def update(self, iteration: int, loss: float) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.update(self._task, completed=iteration, loss=f"residual {(2 * loss) ** 0.5:.2e}")
            return
        now = time.monotonic()
        self._first = self._first or (iteration, now)
        if now - self._printed >= _LINES_EVERY:
            self._printed = now
            done = iteration - self._first[0]
            left = (now - self._first[1]) / done * (self._total - iteration) if done and self._total else None
            more = f", about {left:.0f} s left" if left is not None else ""
            self.console.print(f"  {iteration}/{self._total}  residual {(2 * loss) ** 0.5:.2e}{more}")

    def count(self, name: str, done: int, total: int) -> None:
        """Move the bar of this work, or begin it."""
        if self._bar is not None:
            if name != self._counted:
                self._counted = name
                self.stage(name, total)
            self._bar.update(self._task, completed=done)
        elif time.monotonic() - self._printed >= _LINES_EVERY:
            self._printed = time.monotonic()
            self.console.print(f"  {name} {done}/{total}")

    def note(self, text: str) -> None:
        """A line above the bar."""
        self.console.print(text, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


@contextlib.contextmanager
def working_progress() -> Iterator[TerminalProgress]:
    """A progress display on standard error that is taken away in the end."""
    progress = TerminalProgress(Console(stderr=True))
    try:
        yield progress
    finally:
        progress.close()


@contextlib.contextmanager
def standard_output_kept_clean() -> Iterator[None]:
    """Send whatever libraries print to standard output (netgen does, from C++) to standard error instead."""
    sys.stdout.flush()
    try:
        saved = os.dup(1)
    except OSError:  # no such descriptor: a test harness or a service
        yield
        return
    try:
        os.dup2(2, 1)
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)


def published_table(problem: str) -> Table | None:
    """The paper's own figures and the best baseline for a problem."""
    if paper_result(problem) is None:
        return None
    table = Table(box=box.SIMPLE_HEAD, title="published figures")
    for column in ("metric", "paper", "best other method"):
        table.add_column(column)
    for metric in ("L2RE", "L1RE", "MSE"):
        ours, other = paper_result(problem, metric), best_baseline(problem, metric)
        table.add_row(
            metric,
            f"{ours.mean:.2e}" + (f" ({ours.std:.1e})" if ours.std is not None else "") if ours else "-",
            f"{other.mean:.2e} {other.method}" if other else "-",
        )
    return table
