"""A family of problems with everything it needs, from a user's file; and the task of an interrupted run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import PcpinnError
from ..family.family import Family
from ..family.surrogate import Surrogate
from ..progress import Progress
from .begun import entry_again, read_begun
from .entry import FamilyEntry
from .find import find_entry
from .task import AnyTask, begin, make_task
from .user_file import family_file_entry, file_entry, import_file

_RESUMABLE = ("iterations", "time_limit")


@dataclass(frozen=True, kw_only=True)
class FamilyTask(AnyTask):
    """Which family to solve, and how."""

    family: Family

    @property
    def target(self) -> None:
        """There is nothing to compare with: every query has an estimate."""
        return None

    def run(self, out: Path | None = None, progress: Progress | None = None, resume: bool = False) -> Surrogate:
        """Solve it by the method of its settings."""
        surrogate: Surrogate = self.settings.method.solver(
            self.family, self.settings, out=out, progress=progress, record=self.record, resume=resume
        )
        return surrogate


def find_any_task(name: str, preset: str, changes: Mapping[str, Any], method: str = "pcpinn") -> AnyTask:
    """A catalog problem by name, or what a .py file defines: a problem, or a family of them."""
    if not name.endswith(".py"):
        return make_task(find_entry(name), preset, changes, method)
    module = import_file(Path(name))
    if hasattr(module, "family") and not hasattr(module, "problem"):
        return _make(family_file_entry(Path(name), module), preset, changes, "family" if method == "pcpinn" else method)
    return make_task(file_entry(Path(name), module), preset, changes, method)


def _make(entry: FamilyEntry, preset: str, changes: Mapping[str, Any], method: str) -> FamilyTask:
    _, settings, record = begin(entry, preset, changes, method)
    return FamilyTask(family=entry.family, settings=settings, record=record)


def family_of_run(folder: Path, problem_file: Path | None, changes: Mapping[str, Any]) -> FamilyTask:
    """The task that a run folder was begun with; the user's file has to be named again.

    Raises:
        PcpinnError: for a change that a resumed run cannot make, or another file.
    """
    begun = read_begun(folder, changes, _RESUMABLE)
    entry = entry_again(begun.source, problem_file, folder, _not_in_catalog, family_file_entry)
    task = _make(entry, begun.preset, {}, "family")
    return replace(task, settings=begun.settings(), record={**task.record, "set": begun.changes})


def _not_in_catalog(name: str) -> FamilyEntry:
    raise PcpinnError(f"the catalog has no family {name!r}", "it was made by another version")
