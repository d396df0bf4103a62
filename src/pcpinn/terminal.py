"""Progress in a terminal: a live bar, or plain lines where there is none."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

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

from .clock import Rate, duration
from .notebook import NotebookProgress
from .progress import Callback, Progress, listening

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
                TextColumn("elapsed"),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=console,
                transient=True,
            )
            self._bar.start()
        self._task: Any = None
        self._name = ""
        self._total: int | None = None
        self._printed = time.monotonic()
        self._rate = Rate()

    def stage(self, name: str, total: int | None = None) -> None:
        """Show the new stage."""
        self._name, self._total, self._rate = name, total, Rate()
        if self._bar is None:
            self.console.print(name if total is None else f"{name}: {total} iterations", markup=False, highlight=False)
            return
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(name, total=total, loss="")

    def update(self, iteration: int, loss: float) -> None:
        """Move the bar."""
        residual = f"residual {(2 * loss) ** 0.5:.2e}"
        if self._bar is not None:
            self._bar.update(self._task, completed=iteration, loss=residual)
            return
        self._rate.tick(iteration)
        self._line(f"{iteration}/{self._total}  {residual}")

    def count(self, name: str, done: int, total: int) -> None:
        """Move the bar of this work, or begin it."""
        if (name, total) != (self._name, self._total):
            if self._bar is not None:
                self.stage(name, total)
            self._name, self._total, self._rate = name, total, Rate()
        if self._bar is not None:
            self._bar.update(self._task, completed=done)
            return
        self._rate.tick(done)
        self._line(f"{name} {done}/{total}")

    def _line(self, text: str) -> None:
        """Where there is no terminal: now and then, with the time since the stage began and the time that it still takes."""
        if time.monotonic() - self._printed < _LINES_EVERY:
            return
        self._printed = time.monotonic()
        left = None if self._total is None else self._rate.left(self._total)
        more = "" if left is None else f", about {duration(left)} left"
        words = f"  {text}, {duration(self._rate.elapsed)} elapsed{more}"
        self.console.print(words, markup=False, highlight=False, soft_wrap=True)

    def note(self, text: str) -> None:
        """A line above the bar."""
        self.console.print(text, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


def usual_progress() -> Progress:
    """A live bar for people at a terminal or a notebook, silence for programs."""
    if sys.stderr is not None and sys.stderr.isatty():
        return TerminalProgress(Console(stderr=True))
    if "ipykernel" in sys.modules:
        return NotebookProgress()
    return Progress()


@contextlib.contextmanager
def shown(progress: Progress | None, callbacks: Callback | Iterable[Callback] | None) -> Iterator[Progress]:
    """A progress that is given, or the usual one, which is taken away in the end; with callbacks."""
    own = usual_progress() if progress is None else None
    try:
        yield listening(own or progress or Progress(), callbacks)
    finally:
        if own is not None:
            own.close()
