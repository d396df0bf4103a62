"""A problem with everything needed to solve it, from the catalog or a user's file; and the task of an interrupted run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..files import write_json
from ..mesh.slab_mesh import AnyMesh
from ..problem.problem import Problem
from ..progress import Progress
from ..solution.reference import Reference
from ..solution.solution import Solution
from ..solve.settings import Settings
from .begun import as_typed, entry_again, read_begun
from .entry import ACCURACY, AnyEntry, Entry
from .find import find_entry
from .pinnacle import FILES, published_reference
from .published import paper_result
from .user_file import file_entry

_RESUMABLE = ("iterations", "tolerance", "time_limit")


@dataclass(frozen=True, kw_only=True)
class AnyTask(ABC):
    """What to solve and how; `record` names it in run.json and result.json, with what differs from its preset (`set`)."""

    settings: Settings
    record: dict[str, Any]

    @property
    @abstractmethod
    def target(self) -> Any:
        """What the solution is compared with; None if nothing is known."""

    @abstractmethod
    def run(self, out: Path | None = None, progress: Progress | None = None, resume: bool = False) -> Solution:
        """Solve it by the method of its settings."""


@dataclass(frozen=True, kw_only=True)
class Task(AnyTask):
    """What to solve, how, against which reference.

    `published` holds data of others, for a second comparison that is never mixed up with the first.
    """

    problem: Problem
    reference: Reference | None
    mesh: AnyMesh | None = None
    published: Reference | None = None

    @property
    def target(self) -> Reference | None:
        """The reference."""
        return self.reference

    def run(self, out: Path | None = None, progress: Progress | None = None, resume: bool = False) -> Solution:
        """Solve it by the method of its settings."""
        solution: Solution = self.settings.method.solver(
            self.problem,
            self.settings,
            out=out,
            reference=self.reference,
            progress=progress,
            record=self.record,
            resume=resume,
            on=self.mesh,
        )
        if self.published is not None:
            solution.result["published"] = {
                **solution.metrics(self.published),
                "file": self.record["published_file"],
                "points": len(self.published.points),
                "distance": self.published.error,
            }
            if out is not None:
                write_json(out / "result.json", solution.result)
        return solution

    def compared_with(self, folder: Path) -> Task:
        """This task, compared with PINNacle's published data in a folder too.

        Raises:
            PcpinnError: when the data are not there, damaged or of another problem.
        """
        published = published_reference(self.record["problem"], folder, self.problem)
        path = folder.resolve() / f"{FILES[self.record['problem']].name}.dat"
        return replace(self, published=published, record={**self.record, "published_file": str(path)})


def find_task(name: str, preset: str, changes: Mapping[str, Any], method: str = "pcpinn") -> Task:
    """A catalog problem by name, or the problem that a .py file defines."""
    return make_task(file_entry(Path(name)) if name.endswith(".py") else find_entry(name), preset, changes, method)


def catalog_task(
    name: str, preset: str, changes: Mapping[str, Any], reference: bool = True, method: str = "pcpinn"
) -> Task:
    """A catalog problem by name, with or without its reference.

    Names that come out of files go through here: unlike `find_task` it never imports anything.
    """
    return make_task(find_entry(name), preset, changes, method, reference)


def make_task(
    entry: Entry, preset: str, changes: Mapping[str, Any], method: str = "pcpinn", reference: bool = True
) -> Task:
    """An entry with settings, with or without its reference."""
    parameters, settings, record = begin(entry, preset, changes, method)
    target = entry.reference(**parameters) if reference else None
    return Task(problem=entry.make(**parameters), settings=settings, reference=target, record=record)


def begin(
    entry: AnyEntry, preset: str, changes: Mapping[str, Any], method: str
) -> tuple[dict[str, float], Settings, dict[str, Any]]:
    """Parameters and settings of a task, and the record of both."""
    parameters, settings = entry.resolve(preset, changes, method)
    own = entry.make(**parameters).name if entry.source else entry.name
    record: dict[str, Any] = {
        "problem": own if own != "problem" else entry.name,
        "preset": preset,
        "problem_parameters": parameters,
        "set": as_typed(changes),
        "source": dict(entry.source) or {"kind": "catalog", "name": entry.name},
    }
    about = {key: getattr(entry, key) for key in ("title", "equation", "domain", "conditions")}
    if any(about.values()):
        record["about"] = {key: words for key, words in about.items() if words}
    paper = None if entry.source else paper_result(entry.name)
    if entry.paper is not None:
        record["paper_l2re"] = entry.paper[0]
    elif paper is not None:
        record["paper_l2re"] = paper.mean
    return parameters, settings, record


def task_of_run(
    folder: Path,
    problem_file: Path | None = None,
    changes: Mapping[str, Any] | None = None,
    published: Path | None = None,
) -> Task:
    """The task that a run folder was begun with, to be run with resume=True; iterations and the like may change.

    A run of a user's file needs that file named again: opening a folder must not execute code that the folder chooses.
    Published data are looked for in the folder `published`, else where the run had them.
    """
    begun = read_begun(folder, changes or {}, _RESUMABLE)
    entry = entry_again(begun.source, problem_file, folder, find_entry, file_entry)
    if begun.preset == ACCURACY:  # what was given then, and nothing else: the rest was chosen on the way
        task = make_task(entry, ACCURACY, {**begun.changes, **begun.parameters})
    else:
        settings = begun.settings()
        task = make_task(entry, begun.preset, begun.parameters, settings.method.name)  # presets may be the method's own
        task = replace(task, settings=settings)
    task = replace(task, record={**task.record, "set": begun.changes})
    if published is None and isinstance(begun.record.get("published_file"), str):
        published = Path(begun.record["published_file"]).parent
    return task if published is None else task.compared_with(published)
