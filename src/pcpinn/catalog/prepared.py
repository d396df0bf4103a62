"""Problems packed for a machine without a mesher: mesh, settings and reference in one file of numbers and text."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PcpinnError
from ..files import read_tensors, write_tensors
from ..solution.folder import mesh_from_tensors, mesh_tensors
from ..solution.reference import Reference
from ..solve.adapt.interfaces import Interfaces, interfaces_of
from ..solve.adapt.wish import Wish
from ..solve.build import make_mesh
from ..solve.method import METHODS
from ..solve.settings import Settings, resolve_preset
from .begun import as_typed, entry_again
from .find import find_entry
from .task import Task, make_task
from .user_file import file_entry

SUFFIX = ".pcpinn"
_FORMAT = 1
_OF_THE_MESH = (
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
)


def write_prepared(task: Task, path: Path) -> None:
    """Mesh the task's domain and pack everything that its solve needs but the equations."""
    adapted = task.settings.run.accuracy is not None  # the first mesh will do
    mesh = task.mesh
    if mesh is None and adapted and Wish(task.settings).adaptable:
        known = Interfaces() if task.problem.over_time else interfaces_of(task.problem)
        mesh = known.first_mesh(task.problem, task.settings)
    elif mesh is None:
        mesh = (task.settings.method.mesh or make_mesh)(task.problem, task.settings)
    tensors, names = mesh_tensors(mesh)
    metadata: dict[str, Any] = {
        "prepared": _FORMAT,
        "record": task.record,
        "settings": task.settings.to_dict(),
        "mesh": names,
        "reference": None,
    }
    if task.reference is not None:
        facts = asdict(task.reference)
        tensors |= {"reference.points": facts.pop("points"), "reference.values": facts.pop("values")}
        metadata["reference"] = facts
    path.parent.mkdir(parents=True, exist_ok=True)
    write_tensors(path, tensors, metadata)


def read_prepared(
    path: Path, changes: dict[str, Any], problem_file: Path | None = None, method: str = "pcpinn"
) -> Task:
    """The task in a prepared file; settings may still change, as long as the mesh stays as it is.

    The equations come from the catalog, or from the user's own file named beside it: the prepared file holds no code.
    """
    for key in _OF_THE_MESH:
        if key in {k.rpartition(".")[2] for k in changes}:
            raise PcpinnError(
                f"{path} holds its mesh, so {key} cannot change", "prepare another file with that setting"
            )
    tensors, metadata = read_tensors(path)
    try:
        if metadata["prepared"] != _FORMAT:
            raise PcpinnError(f"{path} has format {metadata['prepared']!r}", f"this version reads format {_FORMAT}")
        record, source = metadata["record"], metadata["record"]["source"]
        entry = entry_again(source, problem_file, path, find_entry, file_entry)
        parameters = record.get("problem_parameters") or {}
        own_preset = (
            record["preset"] not in entry.presets
        )  # an accuracy, or a preset of methods: each has its own settings
        given = {**record.get("set", {}), **changes} if own_preset else {}
        task = make_task(entry, record["preset"], {**parameters, **given}, method, reference=False)
        kept = Settings.from_dict(metadata["settings"])  # after the file, which may define recipes that they name
        over_time, preset = kept.over_time, str(record["preset"])
        settings = task.settings
        if not own_preset:
            settings = resolve_preset(METHODS.find(method), kept.method, over_time, kept.asked, preset, changes)
        together = as_typed({**record.get("set", {}), **changes})
        mesh = mesh_from_tensors(tensors, metadata["mesh"], path)
        reference = None
        if metadata["reference"] is not None:
            facts = {**metadata["reference"], "components": tuple(metadata["reference"]["components"])}
            reference = Reference(
                points=np.asarray(tensors["reference.points"]), values=np.asarray(tensors["reference.values"]), **facts
            )
    except (KeyError, TypeError, AttributeError) as error:
        raise PcpinnError(
            f"{path} is not a prepared problem: {error}", "make it with: pcpinn prepare NAME --out FILE.pcpinn"
        ) from error
    own = {**task.record, "set": together}
    return replace(task, settings=settings, reference=reference, mesh=mesh, record=own)
