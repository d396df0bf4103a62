"""Carry out one cell: from scratch, from where it was interrupted, or not at all if it is finished. Never raises."""

from __future__ import annotations

import shutil
import traceback
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..catalog import FAMILIES, find_any, find_entry
from ..catalog.family_task import FamilyTask, unseen_of
from ..catalog.reference_file import read_reference, write_reference
from ..catalog.task import AnyTask, Task
from ..environment import reset_peak_memory
from ..errors import PcpinnError
from ..family.unseen import read_unseen
from ..files import read_json, write_atomically, write_json
from ..progress import Progress
from ..solution.folder import read_run
from .cell import Cell, task_of
from .folder import BenchFolder
from .plan import Planned
from .preconditioned import measure
from .results import Row, failed, row_of

_MEASURED = "preconditioned.json"
_OF_NO_CONSEQUENCE = ("device", "checkpoint_every")  # settings that a resumed run may have otherwise


def is_measured(bench: BenchFolder, cell: Cell) -> bool:
    """Whether the numbers of the cell's preconditioner are there."""
    return (bench.run_folder(cell) / _MEASURED).exists()


def recorded(bench: BenchFolder, planned: Planned) -> Row | None:
    """The row of a run that is complete on disk; None if there is none."""
    folder = bench.run_folder(planned.cell)
    if not (folder / "result.json").exists() or (planned.measure and not is_measured(bench, planned.cell)):
        return None
    if not _is_whole(planned.cell, folder):
        return None
    try:
        measured = read_json(folder / _MEASURED) if is_measured(bench, planned.cell) else None
        return row_of(planned.cell, read_json(folder / "result.json"), measured)
    except PcpinnError:
        return None


def is_outdated(bench: BenchFolder, cell: Cell) -> bool:
    """Whether a run was made with other settings than its preset means now; False where that cannot be told."""
    if cell.file is not None:
        return False
    try:
        record = read_run(bench.run_folder(cell))
        _, settings = find_any(cell.problem).resolve(
            cell.preset, {**dict(cell.changes), "seed": cell.seed}, cell.method
        )
    except PcpinnError:
        return False
    return not same_settings(_asked(record), settings.to_dict())


def discard(bench: BenchFolder, cell: Cell) -> None:
    """Remove a run that there is no use in resuming: one that has come to an end."""
    folder = bench.run_folder(cell)
    if (folder / "result.json").exists():
        shutil.rmtree(folder)


def run_cell(bench: BenchFolder, planned: Planned, device: str | None, progress: Progress) -> Row:
    """Run a cell; whatever goes wrong becomes a row that says so."""
    cell = planned.cell
    try:
        return _run(bench, planned, device, progress)
    except PcpinnError as error:
        return failed(cell, error.problem)
    except MemoryError as error:
        return failed(cell, f"out of memory: {error}")
    except Exception as error:
        path = bench.error_file(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, traceback.format_exc())
        return failed(cell, f"{type(error).__name__}: {error}")


def _run(bench: BenchFolder, planned: Planned, device: str | None, progress: Progress) -> Row:
    cell, folder = planned.cell, bench.run_folder(planned.cell)
    row = recorded(bench, planned)
    if row is not None:
        return row
    reset_peak_memory()
    task = task_with_reference(bench, cell, device, progress)
    if not _is_whole(cell, folder):
        _train(task, cell, folder, progress)
    if planned.measure and not is_measured(bench, cell) and isinstance(task, Task):
        progress.stage("condition number")
        write_json(folder / _MEASURED, measure(task, folder))
    measured = read_json(folder / _MEASURED) if is_measured(bench, cell) else None
    return row_of(cell, read_json(folder / "result.json"), measured)


def _train(task: AnyTask, cell: Cell, folder: Path, progress: Progress) -> None:
    """Resume what can be resumed; else start again."""
    if _can_resume(task, cell, folder):
        try:
            task.run(folder, progress, resume=True)
            return
        except PcpinnError as error:
            progress.note(f"{cell.key} is started again: {error.problem}")
    if folder.exists():
        shutil.rmtree(folder)
    task.run(folder, progress)


def _is_whole(cell: Cell, folder: Path) -> bool:
    """Whether the run is finished; of a family, compared with truth as well."""
    try:
        result = read_json(folder / "result.json")
        return "errors" in result and ("unseen" in result or cell.problem not in FAMILIES)
    except PcpinnError:
        return False


def _can_resume(task: AnyTask, cell: Cell, folder: Path) -> bool:
    """Whether there is an interrupted run of the same method and settings."""
    if not (folder / "run.json").exists():
        return False
    try:
        record = read_run(folder)
    except PcpinnError:
        return False
    return record.get("method") == cell.method and same_settings(_asked(record), task.settings.to_dict())


def _asked(record: Mapping[str, Any]) -> Any:
    """The settings that a run was begun with; a family chooses network and loss after that."""
    return record.get("asked", record.get("settings"))


def same_settings(a: Any, b: dict[str, Any]) -> bool:
    """Whether two records of settings make the same run."""
    if not isinstance(a, dict):
        return False
    return _essential(a) == _essential(b)


def _essential(settings: Mapping[str, Any]) -> dict[str, Any]:
    run = {k: v for k, v in (settings.get("run") or {}).items() if k not in _OF_NO_CONSEQUENCE}
    return {**settings, "run": run}


def task_with_reference(
    bench: BenchFolder, cell: Cell, device: str | None = None, progress: Progress | None = None
) -> AnyTask:
    """The cell's task; what it is compared with is made once per benchmark and kept."""
    task = task_of(cell, device, reference=False)
    if isinstance(task, FamilyTask):
        return _with_unseen(bench, cell, task, progress)
    assert isinstance(task, Task)
    parameters = task.record.get("problem_parameters") or {}
    path = bench.reference_file(cell, parameters)
    reference = task.reference
    if cell.file is None:
        if path.exists():
            try:
                return replace(task, reference=read_reference(path)[0])
            except PcpinnError:
                path.unlink()  # damaged: rewritten below
        reference = find_entry(cell.problem).reference(**parameters)
    if reference is not None and not path.exists():
        write_reference(path, reference, {})
    return replace(task, reference=reference)


def _with_unseen(bench: BenchFolder, cell: Cell, task: FamilyTask, progress: Progress | None) -> FamilyTask:
    path = bench.reference_file(cell, {"preset": cell.preset}).with_suffix(".safetensors")
    if path.exists():
        try:
            return replace(task, unseen=read_unseen(path))
        except PcpinnError:
            path.unlink()  # damaged: rewritten below
    begun = path.with_suffix(".part")
    unseen = unseen_of(cell.problem, cell.preset, task.truth_mesh, begun, progress)
    path.parent.mkdir(parents=True, exist_ok=True)
    unseen.save(path)
    return replace(task, unseen=unseen)
