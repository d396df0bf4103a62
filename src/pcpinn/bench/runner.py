"""Carry out a plan: what is finished is left alone, what failed is recorded and does not stop the rest."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from ..cluster import Slurm, StateFolder, require_quiet
from ..errors import PcpinnError
from .cell_job import rows_from_slurm
from .execute import discard, is_measured, is_outdated, recorded, run_cell
from .folder import BenchFolder
from .plan import Plan, Planned
from .results import Row, failed
from .watch import Watch

_GRACE = 5.0  # seconds that a worker gets to stop on its own


def run_plan(
    bench: BenchFolder,
    plan: Plan | None,
    jobs: int = 1,
    device: str | None = None,
    retry: bool = False,
    watch: Watch | None = None,
    slurm: Slurm | None = None,
) -> dict[str, Row]:
    """Add a plan to the benchmark and run what it still lacks.

    Args:
        bench: the folder.
        plan: what to run; None for everything that was asked for so far.
        jobs: how many runs at a time; with one, they run in this process.
        device: auto, cpu or cuda; None leaves it to the settings.
        retry: run those again that failed, or whose preset has changed since.
        watch: receives progress reports.
        slurm: send the runs to a cluster, each as a job of its own; None to run them here.

    Returns:
        The rows of the planned runs, by key.

    Raises:
        PcpinnError: when the folder cannot be used, or the cluster.
    """
    if jobs < 1:
        raise PcpinnError(f"--jobs {jobs} must be positive", "take 1")
    watch = watch or Watch()
    if slurm is not None:
        slurm.check()
    with bench.locked() as lock:
        if plan is not None:
            bench.add(plan)
            wanted = list(plan.cells)
        else:
            bench.require()
            wanted = _continued(bench, watch)
        rows = bench.rows()
        todo, outdated = [], 0
        for planned in wanted:
            row = rows.get(planned.cell.key)
            if row is not None and row.finished and is_outdated(bench, planned.cell):
                outdated += 1
                if retry:
                    rows.pop(row.key)
                    discard(bench, planned.cell)
                    row = None
            elif row is not None and retry and not row.finished and row.stopped_by:  # it ran to its end, and badly
                discard(bench, planned.cell)
            lacks_measure = (
                planned.measure and row is not None and row.finished and not is_measured(bench, planned.cell)
            )
            if row is None or lacks_measure or (retry and not row.finished):
                todo.append(planned)
                if row is not None:
                    StateFolder.of(bench.path).forget(planned.cell.key)
        if outdated and not retry:
            watch.note(
                f"{outdated} runs were made with settings that their preset no longer has: --retry runs them again"
            )
        watch.begin(len(wanted), len(wanted) - len(todo))
        order = {p.cell.key: k for k, p in enumerate(wanted)}
        if slurm is None:
            require_quiet(StateFolder.of(bench.path))
        with _outcomes(bench, todo, jobs, device, watch, lock, slurm) as outcomes:
            for planned, row in outcomes:
                rows[row.key] = row
                bench.write_rows(sorted(rows.values(), key=lambda one: order.get(one.key, -1)))  # not as they came in
                watch.ended(planned.cell, row)
    return {p.cell.key: rows[p.cell.key] for p in wanted}


def _continued(bench: BenchFolder, watch: Watch) -> list[Planned]:
    """All runs planned so far. Files of Python are not run because a folder names them: their runs wait to be asked for."""
    cells: dict[str, Planned] = {}
    for plan in bench.plans():
        for planned in plan.cells:
            known = cells.get(planned.cell.key)
            cells[planned.cell.key] = planned if known is None or planned.measure else known
    rows = bench.rows()
    own = [c for c in cells.values() if (c.cell.file or "").endswith(".py") and c.cell.key not in rows]
    if own:
        watch.note(f"{len(own)} runs of {own[0].cell.file} are left out: name the file with --problems")
    return [c for c in cells.values() if c not in own]


@contextlib.contextmanager
def _outcomes(
    bench: BenchFolder,
    todo: Sequence[Planned],
    jobs: int,
    device: str | None,
    watch: Watch,
    lock: int,
    slurm: Slurm | None,
) -> Iterator[Iterator[tuple[Planned, Row]]]:
    """The rows as they come in; at an interruption workers are ended, and go on from their checkpoints next time."""
    if slurm is not None:
        with contextlib.closing(rows_from_slurm(bench, todo, slurm, device, watch)) as rows:
            yield rows
        return
    if jobs == 1:
        yield ((p, run_cell(bench, p, device, watch.started(p.cell))) for p in todo)
        return
    team = _Team(bench, device, watch, lock, jobs)
    pool = ThreadPoolExecutor(jobs)
    try:
        futures = {pool.submit(team.run, p): p for p in todo}
        yield ((futures[f], f.result()) for f in as_completed(futures))
    finally:
        team.stop()
        pool.shutdown(cancel_futures=True)


class _Team:
    """Worker processes, one per run."""

    def __init__(self, bench: BenchFolder, device: str | None, watch: Watch, lock: int, jobs: int) -> None:
        self.bench, self.device, self.watch, self.lock = bench, device, watch, lock
        threads = str(max(1, _threads() // jobs))
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        self.environment = {**os.environ, **dict.fromkeys(names, threads)}
        self._stopped = threading.Event()
        self._guard = threading.Lock()
        self._processes: set[subprocess.Popen[str]] = set()

    def run(self, planned: Planned) -> Row:
        """Run a cell in a process of its own."""
        row = recorded(self.bench, planned)
        if row is not None:
            return row
        progress = self.watch.started(planned.cell)
        order = {"folder": str(self.bench.path.resolve()), "cell": planned.to_dict(), "device": self.device}
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as messages:
            process = self._start(messages)
            if process is None:
                return failed(planned.cell, "interrupted")
            assert process.stdin is not None
            assert process.stdout is not None
            told: dict[str, Any] | None = None
            try:
                process.stdin.write(json.dumps(order) + "\n")
                process.stdin.flush()
                for line in process.stdout:
                    news = json.loads(line)
                    if "row" in news:
                        told = news["row"]
                    elif "stage" in news:
                        progress.stage(news["stage"], news["total"])
                    else:
                        progress.update(news["iteration"], news["loss"])
            except (BrokenPipeError, ValueError):
                pass  # it died; the exit status tells more
            finally:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()
                process.stdout.close()
                code = process.wait()
                with self._guard:
                    self._processes.discard(process)
            if told is not None:
                return Row(**told)
            messages.seek(0)
            return failed(planned.cell, _cause(code, messages.read()))

    def _start(self, messages: Any) -> subprocess.Popen[str] | None:
        with self._guard:
            if self._stopped.is_set():
                return None
            process = subprocess.Popen(
                [sys.executable, "-m", "pcpinn.bench.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                env=self.environment,
                pass_fds=(self.lock,),
                start_new_session=True,  # a Ctrl-C is for the bench, which ends its workers itself
                text=True,
            )
            self._processes.add(process)
            return process

    def stop(self) -> None:
        """End all workers."""
        with self._guard:
            self._stopped.set()
            running = list(self._processes)
        for process in running:
            process.terminate()
        for process in running:
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()


def _cause(code: int, messages: str) -> str:
    """Why a worker died without a word."""
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
        return f"its process was killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")
    last = next((line.strip() for line in reversed(messages.splitlines()) if line.strip()), "")
    return f"its process ended with code {code}: {last}"


def _threads() -> int:
    """How many threads this process may use."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
