"""Progress in a terminal: a live bar, or plain lines where there is none."""

from __future__ import annotations

import sys
import time
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

from .progress import Progress

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


def usual_progress() -> Progress:
    """A live bar for people at a terminal or a notebook, silence for programs."""
    if sys.stderr is not None and sys.stderr.isatty():
        return TerminalProgress(Console(stderr=True))
    if "ipykernel" in sys.modules:
        return TerminalProgress(Console(force_jupyter=True))
    return Progress()
