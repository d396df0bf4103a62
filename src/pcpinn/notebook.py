"""Progress in a notebook: one line of HTML that is replaced, without widgets."""

from __future__ import annotations

import html
import time
from typing import Any

from .clock import Rate, duration
from .progress import Progress

_EVERY = 0.2  # seconds between two pictures of the bar


class NotebookProgress(Progress):
    """A bar with stage, iterations, residual, elapsed and remaining time. Notes become lines of their own."""

    def __init__(self, show: Any = None) -> None:
        if show is None:
            from IPython import display

            show = display.display
        self._show, self._handle = show, None
        self._name, self._total, self._rate = "", None, Rate()
        self._done, self._text, self._drawn = 0, "", 0.0

    _handle: Any
    _total: int | None

    def stage(self, name: str, total: int | None = None) -> None:
        """A bar from its beginning."""
        self._name, self._total, self._done, self._text, self._rate = name, total, 0, "", Rate()
        self._draw(at_once=True)

    def update(self, iteration: int, loss: float) -> None:
        """Move the bar."""
        self._done, self._text = iteration, f"residual {(2 * loss) ** 0.5:.2e}"
        self._rate.tick(iteration)
        self._draw()

    def count(self, name: str, done: int, total: int) -> None:
        """Move the bar of this work, or begin it."""
        if (name, total) != (self._name, self._total):
            self.stage(name, total)
        self._done = done
        self._rate.tick(done)
        self._draw()

    def note(self, text: str) -> None:
        """A line below the bar."""
        self._show(_Html(f"<div>{html.escape(text)}</div>"))

    def close(self) -> None:
        """Take the bar away."""
        if self._handle is not None:
            self._handle.update(_Html(""))
            self._handle = None

    def _draw(self, at_once: bool = False) -> None:
        now = time.monotonic()
        if now - self._drawn < _EVERY and not at_once:
            return
        self._drawn = now
        words = [f"{self._done}/{self._total}"] if self._total else []
        left = None if self._total is None else self._rate.left(self._total)
        words += [self._text] if self._text else []
        words += [f"{duration(self._rate.elapsed)} elapsed"] + (
            [] if left is None else [f"about {duration(left)} left"]
        )
        bar = f'<progress value="{self._done}" max="{self._total}"></progress> ' if self._total else ""
        page = _Html(f"<div>{html.escape(self._name)} {bar}{html.escape(', '.join(words))}</div>")
        if self._handle is None:
            self._handle = self._show(page, display_id=True)
        else:
            self._handle.update(page)


class _Html:
    """What a notebook shows as it stands."""

    def __init__(self, text: str) -> None:
        self._text = text

    def _repr_html_(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return ""
