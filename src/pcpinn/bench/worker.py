"""A process that carries out one cell: `python -m pcpinn.bench.worker`.

It reads its order, one line of JSON, from standard input and writes news, one JSON object per line, to standard output. It
ends at once when its standard input closes, so that a killed bench leaves nobody working behind its back.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from ..progress import Progress
from .execute import run_cell
from .folder import BenchFolder
from .plan import Planned

_EVERY = 0.2  # seconds between two pieces of news about iterations


class Reporter(Progress):
    """Passes progress on as lines of JSON."""

    def __init__(self, out: IO[str]) -> None:
        self._out, self._told = out, 0.0

    def tell(self, **news: Any) -> None:
        """One line."""
        self._out.write(json.dumps(news) + "\n")
        self._out.flush()

    def stage(self, name: str, total: int | None = None) -> None:
        """A new stage."""
        self.tell(stage=name, total=total)

    def update(self, iteration: int, loss: float) -> None:
        """An iteration, if the last news is old enough."""
        now = time.monotonic()
        if now - self._told >= _EVERY:
            self._told = now
            self.tell(iteration=iteration, loss=loss)


def main() -> None:
    """Read the order, run it, tell the row."""
    # Libraries print to standard output; the news have a descriptor of their own.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        order = json.loads(sys.stdin.readline())
        threading.Thread(target=_end_with_the_parent, daemon=True).start()
        reporter = Reporter(out)
        row = run_cell(BenchFolder(Path(order["folder"])), Planned.from_dict(order["cell"]), order["device"], reporter)
        reporter.tell(row=asdict(row))


def _end_with_the_parent() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    main()
