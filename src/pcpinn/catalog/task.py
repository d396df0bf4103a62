"""A problem with everything needed to solve it, from the catalog or a user's file; and the task of an interrupted run."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import PcpinnError
from ..files import write_json
from ..mesh.slab_mesh import AnyMesh
from ..problem.problem import Problem
from ..progress import Progress
from ..solution.reference import Reference
from ..solution.solution import Solution
from ..solve.method import METHODS, SLOTS
from ..solve.settings import Settings, problem_is_over_time, recipes_with, resolve_preset
from .begun import as_typed, named_again, read_begun, require_same
from .entry import PAPER, split_parameters
from .find import find_entry
from .pinnacle import FILES, published_reference

_FILE_PRESETS: dict[str, dict[str, Any]] = {"default": {}, "quick": {"iterations": 25}, "paper": PAPER}
_RESUMABLE = ("iterations", "tolerance", "time_limit")


@dataclass(frozen=True)
class Task:
    """What to solve, how, against which reference; `record` names it in run.json and result.json, with what differs from
    its preset (`set`).

    `published` holds data of others, for a second comparison that is never mixed up with the first.
    """

    problem: Problem
    settings: Settings
    reference: Reference | None
    record: dict[str, Any]
    mesh: AnyMesh | None = None
    published: Reference | None = None

    def run(
        self,
        out: Path | None = None,
        progress: Progress | None = None,
        resume: bool = False,
    ) -> Solution:
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
    if name.endswith(".py"):
        return task_from_file(Path(name), preset, changes, method)
    return catalog_task(name, preset, changes, method=method)


def catalog_task(
    name: str, preset: str, changes: Mapping[str, Any], reference: bool = True, method: str = "pcpinn"
) -> Task:
    """A catalog problem by name, with or without its reference.

    Names that come out of files go through here: unlike `find_task` it never imports anything.
    """
    entry = find_entry(name)
    parameters, settings = entry.resolve(preset, changes, method)
    record = {
        "problem": entry.name,
        "preset": preset,
        "problem_parameters": parameters,
        "set": as_typed(changes),
        "source": {"kind": "catalog", "name": entry.name},
    }
    return Task(entry.make(**parameters), settings, entry.reference(**parameters) if reference else None, record)


def task_from_file(path: Path, preset: str, changes: Mapping[str, Any], method: str = "pcpinn") -> Task:
    """Import a user's file.

    It defines `problem`, a `Problem` or a function of parameters with defaults that returns one, and may define `reference` (a
    `Reference`, or a function of the same parameters), `settings` (a dict of keys) and `presets` (a dict of such dicts by name).
    """
    module = import_file(path)
    presets = _presets_of(module, path)
    if preset not in presets:
        raise PcpinnError(f"there is no preset {preset!r}", f"use one of {', '.join(presets)}")
    build = getattr(module, "problem", None)
    parameters, own, given = split_parameters(parameters_of(build, path), presets[preset], changes)
    problem = _called(build, parameters, "problem", path)
    if not isinstance(problem, Problem):
        raise PcpinnError(
            f"{path} defines no problem",
            "assign problem = pcpinn.Problem(...), or define problem(a=1.0) that returns one",
        )
    reference = _called(getattr(module, "reference", None), parameters, "reference", path)
    if reference is not None and not isinstance(reference, Reference):
        raise PcpinnError(
            f"reference in {path} is not a Reference", "write reference = pcpinn.Reference(points, values)"
        )
    home = METHODS.find("pcpinn")
    settings = resolve_preset(METHODS.find(method), home, problem_is_over_time(problem), own, preset, given)
    source = {"kind": "file", "name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    name = problem.name if problem.name != "problem" else path.stem
    record = {"problem": name, "preset": preset, "problem_parameters": parameters, "source": source}
    record["set"] = as_typed(changes)
    return Task(problem, settings, reference, record)


def presets_in_file(path: Path) -> dict[str, dict[str, Any]]:
    """The presets of a user's file by name: its `settings`, changed by each of the usual presets and of its own."""
    return _presets_of(import_file(path), path)


def _presets_of(module: Any, path: Path) -> dict[str, dict[str, Any]]:
    own = _mapping(module, "settings", path)
    return {name: {**own, **keys} for name, keys in {**_FILE_PRESETS, **_mapping(module, "presets", path)}.items()}


def parameters_of(build: Any, path: Path) -> dict[str, float]:
    """Names and defaults of the parameters of a function in a user's file; none if it is no function.

    Raises:
        PcpinnError: for a parameter without a number as its default.
    """
    if not inspect.isfunction(build):
        return {}
    result = {}
    for name, parameter in inspect.signature(build).parameters.items():
        if not isinstance(parameter.default, int | float) or isinstance(parameter.default, bool):
            raise PcpinnError(
                f"parameter {name!r} of {build.__name__} in {path} has no number as its default",
                f"write def {build.__name__}({name}=1.0)",
            )
        if recipes_with(name) or name in SLOTS:
            raise PcpinnError(
                f"parameter {name!r} of {build.__name__} in {path} is the name of a setting", "give it another name"
            )
        result[name] = float(parameter.default)
    return result


def _called(value: Any, parameters: Mapping[str, float], what: str, path: Path) -> Any:
    """The value of a name in the user's file: itself, or what the function returns for the parameters."""
    if not inspect.isfunction(value):
        return value
    try:
        wanted = inspect.signature(value).parameters
        return value(**{k: v for k, v in parameters.items() if k in wanted})
    except PcpinnError:
        raise
    except Exception as error:
        raise PcpinnError(
            f"{what}() of {path} failed: {type(error).__name__}: {error}{_line_in(error, path)}", "correct the file"
        ) from error


def _mapping(module: Any, what: str, path: Path) -> Mapping[str, Any]:
    own = getattr(module, what, {})
    inside = own.values() if what == "presets" and isinstance(own, Mapping) else ()
    if not isinstance(own, Mapping) or not all(isinstance(v, Mapping) for v in inside):
        example = "{'size': 0.05}" if what == "settings" else "{'fine': {'size': 0.02}}"
        raise PcpinnError(f"{what} in {path} is not a dict", f"write {what} = {example}")
    return own


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
    record, preset = begun.record, begun.preset
    if begun.kind == "catalog":
        task = catalog_task(begun.name, preset, begun.parameters)
    else:
        task = same_file(problem_file, begun.source, preset, folder, begun.parameters)
    task = replace(task, settings=begun.settings(), record={**task.record, "set": begun.changes})
    if published is None and isinstance(record.get("published_file"), str):
        published = Path(record["published_file"]).parent
    return task if published is None else task.compared_with(published)


def same_file(
    path: Path | None, source: Mapping[str, Any], preset: str, folder: Path, parameters: Mapping[str, Any]
) -> Task:
    """The task of the user's file that a run or prepared problem was begun with; refuses another or a changed file."""
    task = task_from_file(named_again(path, source, folder), preset, parameters)
    require_same(task.record["source"], source, path)
    return task


def import_file(path: Path) -> Any:
    """A user's file as a module; what goes wrong in it is told with its line."""
    if not path.is_file():
        raise PcpinnError(f"there is no file {path}", "pcpinn list shows the problems that need no file")
    spec = importlib.util.spec_from_file_location(f"pcpinn_problem_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise PcpinnError(f"{path} cannot be imported", "give a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except PcpinnError:
        raise
    except (Exception, SystemExit) as error:
        line = _line_in(error, path)
        raise PcpinnError(
            f"{path} does not import: {type(error).__name__}: {error}{line}", "correct the file"
        ) from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def _line_in(error: BaseException, path: Path) -> str:
    """Where in the user's file the error arose."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename) == path or trace.tb_frame.f_code.co_filename == str(path.resolve()):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" (line {line})" if line else ""
