"""A whole study as one job on a cluster."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..progress import Progress
from ..solve.build import check_device
from .from_file import study_of_file
from .spread import OnSlurm
from .study import Data, Study, conduct, find_study


@dataclass(frozen=True)
class StudyJob:
    """What `conduct` needs, as plain data; `file` where a user's file registers the study."""

    key: str
    study: str
    full: bool
    changes: tuple[tuple[str, str], ...]
    seed: int
    device: str
    problem: str | None
    folder: str
    file: str | None = None

    def run(self, progress: Progress) -> dict[str, Any]:
        """The data; long work keeps its checkpoints in the folder, and goes on from them."""
        study = find_study(self.study) if self.file is None else study_of_file(Path(self.file))
        return conduct(
            study, self.full, dict(self.changes), self.seed, self.device, progress, self.problem, Path(self.folder)
        )


def conduct_on_slurm(
    study: Study,
    full: bool,
    changes: Mapping[str, str],
    seed: int,
    spread: OnSlurm,
    progress: Progress,
    problem: str | None = None,
    file: Path | None = None,
) -> Data:
    """Carry out a study on a cluster: its pieces as jobs where it has some, else all of it as one.

    Raises:
        PcpinnError: when jobs failed, or the cluster cannot be used.
    """
    study.sizes(full, changes)
    spread.slurm.check()
    device = spread.device or "auto"
    check_device(device)
    if study.spreads:
        return conduct(study, full, changes, seed, "cpu", progress, problem, spread.folder, spread)
    name = None if file is None else str(file.absolute())
    where = str(spread.folder.absolute())
    job = StudyJob(_key(study, full, changes, seed, problem), study.name, full, tuple(changes.items()), seed, device,
                   problem, where, name)  # fmt: skip
    return spread.map([job], progress)[0]


def _key(study: Study, full: bool, changes: Mapping[str, str], seed: int, problem: str | None) -> str:
    """Another one for other sizes: what is found in a folder is what was asked for."""
    identity = repr([full, sorted(changes.items()), seed, problem])
    return f"{study.name}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"
