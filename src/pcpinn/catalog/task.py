"""A problem with all that its solve needs, from the catalog or from a user's file; and taking up an interrupted run."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
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
from ..solve.linear import solve
from ..solve.settings import Settings
from . import find_entry
from .begun import as_typed, named_again, read_begun, require_same
from .entry import PAPER, PRESETS
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
        solver: Callable[..., Solution] = solve,
    ) -> Solution:
        """Solve it, by Algorithm 1 or another method of the same signature."""
        solution = solver(
            self.problem,
            self.settings,
            out=out,
            reference=self.reference,
            progress=progress,
            record=self.record,
            resume=resume,
            mesh=self.mesh,
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


def find_task(name: str, preset: str, changes: Mapping[str, Any]) -> Task:
    """A catalog problem by name, or the problem that a .py file defines."""
    if name.endswith(".py"):
        return task_from_file(Path(name), preset, changes)
    return catalog_task(name, preset, changes)


def catalog_task(name: str, preset: str, changes: Mapping[str, Any], reference: bool = True) -> Task:
    """A catalog problem by name, with or without its reference.

    Names that come out of files go through here: unlike `find_task` it never imports anything.
    """
    entry = find_entry(name)
    parameters, settings = entry.resolve(preset, changes)
    record = {
        "problem": entry.name,
        "preset": preset,
        "problem_parameters": parameters,
        "set": as_typed(changes),
        "source": {"kind": "catalog", "name": entry.name},
    }
    try:
        return Task(entry.problem(**parameters), settings, entry.reference(**parameters) if reference else None, record)
    except ZeroDivisionError as error:
        given = ", ".join(f"{k}={v:g}" for k, v in parameters.items())
        raise PcpinnError(f"{entry.name} makes no sense with {given}", "these parameters must not be zero") from error


def task_from_file(path: Path, preset: str, changes: Mapping[str, Any]) -> Task:
    """Import a user's file: it defines `problem` or `make_problem()`, and may define `settings` (a dict) and `reference`."""
    if preset not in _FILE_PRESETS:
        raise PcpinnError(f"there is no preset {preset!r}", f"use one of {', '.join(PRESETS)}")
    module = import_file(path)
    problem = getattr(module, "problem", None)
    if problem is None and hasattr(module, "make_problem"):
        try:
            problem = module.make_problem()
        except PcpinnError:
            raise
        except Exception as error:
            raise PcpinnError(
                f"make_problem() of {path} failed: {type(error).__name__}: {error}", "correct the file"
            ) from error
    if not isinstance(problem, Problem):
        raise PcpinnError(
            f"{path} defines no problem",
            "assign problem = pcpinn.Problem(...), or define make_problem() that returns one",
        )
    own = getattr(module, "settings", {})
    if not isinstance(own, Mapping):
        raise PcpinnError(f"settings in {path} is not a dict", "write settings = {'mesh_size': 0.05}")
    reference = getattr(module, "reference", None)
    if reference is not None and not isinstance(reference, Reference):
        raise PcpinnError(
            f"reference in {path} is not a Reference", "write reference = pcpinn.Reference(points, values)"
        )
    settings = Settings().updated({**own, **_FILE_PRESETS[preset], **changes})
    source = {"kind": "file", "name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    name = problem.name if problem.name != "problem" else path.stem
    record = {"problem": name, "preset": preset, "problem_parameters": {}, "set": as_typed(changes), "source": source}
    return Task(problem, settings, reference, record)


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
    begun = read_begun(folder, changes or {}, Settings, _RESUMABLE)
    record, settings, kind, name, preset = begun.record, begun.settings, begun.kind, begun.name, begun.preset
    if kind == "catalog":
        task = catalog_task(name, preset, begun.parameters)
    else:
        task = same_file(problem_file, begun.source, preset, folder)
    task = replace(task, settings=settings, record={**task.record, "set": begun.changes})
    if published is None and isinstance(record.get("published_file"), str):
        published = Path(record["published_file"]).parent
    return task if published is None else task.compared_with(published)


def same_file(path: Path | None, source: Mapping[str, Any], preset: str, folder: Path) -> Task:
    """The task of the user's file that a run or prepared problem was begun with; refuses another or a changed file."""
    task = task_from_file(named_again(path, source, folder), preset, {})
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
