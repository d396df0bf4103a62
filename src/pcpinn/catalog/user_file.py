"""Entries that users' own files define; what is wrong in a file is told with its line."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import PcpinnError
from ..family.family import Family
from ..invert.truth import Truth
from ..problem.problem import Problem
from ..solution.reference import Reference
from ..solve.method import SLOTS
from ..solve.settings import recipes_with
from .entry import PAPER, PAPER_INVERSE, Entry, FamilyEntry, InverseEntry


def file_entry(path: Path, imported: Any = None) -> Entry:
    """The problem that a file defines; the file may have been imported already.

    It defines `problem`, a `Problem` or a function of parameters with defaults that returns one, and may define `reference` (a
    `Reference`, or a function of the same parameters), `settings` (a dict of keys) and `presets` (a dict of such dicts by name).
    """
    module = imported or import_file(path)
    build = getattr(module, "problem", None)
    if build is None and isinstance(getattr(module, "family", None), Family):
        raise PcpinnError(f"{path} defines a family of problems, and one problem is wanted here", "use pcpinn solve")

    @cache  # the file's function is called once
    def problem(**parameters: float) -> Problem:
        result = _called(build, parameters, "problem", path)
        if not isinstance(result, Problem):
            found = "defines no problem" if result is None else f"has a problem that is a {type(result).__name__}"
            raise PcpinnError(
                f"{path} {found}",
                "assign problem = pcpinn.Problem(...), or define problem(a=1.0) that returns one",
            )
        return result

    def reference(**parameters: float) -> Any:
        result = _called(getattr(module, "reference", None), parameters, "reference", path)
        if result is not None and not isinstance(result, Reference):
            raise PcpinnError(
                f"reference in {path} is not a Reference", "write reference = pcpinn.Reference(points, values)"
            )
        return result

    return Entry(
        problem=problem,
        reference=reference,
        parameters=_parameters_of(build, path),
        **_facts(module, path, {"default": {}, "quick": {"iterations": 25}, "paper": PAPER}),
    )


def family_file_entry(path: Path, imported: Any = None) -> FamilyEntry:
    """The family that a file defines: `family`, a `Family`; it may define `settings` and `presets`, too."""
    module = imported or import_file(path)
    family = getattr(module, "family", None)
    if not isinstance(family, Family):
        raise PcpinnError(
            f"family in {path} is {family!r}", "write family = pcpinn.Family(make, a=pcpinn.Range(0.1, 10))"
        )
    return FamilyEntry(family=family, **_facts(module, path, {"default": {}, "quick": {"iterations": 40}}))


def inverse_file_entry(path: Path) -> InverseEntry:
    """The inverse problem that a file defines.

    It defines `problem` (a function of the unknowns) and `unknowns`, and may define `data`, `truth`, `settings` and `presets`.
    """
    module = import_file(path)
    build, unknowns = getattr(module, "problem", None), getattr(module, "unknowns", None)
    if not callable(build) or not isinstance(unknowns, Mapping):
        raise PcpinnError(
            f"{path} defines no inverse problem",
            "define problem(a), a function of the unknowns that returns a pcpinn.Problem, and unknowns = {'a': ...}",
        )
    data: Any = getattr(module, "data", ())  # one set or several
    truth = getattr(module, "truth", None)
    if truth is not None and not isinstance(truth, Truth):
        raise PcpinnError(f"truth in {path} is not a Truth", "write truth = pcpinn.Truth(points, u, {'a': values})")
    return InverseEntry(
        problem=lambda: (build, unknowns),
        data=lambda seed: data,
        truth=lambda: truth,
        **_facts(module, path, {"default": {}, "quick": {"iterations": 20}, "paper": PAPER_INVERSE}),
    )


def _facts(module: Any, path: Path, usual: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What entries of both kinds are told: presets are the file's `settings`, changed by each of the usual ones and its own."""
    own, presets = _mapping(module, "settings", path), _mapping(module, "presets", path)
    return {
        "name": path.stem,
        **dict.fromkeys(("title", "equation", "domain", "conditions"), ""),
        "own": own,
        "presets": {name: {**own, **keys} for name, keys in {**usual, **presets}.items()},
        "source": {"kind": "file", "name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()},
    }


def _parameters_of(build: Any, path: Path) -> dict[str, float]:
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
