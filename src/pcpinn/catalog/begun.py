"""What a run folder says of how it was begun, and the checks before it goes on: the same for all kinds of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ..errors import PcpinnError
from ..recipes import as_text
from ..solution.folder import read_run
from ..solve.settings import Settings
from .entry import AnyEntry

E = TypeVar("E", bound=AnyEntry)


def as_typed(changes: Mapping[str, Any]) -> dict[str, str]:
    """Changes of settings as one types them, to be recorded."""
    return {key: as_text(_tuples(value)) for key, value in changes.items()}


def _tuples(value: Any) -> Any:
    """Lists as tuples, those in them too."""
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Begun:
    """A run as its folder records it.

    Attributes:
        record: all of run.json.
        source: where the problem came from: its kind ("catalog" or "file"), its name.
        preset, parameters: of the problem.
        changes: what differs from the preset, then and now.
        given: the changes of now.
    """

    record: dict[str, Any]
    source: Mapping[str, Any]
    preset: str
    parameters: Mapping[str, Any]
    changes: dict[str, str]
    given: Mapping[str, Any]

    def settings(self) -> Settings:
        """Those it was begun with, changed where that is allowed.

        To be asked for after the problem's file was imported, which may define recipes that they name.
        """
        return Settings.from_dict(self.record.get("settings", {})).updated(self.given)


def read_begun(folder: Path, changes: Mapping[str, Any], resumable: tuple[str, ...]) -> Begun:
    """Read it.

    Raises:
        PcpinnError: for a change that a resumed run cannot make, or a record that does not tell enough.
    """
    record = read_run(folder)
    refused = [k for k in changes if k not in resumable]
    if refused:
        raise PcpinnError(f"a resumed run cannot change {refused[0]!r}", f"only {', '.join(resumable)} may change")
    try:
        source, preset = record["source"], record["preset"]
        source = {**source, "kind": source["kind"], "name": source["name"]}  # both have to be there
        parameters = dict(record.get("problem_parameters", {}))
        if not all(isinstance(word, str) for word in (preset, source["kind"], source["name"])):
            raise TypeError("a name is not text")
        together = as_typed({**record.get("set", {}), **changes})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PcpinnError(f"{folder}/run.json does not say how to continue", "start the solve again") from error
    return Begun(record, source, preset, parameters, together, changes)


def entry_again(
    source: Mapping[str, Any],
    path: Path | None,
    folder: Path,
    in_catalog: Callable[[str], E],
    in_file: Callable[[Path], E],
) -> E:
    """The entry that a run or prepared problem was begun with.

    Raises:
        PcpinnError: for a file that is not named again (opening a folder must not execute code that the folder chooses), or that
            is not, or no longer, the one of the run.
    """
    if source["kind"] == "catalog":
        return in_catalog(source["name"])
    if path is None:
        raise PcpinnError(f"{folder} is a run of the file {source['name']!r}", f"name it: --problem {source['name']}")
    entry = in_file(path)
    if entry.source["sha256"] != source.get("sha256"):
        raise PcpinnError(f"{path} is not the file that this run was started with", "restore it, or start a new run")
    return entry
