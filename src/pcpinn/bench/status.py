"""How far each run of a benchmark is, from its folder and, for runs on a cluster, from Slurm's queue."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ..cluster import StateFolder
from ..cluster.queue_of import queue_of
from ..cluster.scheduler import Queued, Silent
from ..errors import PcpinnError
from .cell import Cell
from .folder import BenchFolder
from .plan import Planned
from .results import Row

STATES = ("finished", "failed", "running", "queued", "ended", "stopped", "waiting")


@dataclass(frozen=True)
class Standing:
    """One run.

    Attributes:
        cell: which.
        state: finished or failed (by its row, never by anything else), running, queued, ended (on a cluster, and not yet
            in the table), stopped (begun, and nobody is at work on it) or waiting (not begun).
        attempt: number of the latest one on a cluster; 0 elsewhere.
        where: host and job.
        news: its progress, or why it failed or waits.
    """

    cell: Cell
    state: str
    attempt: int = 0
    where: str = ""
    news: str = ""


@dataclass(frozen=True)
class Status:
    """All runs, and what else is worth a line."""

    runs: tuple[Standing, ...]
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many are in each state; states that none is in are left out."""
        found = Counter(run.state for run in self.runs)
        return {state: found[state] for state in STATES if found[state]}

    @property
    def is_at_work(self) -> bool:
        """Whether something is queued or running."""
        return any(run.state in ("running", "queued") for run in self.runs)


def status_of(bench: BenchFolder) -> Status:
    """Of all runs that were asked for.

    Raises:
        PcpinnError: for a folder without a benchmark, or a damaged one.
    """
    bench.require()
    planned = {p.cell.key: p for plan in bench.plans() for p in plan.cells}
    rows, state = bench.rows(), StateFolder.of(bench.path)
    queued: dict[str, Queued] = {}
    notes: list[str] = []
    if state.exists and not set(planned) <= set(rows):
        try:
            queued = queue_of(state)
        except (Silent, PcpinnError) as error:
            notes.append(f"Slurm does not answer ({error}): what runs there is not known")
    busy = bench.is_locked
    return Status(tuple(_standing(bench, p, rows, state, queued, busy) for p in planned.values()), tuple(notes))


def _standing(
    bench: BenchFolder,
    planned: Planned,
    rows: dict[str, Row],
    state: StateFolder,
    queued: dict[str, Queued],
    busy: bool,
) -> Standing:
    cell = planned.cell
    row, attempt = rows.get(cell.key), state.attempt(cell.key)
    if row is not None:
        return Standing(cell, row.status, attempt, news=row.reason)
    if attempt and state.outcome(cell.key) is not None:
        return Standing(cell, "ended", attempt, news="the next pcpinn bench puts it into the table")
    sign = state.sign(cell.key)
    current = sign if sign.get("attempt") == attempt else {}
    if cell.key in queued:
        job = queued[cell.key]
        if job.state == "PENDING":
            return Standing(cell, "queued", attempt, f"job {job.job}", job.reason)
        return Standing(cell, "running", attempt, f"{job.nodes} job {job.job}", _news(current))
    if not (bench.run_folder(cell) / "run.json").exists():
        return Standing(cell, "waiting", attempt)
    if state.exists and attempt:  # its worker is gone, and a controller will find that out
        return Standing(cell, "stopped", attempt, str(current.get("host") or ""), _news(current))
    return Standing(cell, "running" if busy else "stopped", attempt)


def _news(sign: dict[str, object]) -> str:
    if not sign.get("stage"):
        return ""
    total = f" of {sign['total']}" if sign.get("total") else ""
    at = f" {sign['iteration']}{total}" if sign.get("iteration") else ""
    return f"{sign['stage']}{at}"
