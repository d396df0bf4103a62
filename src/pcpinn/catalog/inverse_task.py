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
from ..solve.method import INVERSE_METHODS
from ..solve.settings import Settings, problem_is_over_time, resolve_preset
from .begun import as_typed, named_again, read_begun, require_same
from .inverse_entry import INVERSE, PAPER_INVERSE
from .task import import_file

_FILE_PRESETS: dict[str, dict[str, Any]] = {"default": {}, "quick": {"iterations": 20}, "paper": PAPER_INVERSE}
_RESUMABLE = ("iterations", "time_limit")


@dataclass(frozen=True)
class InverseTask:
    """What to infer, from which data, how, against which truth; `record` names it in run.json and result.json."""

    problem: Callable[..., Problem]
    unknowns: Mapping[str, Unknown]
    data: Sequence[Observations]
    settings: Settings
    truth: Truth | None
    record: dict[str, Any]

    def run(
        self,
        out: Path | None = None,
        progress: Progress | None = None,
        resume: bool = False,
    ) -> InverseSolution:
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
    task = (
        _from_file(Path(name), preset, changes, data is not None, method)
        if name.endswith(".py")
        else _from_catalog(name, preset, changes, method)
    )
    if data is None:
        return task
    base = Family(task.problem, task.unknowns).base
    has_time = problem_is_over_time(base)
    sets = read_observations(data, base, has_time)
    record = {**task.record, "data_file": {"name": data.name, "sha256": hashlib.sha256(data.read_bytes()).hexdigest()}}
    truth = task.truth if name.endswith(".py") else None  # other data, other truth
    return replace(task, data=sets, record=record, truth=truth)


def inverse_of_run(folder: Path, problem_file: Path | None, changes: Mapping[str, Any]) -> InverseTask:
    """The task that a run folder was begun with, with the data that lie there; a user's file has to be named again."""
    begun = read_begun(folder, changes, _RESUMABLE)
    record, kind = begun.record, begun.kind
    if kind == "catalog":
        task = _from_catalog(begun.name, begun.preset, begun.parameters)
    else:
        task = _from_file(named_again(problem_file, begun.source, folder), begun.preset, {}, True)
        require_same(task.record["source"], begun.source, problem_file)
    kept = read_data(folder / "data.safetensors")
    if task.data and len(task.data) == len(kept):  # observables are functions, which the folder does not keep
        kept = tuple(replace(k, observable=d.observable) for k, d in zip(kept, task.data, strict=True))
    truth = None if "data_file" in record and kind == "catalog" else task.truth
    more = {"set": begun.changes} | ({"data_file": record["data_file"]} if "data_file" in record else {})
    return replace(task, settings=begun.settings(), data=kept, truth=truth, record={**task.record, **more})


def _from_catalog(name: str, preset: str, changes: Mapping[str, Any], method: str = "infer") -> InverseTask:
    entry = INVERSE.get(name)
    if entry is None:
        raise PcpinnError(
            f"there is no inverse problem {name!r}", f"use {', '.join(INVERSE.names())}, or a .py file of your own"
        )
    parameters, settings = entry.resolve(preset, changes, method)
    record: dict[str, Any] = {
        "problem": entry.name,
        "preset": preset,
        "problem_parameters": parameters,
        "set": as_typed(changes),
        "source": {"kind": "catalog", "name": entry.name},
    }
    if entry.paper is not None:
        record["paper_l2re"] = entry.paper[0]
    build, unknowns = entry.problem(**parameters)
    return InverseTask(
        build, unknowns, (entry.data(settings.run.seed, **parameters),), settings, entry.truth(**parameters), record
    )


def _from_file(
    path: Path, preset: str, changes: Mapping[str, Any], data_given: bool, method: str = "infer"
) -> InverseTask:
    """A file defines `problem` (a function of the unknowns), `unknowns`, and may define `data`, `truth` and `settings`."""
    if preset not in _FILE_PRESETS:
        raise PcpinnError(f"there is no preset {preset!r}", f"use one of {', '.join(_FILE_PRESETS)}")
    module = import_file(path)
    build, unknowns = getattr(module, "problem", None), getattr(module, "unknowns", None)
    if not callable(build) or not isinstance(unknowns, Mapping):
        raise PcpinnError(
            f"{path} defines no inverse problem",
            "define problem(a), a function of the unknowns that returns a pcpinn.Problem, and unknowns = {'a': ...}",
        )
    own = getattr(module, "settings", {})
    if not isinstance(own, Mapping):
        raise PcpinnError(f"settings in {path} is not a dict", "write settings = {'cells': (8, 8)}")
    data, truth = getattr(module, "data", ()), getattr(module, "truth", None)
    sets = (data,) if isinstance(data, Observations) else tuple(data)
    if not sets and not data_given:
        raise PcpinnError(f"{path} has no data", "name a table with --data FILE.csv, or define data in the file")
    if truth is not None and not isinstance(truth, Truth):
        raise PcpinnError(f"truth in {path} is not a Truth", "write truth = pcpinn.Truth(points, u, {'a': values})")
    source = {"kind": "file", "name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    base = Family(build, unknowns).base
    home, preset_keys = INVERSE_METHODS.find("infer"), {**own, **_FILE_PRESETS[preset]}
    over_time = problem_is_over_time(base)
    settings = resolve_preset(INVERSE_METHODS.find(method), home, over_time, preset_keys, preset, changes)
    name = base.name if base.name != "problem" else path.stem
    return InverseTask(
        build,
        unknowns,
        sets,
        settings,
        truth,
        {"problem": name, "preset": preset, "problem_parameters": {}, "set": as_typed(changes), "source": source},
    )
