"""A family of problems with everything it needs, from a user's file; and the task of an interrupted run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import PcpinnError
from ..family.family import Family
from ..family.measure import measure
from ..family.run import family_settings
from ..family.surrogate import Surrogate
from ..family.unseen import Unseen, solve_unseen
from ..files import write_json
from ..mesh.slab_mesh import AnyMesh
from ..progress import Progress
from ..solution.load import load
from ..solve.build import make_device, make_mesh
from .begun import entry_again, read_begun
from .entry import FAMILIES, FamilyEntry
from .find import find_entry, find_family
from .task import AnyTask, begin, make_task
from .user_file import family_file_entry, file_entry, import_file

_RESUMABLE = ("iterations", "time_limit")
_QUERIES = 64


@dataclass(frozen=True, kw_only=True)
class FamilyTask(AnyTask):
    """Which family to solve, and how; `unseen` are solutions that the answer is compared with.

    `mesh` and `truth_mesh`, on which such solutions are found, are there where they came with a prepared file.
    """

    family: Family
    unseen: Unseen | None = None
    mesh: AnyMesh | None = None
    truth_mesh: AnyMesh | None = None

    @property
    def target(self) -> None:
        """There is nothing to compare with: every query has an estimate."""
        return None

    def run(self, out: Path | None = None, progress: Progress | None = None, resume: bool = False) -> Surrogate:
        """Solve it by the method of its settings; an answer that is there, but was not compared yet, is not made again."""
        surrogate = self._answer_in(out) if resume and self.unseen is not None else None
        if surrogate is None:
            surrogate = self.settings.method.solver(
                self.family, self.settings, out=out, progress=progress, record=self.record, resume=resume, on=self.mesh
            )
        if self.unseen is not None:
            found = measure(surrogate, self.unseen)
            surrogate.result["unseen"] = found
            surrogate.result["errors"]["l2re"] = found["mean"]
            if out is not None:
                write_json(out / "result.json", surrogate.result)
        return surrogate

    def _answer_in(self, out: Path | None) -> Surrogate | None:
        """The answer of a run that came to its end; None where there is none, or it cannot be read."""
        if out is None or not (out / "result.json").exists():
            return None
        try:
            surrogate = load(out)
        except PcpinnError:
            return None
        if not isinstance(surrogate, Surrogate):
            return None
        surrogate.family = self.family
        surrogate.network.to(make_device(self.settings.run.device))
        return surrogate


def find_any_task(name: str, preset: str, changes: Mapping[str, Any], method: str = "pcpinn") -> AnyTask:
    """A catalog problem by name, or what a .py file defines: a problem, or a family of them."""
    if not name.endswith(".py"):
        return (
            family_task(name, preset, changes, method)
            if name in FAMILIES
            else make_task(find_entry(name), preset, changes, method)
        )
    module = import_file(Path(name))
    if hasattr(module, "family") and not hasattr(module, "problem"):
        return make_family_task(family_file_entry(Path(name), module), preset, changes, method)
    return make_task(file_entry(Path(name), module), preset, changes, method)


def family_task(name: str, preset: str, changes: Mapping[str, Any], method: str = "family") -> FamilyTask:
    """A family of the catalog by name."""
    return make_family_task(find_family(name), preset, changes, method)


def unseen_of(
    name: str,
    preset: str,
    mesh: AnyMesh | None = None,
    kept: Path | None = None,
    progress: Progress | None = None,
) -> Unseen:
    """Solutions of a family of the catalog at parameters that no training sees: as many as the preset is judged by.

    `kept` and `progress` are as of `solve_unseen`.
    """
    entry = find_family(name)
    return solve_unseen(entry.family, entry.fine, entry.queries.get(preset, _QUERIES), mesh, kept, progress)


def truth_mesh(task: FamilyTask) -> AnyMesh | None:
    """Where such solutions of a task are found; None for a family that is not of the catalog."""
    if task.truth_mesh is not None or task.record["source"].get("kind") != "catalog":
        return task.truth_mesh
    entry = find_family(str(task.record["problem"]))
    return make_mesh(entry.family.base, family_settings(entry.family, None, entry.fine))


def _own(method: str) -> str:
    """A family's own method, where the usual one of single problems is named."""
    return "family" if method == "pcpinn" else method


def make_family_task(entry: FamilyEntry, preset: str, changes: Mapping[str, Any], method: str = "family") -> FamilyTask:
    """A family with settings, for one of the methods of families."""
    _, settings, record = begin(entry, preset, changes, _own(method))
    return FamilyTask(family=entry.family, settings=settings, record=record)


def family_of_run(folder: Path, problem_file: Path | None, changes: Mapping[str, Any]) -> FamilyTask:
    """The task that a run folder was begun with; the user's file has to be named again.

    Raises:
        PcpinnError: for a change that a resumed run cannot make, or another file.
    """
    begun = read_begun(folder, changes, _RESUMABLE)
    entry = entry_again(begun.source, problem_file, folder, find_family, family_file_entry)
    method = str(begun.record.get("method"))
    task = make_family_task(entry, begun.preset, {}, method)
    return replace(task, settings=begun.settings(), record={**task.record, "set": begun.changes})
