"""A run to an accuracy on disk, until it is finished: what was asked, the plan, and a run folder for each network."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from torch import nn

from ...checkpoint import FILE, Checkpoint, Contents
from ...clock import Clock
from ...errors import PcpinnError
from ...files import write_atomically
from ...problem.problem import Problem
from ...solution.folder import read_run
from ...solution.load import load
from ...solution.solution import Solution

ASKED = "to_accuracy"  # where run.json says what was asked
_NETWORKS = "networks"

P = TypeVar("P")


class PlanFile(Protocol[P]):
    """How a plan is written and read back."""

    def write(self, plan: P) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """Tensors and facts; None for a plan that is too large to keep."""

    def read(self, contents: Contents, path: Path) -> P:
        """Inverse of `write`."""


class Unfinished:
    """Keeps the plan and the networks of a run in its folder, and takes from there what is done.

    Planning that was cut begins again, with its time. The seconds of everything after it count, those before a kill too.

    Args:
        folder: of the run; None to keep nothing.
        clock: of the run, to which the seconds before a kill are added.
        device: where networks from disk are put.
        module: of a user's network, which is not kept on disk.
    """

    def __init__(
        self,
        folder: Path | None = None,
        clock: Clock | None = None,
        device: torch.device | None = None,
        module: nn.Module | None = None,
    ) -> None:
        self.folder, self._clock, self._module = folder, clock or Clock(), module
        self.device = device or torch.device("cpu")
        self._file = None if folder is None else Checkpoint(folder / FILE, "accuracy")
        self._count = 0

    def plan(self, file: PlanFile[P], make: Callable[[], P]) -> P:
        """The plan from disk, or one that is made, and kept.

        Raises:
            PcpinnError: when the file is damaged, or of another kind of run.
        """
        if self._file is None:
            return make()
        if self._file.exists():
            contents = self._file.read({})
            try:
                plan = file.read(contents, self._file.path)
                self._clock.add(float(contents.facts["elapsed"]))
            except (LookupError, TypeError, ValueError) as error:
                raise self._file.damaged(error) from error
            return plan
        plan = make()
        parts = file.write(plan)
        if parts is not None:
            self._file.write(parts[0], {**parts[1], "elapsed": self._clock.seconds})
        return plan

    def network(self, problem: Problem, train: Callable[[Path | None, bool], Solution]) -> Solution:
        """The next network: from disk if it is finished, trained on from its checkpoint if it was begun, else trained.

        `train` gets the folder, and whether to resume there.
        """
        if self.folder is None:
            return train(None, False)
        self._count += 1
        own, began = self.folder / _NETWORKS / str(self._count), self._clock.seconds
        if (own / "result.json").exists():
            solution = replace(load(own, self._module), problem=problem).to(self.device)
        else:
            solution = train(own, (own / "run.json").exists())
        here = self._clock.seconds - began
        self._clock.add(max(0.0, float(solution.result["time"]["total_s"]) - here))
        return solution

    def decided(self, numbers: tuple[int, ...]) -> tuple[int, ...]:
        """What the next network is made with: what it was begun with, though there was more time then, else these numbers."""
        if self.folder is None:
            return numbers
        path = self.folder / _NETWORKS / f"{self._count + 1}.json"
        if path.exists():
            try:
                kept = tuple(int(k) for k in json.loads(path.read_text(encoding="utf-8")))
                if len(kept) != len(numbers) or min(kept) < 0:
                    raise ValueError(f"{kept} are not {len(numbers)} sizes")
                return kept
            except (TypeError, ValueError) as error:
                raise PcpinnError(f"{path} is damaged: {error}", "delete the folder, and solve again") from error
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, json.dumps(numbers))
        return numbers

    def remove(self) -> None:
        """The run is finished: its answer is in the folder itself."""
        if self._file is not None and self.folder is not None:
            shutil.rmtree(self.folder / _NETWORKS, ignore_errors=True)
            self._file.remove()


def as_asked(problem: Problem, settings: Mapping[str, Any], quantity: str | None) -> dict[str, Any]:
    """What distinguishes a run to an accuracy from others, as plain data; the time limit may change."""
    run = {k: v for k, v in settings["run"].items() if k not in ("time_limit", "checkpoint_every")}
    domain = repr(problem.domain)
    facts = {
        "settings": {**settings, "run": run},
        "problem": problem.name,
        "fields": [[f.name, f.components] for f in problem.unknowns],
        "domain": None if " at 0x" in domain or "array" in domain else domain,
        "quantity": quantity,
    }
    plain: dict[str, Any] = json.loads(json.dumps(facts, default=str))
    return plain


def require_same(folder: Path, asked: Mapping[str, Any]) -> None:
    """Refuse to go on in a folder that was begun with something else, or that is finished.

    Raises:
        PcpinnError: says what differs.
    """
    begun = read_run(folder).get(ASKED)
    if not isinstance(begun, dict):
        raise PcpinnError(
            f"{folder} is not a run to an accuracy", "resume it with the mesh and settings that it was begun with"
        )
    if (folder / "result.json").exists():
        raise PcpinnError(f"the run in {folder} is finished", "load it, or solve again in another folder")
    for key, value in asked.items():
        if begun.get(key) != value:
            raise PcpinnError(
                f"the run in {folder} was begun with {_difference(key, begun.get(key), value)}",
                "give what it was begun with, or another folder; only time_limit and checkpoint_every may change",
            )


def _difference(key: str, then: Any, now: Any) -> str:
    """In words; of settings, the first that differs."""
    if isinstance(then, dict) and isinstance(now, dict):
        for name in {**then, **now}:
            if then.get(name) != now.get(name):
                return _difference(name, then.get(name), now.get(name))
    return f"{key}={then}, not {now}"
