"""One run of a benchmark: what is solved, how, with which seed. Its key names its folder and its row."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..catalog import CATALOG, FAMILIES, find_any
from ..catalog.family_task import family_task
from ..catalog.prepared import SUFFIX, read_prepared
from ..catalog.task import AnyTask, catalog_task, find_task
from ..errors import PcpinnError
from ..recipes import as_text
from ..solve.settings import canonical_value

Changes = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Cell:
    """What one run needs, as plain text and numbers.

    Attributes:
        problem: its name.
        method: its name.
        preset: of the problem.
        changes: settings that differ from the preset, in canonical text, sorted by key.
        seed: of all random numbers.
        file: the .py or .pcpinn file that the problem comes from, if not from the catalog. Not part of the key: a prepared
            catalog problem is the same problem.
        digest: start of the SHA-256 of a .py file.
    """

    problem: str
    method: str
    preset: str
    changes: Changes
    seed: int
    file: str | None = None
    digest: str | None = None

    @property
    def key(self) -> str:
        """Readable and unique: problem, method, preset, changes, seed, and a hash of them all."""
        identity = json.dumps([self.problem, self.method, self.preset, self.changes, self.seed, self.digest])
        words = [self.problem, self.method, self.preset, *(f"{k}={v}" for k, v in self.changes)]
        readable = re.sub(r"[^A-Za-z0-9=.+]+", "-", "-".join(words)).strip("-.")[:80]
        return f"{readable}-s{self.seed}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"

    @property
    def changed(self) -> str:
        """The changes as one text: "k=v;k=v"."""
        return join(self.changes)

    def command(self) -> str:
        """The command line of this run alone."""
        words = ["pcpinn", "solve", self.file or self.problem]
        if not (self.file or "").endswith(SUFFIX):
            words += ["--preset", self.preset]
        if self.method not in ("pcpinn", "family"):
            words += ["--method", self.method]
        words += ["--seed", str(self.seed)]
        return shlex.join([*words, *(w for k, v in self.changes for w in ("--set", f"{k}={v}"))])

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**asdict(self), "changes": dict(self.changes)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Cell:
        """Inverse of `to_dict`.

        Raises:
            ValueError: when the data is not such a cell.
        """
        try:
            words = [
                data["problem"],
                data["method"],
                data["preset"],
                *data["changes"].keys(),
                *data["changes"].values(),
            ]
            optional = [data.get("file"), data.get("digest")]
            if not all(isinstance(w, str) for w in words) or not all(w is None or isinstance(w, str) for w in optional):
                raise ValueError("its words are not text")
            if type(data["seed"]) is not int:
                raise ValueError("its seed is not a whole number")
            changes = tuple(sorted(data["changes"].items()))
            return cls(words[0], words[1], words[2], changes, data["seed"], optional[0], optional[1])
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"it lacks {error}") from error


def join(changes: Changes) -> str:
    """Changes as one text: "k=v;k=v"."""
    return ";".join(f"{k}={v}" for k, v in changes)


def canonical(changes: Mapping[str, Any], parameters: Mapping[str, float]) -> Changes:
    """Values in the one way to write them (1e-3 and 0.001 are the same), keys sorted.

    Args:
        changes: settings or parameters of the problem, as typed.
        parameters: the problem's own parameters.

    Raises:
        PcpinnError: for an unknown key or a value that does not fit.
    """
    result = {}
    for key, value in changes.items():
        if key in ("seed", "device"):
            raise PcpinnError(f"{key} is not a setting of a benchmark's runs", f"use --{key}")
        if key in parameters:
            try:
                result[key] = as_text(float(value))
            except (TypeError, ValueError):
                raise PcpinnError(f"{key}={value!r} does not fit", "give a number") from None
        else:
            result[key] = canonical_value(key, value)
    return tuple(sorted(result.items()))


def problem_parameters(name: str) -> Mapping[str, float]:
    """Names and defaults of a catalog problem's own parameters; none for other problems."""
    entry = CATALOG.get(name)
    return {} if entry is None else entry.parameters


def task_of(cell: Cell, device: str | None = None, reference: bool = True) -> AnyTask:
    """The task of a cell.

    Args:
        cell: the cell.
        device: where to run it.
        reference: whether to make a catalog problem's reference, which can take a while.

    Raises:
        PcpinnError: when problem, preset, changes or file do not fit.
    """
    changes: dict[str, Any] = {**dict(cell.changes), "seed": cell.seed, **({"device": device} if device else {})}
    if cell.problem in FAMILIES and cell.file is None:
        return family_task(cell.problem, cell.preset, changes, cell.method)
    if cell.file is None:
        return catalog_task(cell.problem, cell.preset, changes, reference=reference, method=cell.method)
    if cell.file.endswith(SUFFIX):
        baked = dict(baked_changes(read_prepared(Path(cell.file), {}, method=cell.method)))
        own = {k: v for k, v in changes.items() if baked.get(k) != v}
        return read_prepared(Path(cell.file), own, method=cell.method)
    task = find_task(cell.file, cell.preset, changes, cell.method)
    if cell.digest != task.record["source"]["sha256"][:16]:
        raise PcpinnError(f"{cell.file} has changed since this benchmark was planned", "give the same command again")
    return task


def baked_changes(task: AnyTask) -> Changes:
    """What a prepared problem has changed of its preset: settings and parameters."""
    entry = find_any(task.record["problem"])
    parameters, settings = entry.resolve(task.record["preset"], {}, task.settings.method.name)
    given = task.record.get("problem_parameters") or {}
    changed: dict[str, Any] = {k: v for k, v in given.items() if parameters.get(k) != v}
    usual = {"seed": settings.run.seed, "device": settings.run.device}
    changed |= task.settings.updated(usual).differences(settings)
    return canonical(changed, entry.parameters)
