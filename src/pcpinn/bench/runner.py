"""Carry out a plan: what is finished is left alone, what failed is recorded and does not stop the rest."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from ..cluster import Slurm, StateFolder, require_quiet
from ..errors import PcpinnError
from ..train.turns import MOST
from .cell_job import rows_from_slurm
from .execute import discard, is_measured, is_outdated, run_cell
from .folder import BenchFolder
from .plan import Plan, Planned
from .results import Row
from .watch import Watch
from .workers import Team


def run_plan(
    bench: BenchFolder,
    plan: Plan | None,
    jobs: int = 1,
    device: str | None = None,
    retry: bool = False,
    watch: Watch | None = None,
    slurm: Slurm | None = None,
    together: int = 1,
) -> dict[str, Row]:
    """Add a plan to the benchmark and run what it still lacks.

    Args:
        bench: the folder.
        plan: what to run; None for everything that was asked for so far.
        jobs: how many processes, or, with one run at a time, this one.
        together: runs at a time in each of them, which share a GPU better than processes do; for trainings by gradients.
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
    if not 1 <= together <= MOST:
        raise PcpinnError(f"--together {together} is not within 1 and {MOST}", "take 4, and more --jobs")
    if slurm is not None and together > 1:
        raise PcpinnError("--together is for runs on this machine", "leave it out, or --on slurm")
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
        with _outcomes(bench, todo, jobs, together, device, watch, lock, slurm) as outcomes:
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
    together: int,
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
    if jobs == together == 1:
        yield ((p, run_cell(bench, p, device, watch.started(p.cell))) for p in todo)
        return
    team = Team(bench, device, watch, lock, jobs, together)
    pool = ThreadPoolExecutor(jobs * together)
    try:
        futures = {pool.submit(team.run, p): p for p in todo}
        yield ((futures[f], f.result()) for f in as_completed(futures))
    finally:
        team.stop()
        pool.shutdown(cancel_futures=True)
