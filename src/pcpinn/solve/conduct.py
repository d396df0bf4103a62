"""What every run has, whatever it solves: folder, clock, progress, and the record that it leaves."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor

from ..clock import Clock
from ..discretize.wellposed import refuse_overdetermined
from ..environment import describe_environment, limit_gpu, peak_memory
from ..errors import PcpinnError
from ..files import clear_leftovers
from ..lock import lock_folder, unlock_folder
from ..mesh.slab_mesh import AnyMesh
from ..problem.field import Field
from ..problem.problem import Problem
from ..progress import Progress, listening
from ..solution.folder import create_run, read_mesh_arrays, require_free
from ..solution.reference import Reference
from ..solution.result import Result
from ..solution.verdict import judge
from ..team import present_team
from ..train import Checkpoints, Snapshot
from ..train.history import HistoryFile
from ..train.optimiser import State
from .afford import refuse_unaffordable
from .build import make_device
from .kind import kind_of
from .settings import Settings

_GIVEN = "mesh, time or network were given: leave them out and they are adapted, or give finer ones"


def check_training(
    problem: Problem, settings: Settings, reference: Reference | None, mesh: AnyMesh | None = None
) -> None:
    """Refuse a training without iterations or that cannot be afforded, needless pins, and a reference of another problem."""
    if not settings.optimiser.iterations:
        raise PcpinnError("iterations=0 must be positive: the network would stay untrained", "give 1 or more")
    refuse_unaffordable(problem, settings, mesh)
    refuse_overdetermined(problem)
    if reference is not None:
        reference.check_fits(problem.domain.dimension, problem.components)


class Run:
    """One run of any method, from its first second to its record.

    Args:
        settings: what it is made with.
        name, fields: of the problem.
        out: a folder to record it in; it must not exist, unless resumed.
        progress: receives progress reports.
        record: more facts for run.json and result.json.
        resume: whether an interrupted run goes on.
        kind: of the folder: who can load it.
        shared: whether this method can be shared by several processes.

    Attributes:
        team: the processes that share it; the first one alone has `out`, the others read from `folder` where a run goes on.
        clock: of the whole run.
        device: where it computes.
        setup_s: seconds until training began; set by `ready`.
    """

    def __init__(
        self,
        settings: Settings,
        name: str,
        fields: Sequence[Field],
        *,
        out: str | Path | None = None,
        progress: Progress | None = None,
        record: Mapping[str, Any] | None = None,
        resume: bool = False,
        kind: str = "forward",
        shared: bool = False,
    ) -> None:
        self.team = present_team()
        if self.team.size > 1 and not shared:
            raise PcpinnError(
                f"method={settings.method.name} runs in one process, and {self.team.size} were started",
                "start it without torchrun; method=pcpinn can be shared",
            )
        self.clock, self.setup_s = Clock(), 0.0
        self.settings, self.resume, self.kind = settings, resume, kind
        self.folder = Path(out) if out else None
        self.out = self.folder if self.team.first else None
        self.progress = (progress if self.team.first else None) or Progress()
        if self.out is not None:
            self.progress = listening(self.progress, HistoryFile(self.out / "history.csv"))
        self.facts = {"problem": name, "preset": None, **(record or {}), "method": settings.method.name}
        self._fields = [asdict(f) for f in fields]
        if self.folder is not None and not resume:
            require_free(self.folder)
        elif resume and self.folder is None:
            raise PcpinnError("resume needs the folder of the run", "give out=")
        self._lock: tuple[int, int] | None = None
        if resume and self.out is not None:
            self._lock_folder()
            if self._lock is not None:
                clear_leftovers(self.out)
        self.device = make_device(settings.run.device)
        limit_gpu(self.device, settings.run.memory)

    def _lock_folder(self) -> None:
        """Until the result is there, or this run is forgotten.

        Raises:
            PcpinnError: when another process is at work in the folder.
        """
        assert self.out is not None
        self._lock = lock_folder(self.out)
        weakref.finalize(self, unlock_folder, self._lock)

    def mesh(self, given: AnyMesh | None, make: Callable[[], AnyMesh]) -> AnyMesh:
        """The mesh that the run was begun with, a given one, or a new one."""
        self.progress.stage("mesh")
        if self.resume and self.folder is not None:
            return read_mesh_arrays(self.folder / "mesh.safetensors")
        mesh: AnyMesh = self.team.lead_object((given or make()) if self.team.first else None)
        return mesh

    def mesh_of(self, problem: Problem, given: AnyMesh | None, make: Callable[[], AnyMesh]) -> AnyMesh:
        """The same, checked against the problem.

        Raises:
            PcpinnError: when it has other dimensions.
        """
        mesh = self.mesh(given, make)
        if mesh.dimension != problem.domain.dimension:
            raise PcpinnError(
                f"the mesh has {mesh.dimension} coordinates, the domain {problem.domain.dimension}",
                "they belong to other problems",
            )
        return mesh

    def checkpoints(self, theta: Tensor, state: State) -> tuple[Checkpoints | None, Snapshot | None]:
        """Where the training of weights like theta is kept, and what is there of a run that goes on; its time counts.

        `state` is that of an optimiser that begins.
        """
        if self.folder is None:
            return None, None
        checkpoints = Checkpoints(self.folder, self.settings.run.checkpoint_every, self.clock)
        kept = checkpoints if self.team.first else None
        if not (self.resume and self.team.lead_object(checkpoints.exists())):
            return kept, None
        snapshot = checkpoints.read(theta, state)
        self.clock.add(snapshot.elapsed)
        return kept, snapshot

    def begin(self, mesh: AnyMesh | None, more: Callable[[Path], None] | None = None) -> None:
        """Make the folder, unless the run goes on in one; `more` writes what else has to be in it from the start."""
        if self.out is not None and not self.resume:
            create_run(self.out, self.record, mesh, more)
            self._lock_folder()

    @property
    def record(self) -> dict[str, Any]:
        """What run.json holds."""
        return {**self.facts, "kind": self.kind, "fields": self._fields, "settings": self.settings.to_dict()}

    def ready(self) -> None:
        """Training begins now."""
        self.setup_s = self.clock.seconds

    def training_limit(self, trained: float = 0.0, later: float = 0.0, usual: float = math.inf) -> float:
        """Seconds that training may take in all: what the rest of the run leaves of its time limit.

        Args:
            trained: seconds of training by now, those before a resume included.
            later: what is to come after training, by prediction; no more than half of the limit is kept for it.
            usual: the limit where none was given.
        """
        limit = self.settings.run.time_limit
        limit = limit if math.isfinite(limit) else usual
        return limit - (self.clock.seconds - trained) - min(later, limit / 2)

    def result(
        self,
        *,
        dofs: int,
        parameters: int,
        iterations: int,
        stopped_by: str,
        loss: float,
        seconds: float,
        optimiser: str,
        optimiser_reason: str,
        discretisation: str,
        mesh: AnyMesh | None,
        preconditioner: Mapping[str, Any],
        errors: dict[str, Any],
        certificate: Mapping[str, Any] | None = None,
        reference: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Result:
        """The record, with the clock read at this moment.

        Args:
            dofs, parameters: degrees of freedom of the discretisation, weights of the network.
            iterations, stopped_by, loss, seconds: of the training.
            optimiser, optimiser_reason: its name, and why it was taken.
            discretisation, mesh: its name and where it lives; None for methods without one.
            preconditioner: what it says of itself.
            errors, certificate, reference: what is known of the errors, and from where.
            more: parts that only some methods have.
        """
        unlock_folder(self._lock)
        degree = None if mesh is None else self.settings.mesh.degree
        estimate = errors.get("estimate")
        known = {} if estimate is None else {"all": estimate}
        limited_by = "time" if stopped_by == "time limit" else "mesh" if _well_trained(errors) else "network"
        advice = None if limited_by == "time" or not known else _GIVEN
        verdict = judge(self.settings.run.accuracy, known, limited_by, advice)
        return Result(
            self.facts
            | {
                "seed": self.settings.run.seed,
                "device": self.device.type,
                "dofs": dofs,
                "parameters": parameters,
                "network_kind": kind_of(self.settings, iterations),
                "iterations": iterations,
                "stopped_by": stopped_by,
                "loss": loss if math.isfinite(loss) else None,
                "optimiser": optimiser,
                "optimiser_reason": optimiser_reason,
                "discretisation": {
                    "name": discretisation,
                    "degree": degree,
                    "cells": None if mesh is None else mesh.cell_count,
                },
                "preconditioner": dict(preconditioner),
                "errors": errors,
                "certificate": None if certificate is None else dict(certificate),
                "verdict": verdict.to_dict(),
                "reference": None if reference is None else dict(reference),
                **more,
                "time": self.clock.times(self.setup_s, seconds),
                "memory": peak_memory(self.device),
                "environment": describe_environment(self.device),
            }
        )


def _well_trained(errors: Mapping[str, Any]) -> bool:
    """Whether most of an error is that of the discretisation."""
    training, estimate = errors.get("training"), errors.get("estimate")
    return training is not None and estimate is not None and training < 0.5 * estimate
