"""A process that carries out cells: `python -m pcpinn.bench.worker [SEATS]`, at most so many at a time.

It reads orders, one line of JSON each, from standard input and writes news, one JSON object per line, to standard output. It
ends at once when its standard input closes, so that a killed bench leaves nobody working behind its back, and after a last
checkpoint of each cell when it is terminated.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from ..checkpoint import Checkpoint, Interrupted
from ..progress import Progress
from ..train.turns import Turns
from .execute import run_cell
from .folder import BenchFolder
from .plan import Planned

_EVERY = 0.2  # seconds between two pieces of news about iterations


class Reporter(Progress):
    """Passes progress of a cell on as lines of JSON."""

    def __init__(self, out: IO[str], key: str) -> None:
        self._out, self._key, self._told = out, key, 0.0

    def tell(self, **news: Any) -> None:
        """One line."""
        self._out.write(json.dumps({"key": self._key, **news}) + "\n")
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


class _Work:
    """Cells in threads, which take turns."""

    def __init__(self, out: IO[str], seats: int) -> None:
        self._out, self._turns = out, Turns(seats)
        self._threads: list[threading.Thread] = []

    @property
    def busy(self) -> bool:
        """Whether a cell is being carried out."""
        return any(thread.is_alive() for thread in self._threads)

    def begin(self, order: dict[str, Any]) -> None:
        """Carry out an order, beside what is at work already."""
        self._threads.append(threading.Thread(target=self._run, args=(order,), daemon=True))
        self._threads[-1].start()

    def leave(self, *_: object) -> None:
        """End the process once every cell has written its checkpoint."""
        Checkpoint.stop_at_next()
        threading.Thread(target=self._end).start()

    def _run(self, order: dict[str, Any]) -> None:
        planned = Planned.from_dict(order["cell"])
        with self._turns.taken():
            reporter = Reporter(self._out, planned.cell.key)
            try:
                row = run_cell(BenchFolder(Path(order["folder"])), planned, order["device"], reporter)
            except Interrupted:
                return
            gc.collect()  # graphs and their memory, before the next cell
            reporter.tell(row=asdict(row))

    def _end(self) -> None:
        for thread in self._threads:
            thread.join()
        os._exit(128 + signal.SIGTERM)


def main() -> None:
    """Carry out orders until there are no more."""
    # Libraries print to standard output; the news have a descriptor of their own.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        work = _Work(out, int(sys.argv[1]) if len(sys.argv) > 1 else 1)
        signal.signal(signal.SIGTERM, work.leave)
        for line in sys.stdin:
            work.begin(json.loads(line))
        if work.busy:
            os._exit(1)


if __name__ == "__main__":
    main()
