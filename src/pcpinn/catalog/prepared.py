"""Problems packed for a machine without a mesher: mesh, settings and reference in one file of numbers and text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PcpinnError
from ..family.choose_mesh import choose_mesh
from ..files import read_tensors, write_tensors
from ..mesh.slab_mesh import AnyMesh
from ..progress import Progress
from ..solution.folder import mesh_from_tensors, mesh_tensors
from ..solution.reference import Reference
from ..solve.adapt.interfaces import interfaces_of
from ..solve.adapt.unseen import pixels_of
from ..solve.adapt.wish import Wish
from ..solve.build import make_mesh
from ..solve.method import METHODS
from ..solve.settings import Settings, resolve_preset
from .begun import as_typed, entry_again
from .family_task import FamilyTask, make_family_task, truth_mesh
from .find import find_entry, find_family
from .task import AnyTask, Task, make_task
from .user_file import family_file_entry, file_entry

SUFFIX = ".pcpinn"
_FORMAT = 1
_TRUTH = "truth."  # before the names of the arrays of that mesh
OF_THE_MESH = (  # keys that a prepared file has settled
    "mesh",
    "time",
    "size",
    "cells",
    "steps",
    "halvings",
    "curved",
    "curvature",
    "grading",
    "corner_size",
    "lines",
    "kinks",
    "corners",
)


def write_prepared(task: AnyTask, path: Path) -> None:
    """Mesh the task's domain and pack everything that its solve needs but the equations.

    Of a family that is the mesh of its truth, too: truth itself is solved where it is needed. Where the solve makes its own first
    mesh, without a mesher, there is none.
    """
    mesh: AnyMesh | None
    if isinstance(task, FamilyTask):
        mesh, settings = _of_family(task)
        truth = truth_mesh(task)
    else:
        assert isinstance(task, Task)
        mesh, settings, truth = _of_problem(task), task.settings, None
    tensors, names = ({}, None) if mesh is None else mesh_tensors(mesh)
    metadata: dict[str, Any] = {
        "prepared": _FORMAT,
        "record": task.record,
        "settings": settings.to_dict(),
        "mesh": names,
        "reference": None,
    }
    if isinstance(task, FamilyTask):
        metadata["family"] = {"truth": None}
    if truth is not None:
        more, metadata["family"]["truth"] = mesh_tensors(truth)
        tensors |= {_TRUTH + key: array for key, array in more.items()}
    if isinstance(task, Task) and task.reference is not None:
        facts = asdict(task.reference)
        tensors |= {"reference.points": facts.pop("points"), "reference.values": facts.pop("values")}
        metadata["reference"] = facts
    path.parent.mkdir(parents=True, exist_ok=True)
    write_tensors(path, tensors, metadata)


def _of_problem(task: Task) -> AnyMesh | None:
    if task.mesh is not None:
        return task.mesh
    adapted = task.settings.run.accuracy is not None  # the first mesh will do
    if adapted and Wish(task.settings).adaptable:
        if pixels_of(task.problem, task.settings) is not None:
            return None  # a mesh that follows them is made there
        return interfaces_of(task.problem).first_mesh(task.problem, task.settings)
    mesh: AnyMesh = (task.settings.method.mesh or make_mesh)(task.problem, task.settings)
    return mesh


def _of_family(task: FamilyTask) -> tuple[AnyMesh, Settings]:
    """The mesh, which may depend on an accuracy, and settings with the degree that goes with it."""
    return (task.mesh, task.settings) if task.mesh is not None else choose_mesh(task.family, task.settings, Progress())


def read_prepared(
    path: Path, changes: dict[str, Any], problem_file: Path | None = None, method: str = "pcpinn"
) -> AnyTask:
    """The task in a prepared file; settings may still change, as long as the mesh stays as it is.

    The equations come from the catalog, or from the user's own file named beside it: the prepared file holds no code.
    """
    for key in OF_THE_MESH:
        if key in {k.rpartition(".")[2] for k in changes}:
            raise PcpinnError(
                f"{path} holds its mesh, so {key} cannot change", "prepare another file with that setting"
            )
    tensors, metadata = read_tensors(path)
    try:
        if metadata["prepared"] != _FORMAT:
            raise PcpinnError(f"{path} has format {metadata['prepared']!r}", f"this version reads format {_FORMAT}")
        read = _read_problem if metadata.get("family") is None else _read_family
        task = read(path, tensors, metadata, changes, problem_file, method)
        together = as_typed({**metadata["record"].get("set", {}), **changes})
    except (KeyError, TypeError, AttributeError) as error:
        raise PcpinnError(
            f"{path} is not a prepared problem: {error}", "make it with: pcpinn prepare NAME --out FILE.pcpinn"
        ) from error
    return replace(task, record={**task.record, "set": together})


def prepared_family(path: Path) -> str | None:
    """The name of the family of problems in a prepared file; None where it holds a single problem."""
    metadata = read_tensors(path)[1]
    if metadata.get("family") is None:
        return None
    return str((metadata.get("record") or {}).get("problem"))


def prepared_method(path: Path) -> str:
    """The method whose presets and mesh a prepared file holds."""
    settings = read_tensors(path)[1].get("settings")
    return str(settings.get("method")) if isinstance(settings, dict) else "pcpinn"


def _read_problem(
    path: Path,
    tensors: Mapping[str, np.ndarray],
    metadata: Mapping[str, Any],
    changes: dict[str, Any],
    problem_file: Path | None,
    method: str,
) -> AnyTask:
    record = metadata["record"]
    entry = entry_again(record["source"], problem_file, path, find_entry, file_entry)
    parameters = record.get("problem_parameters") or {}
    own_preset = record["preset"] not in entry.presets  # an accuracy, or a preset of methods: each has its own settings
    given = {**record.get("set", {}), **changes} if own_preset else {}
    task = make_task(entry, record["preset"], {**parameters, **given}, method, reference=False)
    kept = Settings.from_dict(metadata["settings"])  # after the file, which may define recipes that they name
    settings, preset = task.settings, str(record["preset"])
    if not own_preset:
        settings = resolve_preset(METHODS.find(method), kept.method, kept.over_time, kept.asked, preset, changes)
    names, reference = metadata["mesh"], None
    own = names is None and settings.run.accuracy is not None  # the solve makes its first mesh
    mesh = None if own else mesh_from_tensors(tensors, names, path)
    if metadata["reference"] is not None:
        facts = {**metadata["reference"], "components": tuple(metadata["reference"]["components"])}
        reference = Reference(
            points=np.asarray(tensors["reference.points"]), values=np.asarray(tensors["reference.values"]), **facts
        )
    return replace(task, settings=settings, reference=reference, mesh=mesh)


def _read_family(
    path: Path,
    tensors: Mapping[str, np.ndarray],
    metadata: Mapping[str, Any],
    changes: dict[str, Any],
    problem_file: Path | None,
    method: str,
) -> AnyTask:
    record, preset = metadata["record"], str(metadata["record"]["preset"])
    entry = entry_again(record["source"], problem_file, path, find_family, family_file_entry)
    task = make_family_task(entry, preset, {}, method)
    kept = Settings.from_dict(metadata["settings"])
    own = task.settings.method
    settings = resolve_preset(own, kept.method, kept.over_time, kept.asked, preset, changes)
    mesh, names, truth = mesh_from_tensors(tensors, metadata["mesh"], path), metadata["family"]["truth"], None
    if names is not None:
        own_tensors = {k.removeprefix(_TRUTH): v for k, v in tensors.items() if k.startswith(_TRUTH)}
        truth = mesh_from_tensors(own_tensors, names, path)
    return replace(task, settings=settings, mesh=mesh, truth_mesh=truth)
