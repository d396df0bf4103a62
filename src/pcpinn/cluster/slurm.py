"""What a job may take on a Slurm cluster, and its submission through submitit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import PcpinnError
from . import scheduler

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_TIMEOUTS = 1000  # requeues after time-outs: each has written a checkpoint, so the work gets on
_RESERVED = ("array", "job-name", "output", "error", "open-mode", "signal", "requeue", "no-requeue", "wrap", "time",
             "partition", "cpus-per-task", "gpus-per-node", "nodes", "ntasks-per-node")  # fmt: skip


@dataclass(frozen=True)
class Slurm:
    """Resources of one job, and how its controller watches over it.

    Attributes:
        gpus, cpus: of each job; as many threads as cpus.
        minutes: after which a job writes a checkpoint and is put back into the queue.
        partition: of the cluster; None for its default.
        at_once: the most jobs that run at a time.
        options: more of sbatch, such as {"account": "abc", "mem": "16G"}.
        python: how nodes start Python, such as "apptainer exec --nv pcpinn.sif python"; None for this one.
        retries: how often a job is submitted again whose worker was lost.
        beat: seconds between two signs of life.
        ask: seconds between two questions to the scheduler.
        settle: seconds that files may take to become visible on other nodes.
    """

    gpus: int = 0
    cpus: int = 1
    minutes: int = 60
    partition: str | None = None
    at_once: int = 256
    options: tuple[tuple[str, str], ...] = ()
    python: str | None = None
    retries: int = 3
    beat: float = 2.0
    ask: float = 3.0
    settle: float = 6.0

    def __post_init__(self) -> None:
        for name, least in (("gpus", 0), ("cpus", 1), ("minutes", 1), ("at_once", 1)):
            if getattr(self, name) < least:
                option = {"minutes": "time", "at_once": "jobs"}.get(name, name)
                raise PcpinnError(f"--{option} {getattr(self, name)} does not fit", f"give at least {least}")
        for key, _ in self.options:
            if not re.fullmatch(r"[a-z][a-z0-9-]*", key) or key in _RESERVED:
                remedy = "write account=NAME, mem=16G, qos=NAME, constraint=NAME, ...: long options of sbatch"
                raise PcpinnError(f"--slurm {key}=... cannot be given", remedy)

    def check(self) -> None:
        """Refuse what cannot work before anything is written.

        Raises:
            PcpinnError: without submitit or Slurm, for a silent scheduler, for a partition that does not exist.
        """
        _submitit()
        partitions = scheduler.partitions()
        if self.partition is not None and self.partition not in partitions:
            raise PcpinnError(
                f"there is no partition {self.partition!r}", f"this cluster has {', '.join(partitions) or 'none'}"
            )

    def submit(self, work: Sequence[Any], name: str, log: Path) -> None:
        """One array of jobs (calls without arguments) under a name.

        Raises:
            PcpinnError: when Slurm refuses.
        """
        submitit = _submitit()
        executor = submitit.SlurmExecutor(folder=log, max_num_timeout=_TIMEOUTS, python=self.python)
        parameters: dict[str, Any] = {
            "job_name": name, "time": self.minutes, "cpus_per_task": self.cpus, "nodes": 1, "ntasks_per_node": 1,
            "array_parallelism": self.at_once, "signal_delay_s": min(90, 15 * self.minutes),
            "setup": [f"export {variable}={self.cpus}" for variable in _THREADS],
            "additional_parameters": {"requeue": True, **dict(self.options)},
        }  # fmt: skip
        if self.partition is not None:
            parameters["partition"] = self.partition
        if self.gpus:
            parameters["gpus_per_node"] = self.gpus
        executor.update_parameters(**parameters)
        try:
            with executor.batch():
                for one in work:
                    executor.submit(one)
        except submitit.core.utils.FailedJobError as error:
            said = " ".join(re.sub(r"sbatch: (error: )?", " ", str(error).split("\n", 1)[-1]).split())[:200]
            raise PcpinnError(
                f"Slurm refuses the jobs: {said or error}", "ask for what a partition of sinfo has"
            ) from error


def _submitit() -> Any:
    try:
        import submitit
    except ModuleNotFoundError as error:
        raise PcpinnError("--on slurm needs submitit", 'pip install "pcpinn[cluster]"') from error
    return submitit
