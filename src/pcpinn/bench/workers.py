"""Processes that carry out cells for a bench, each some of them at a time (worker.py)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from typing import Any

from ..progress import Progress
from .execute import recorded
from .folder import BenchFolder
from .plan import Planned
from .results import Row, failed
from .watch import Watch

_GRACE = 5.0  # seconds that a worker gets to stop on its own


@dataclass
class _Asked:
    """A cell that a worker carries out: who listens, and what came of it."""

    progress: Progress
    done: threading.Event = field(default_factory=threading.Event)
    row: dict[str, Any] | None = None


class _Worker:
    """One process."""

    def __init__(self, environment: dict[str, str], lock: int, seats: int) -> None:
        self.load, self.dead = 0, False
        self._messages = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed below
        self._cause = ""
        self._asked: dict[str, _Asked] = {}
        self._guard = threading.Lock()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pcpinn.bench.worker", str(seats)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            env=environment,
            pass_fds=(lock,),
            start_new_session=True,  # a Ctrl-C is for the bench, which ends its workers itself
            text=True,
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def run(self, folder: BenchFolder, planned: Planned, device: str | None, progress: Progress) -> Row:
        """The row of a cell, once it is there."""
        asked = _Asked(progress)
        order = {"folder": str(folder.path.resolve()), "cell": planned.to_dict(), "device": device}
        with self._guard:
            self._asked[planned.cell.key] = asked
            if self.dead:
                asked.done.set()
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):  # it died; the exit status tells more
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
        asked.done.wait()
        if asked.row is not None:
            return Row(**asked.row)
        return failed(planned.cell, self._cause)

    def close(self) -> None:
        """No more orders."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()

    def _listen(self) -> None:
        """Pass its news on until it ends."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with self.process.stdout as news, contextlib.suppress(ValueError):  # of a line that was cut off
            for line in news:
                self._hear(json.loads(line))
        code = self.process.wait()
        with self._messages as messages:
            messages.seek(0)
            self._cause = _cause(code, messages.read())
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        with self._guard:
            self.dead = True
            for asked in self._asked.values():
                asked.done.set()

    def _hear(self, news: dict[str, Any]) -> None:
        asked = self._asked[news["key"]]
        if "row" in news:
            asked.row = news["row"]
            asked.done.set()
        elif "stage" in news:
            asked.progress.stage(news["stage"], news["total"])
        else:
            asked.progress.update(news["iteration"], news["loss"])


def _cause(code: int, messages: str) -> str:
    """Why a worker died without a word."""
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
        return f"its process was killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")
    last = next((line.strip() for line in reversed(messages.splitlines()) if line.strip()), "")
    return f"its process ended with code {code}: {last}"


class Team:
    """At most `jobs` processes of `seats` cells at a time; a process of one seat ends with its cell.

    Args:
        bench, device, watch: as of `run_plan`.
        lock: descriptor of the bench's lock, which lives as long as a worker.
    """

    def __init__(
        self, bench: BenchFolder, device: str | None, watch: Watch, lock: int, jobs: int, seats: int = 1
    ) -> None:
        self._bench, self._device, self._watch, self._lock = bench, device, watch, lock
        self._jobs, self._seats = jobs, seats
        threads = str(max(1, _threads() // jobs))
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        self._environment = {**os.environ, **dict.fromkeys(names, threads)}
        self._workers: list[_Worker] = []
        self._guard, self._stopped = threading.Lock(), False

    def run(self, planned: Planned) -> Row:
        """Run a cell in one of the processes."""
        row = recorded(self._bench, planned)
        if row is not None:
            return row
        worker = self._take()
        if worker is None:
            return failed(planned.cell, "interrupted")
        try:
            return worker.run(self._bench, planned, self._device, self._watch.started(planned.cell))
        finally:
            self._give_back(worker)

    def stop(self) -> None:
        """End all workers: each cell writes a last checkpoint, if it can within a few seconds."""
        with self._guard:
            self._stopped = True
            running = [worker.process for worker in self._workers]
        for process in running:
            process.terminate()
        for process in running:
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()

    def _take(self) -> _Worker | None:
        """A process that has a seat left, a new one while there may be more; None once the bench is ending."""
        with self._guard:
            if self._stopped:
                return None
            self._workers = [worker for worker in self._workers if not worker.dead]
            if len(self._workers) < self._jobs:
                self._workers.append(_Worker(self._environment, self._lock, self._seats))
            worker = min(self._workers, key=lambda one: one.load)
            worker.load += 1
            return worker

    def _give_back(self, worker: _Worker) -> None:
        with self._guard:
            worker.load -= 1
            if self._seats > 1:
                return
            # One that has died may be gone already: whoever takes the next one leaves it out.
            self._workers = [one for one in self._workers if one is not worker]
        worker.close()


def _threads() -> int:
    """How many threads this process may use."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
