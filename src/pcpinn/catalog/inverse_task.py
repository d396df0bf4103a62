"""An inverse problem with everything it needs, from the catalog or a user's file; and the task of an interrupted run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import PcpinnError
from ..invert.files import read_data
from ..invert.observations import Observations, read_observations
from ..invert.solution import InverseSolution
from ..invert.truth import Truth
from ..problem.family import Family
from ..problem.problem import Problem
from ..problem.unknowns import Unknown
from ..progress import Progress
from ..solve.settings import problem_is_over_time
from .begun import entry_again, read_begun
from .entry import INVERSE, InverseEntry
from .task import AnyTask, begin
from .user_file import inverse_file_entry

_RESUMABLE = ("iterations", "time_limit")


@dataclass(frozen=True, kw_only=True)
class InverseTask(AnyTask):
    """What to infer, from which data, how, against which truth."""

    problem: Callable[..., Problem]
    unknowns: Mapping[str, Unknown]
    data: Sequence[Observations]
    truth: Truth | None

    @property
    def target(self) -> Truth | None:
        """The truth."""
        return self.truth

    def run(self, out: Path | None = None, progress: Progress | None = None, resume: bool = False) -> InverseSolution:
        """Infer, by the method of its settings."""
        return self.settings.method.solver(
            self.problem,
            self.data,
            self.unknowns,
            self.settings,
            out=out,
            truth=self.truth,
            progress=progress,
            record=self.record,
            resume=resume,
        )


def find_inverse(
    name: str, preset: str, changes: Mapping[str, Any], data: Path | None = None, method: str = "infer"
) -> InverseTask:
    """An inverse problem of the catalog by name, or that of a .py file; with data from a CSV file, if one is named."""
    entry = inverse_file_entry(Path(name)) if name.endswith(".py") else INVERSE.find(name)
    task = make_inverse(entry, preset, changes, method)
    if data is None:
        if not task.data:
            raise PcpinnError(f"{name} has no data", "name a table with --data FILE.csv, or define data in the file")
        return task
    base = Family(task.problem, task.unknowns).base
    sets = read_observations(data, base, problem_is_over_time(base))
    record = {**task.record, "data_file": {"name": data.name, "sha256": hashlib.sha256(data.read_bytes()).hexdigest()}}
    return replace(
        task, data=sets, record=record, truth=task.truth if entry.source else None
    )  # other data, other truth


def make_inverse(entry: InverseEntry, preset: str, changes: Mapping[str, Any], method: str = "infer") -> InverseTask:
    """An entry with settings and data."""
    parameters, settings, record = begin(entry, preset, changes, method)
    build, unknowns = entry.problem(**parameters)
    data = entry.data(settings.run.seed, **parameters)
    sets = (data,) if isinstance(data, Observations) else tuple(data)
    truth = entry.truth(**parameters)
    return InverseTask(problem=build, unknowns=unknowns, data=sets, settings=settings, truth=truth, record=record)


def inverse_of_run(folder: Path, problem_file: Path | None, changes: Mapping[str, Any]) -> InverseTask:
    """The task that a run folder was begun with, with the data that lie there; a user's file has to be named again.

    Raises:
        PcpinnError: for a run of a method that cannot go on, or anything else the user can correct.
    """
    begun = read_begun(folder, changes, _RESUMABLE)
    method = begun.record.get("method")
    if method != "infer":
        raise PcpinnError(f"a run of method {method} cannot be resumed", "start it again in another folder")
    entry = entry_again(begun.source, problem_file, folder, INVERSE.find, inverse_file_entry)
    task = make_inverse(entry, begun.preset, begun.parameters)
    kept = read_data(folder / "data.safetensors")
    if task.data and len(task.data) == len(kept):  # observables are functions, which the folder does not keep
        kept = tuple(replace(k, observable=d.observable) for k, d in zip(kept, task.data, strict=True))
    more = {k: begun.record[k] for k in ("data_file",) if k in begun.record}
    truth = None if more and not entry.source else task.truth
    record = {**task.record, "set": begun.changes, **more}
    return replace(task, settings=begun.settings(), data=kept, truth=truth, record=record)
