"""Questions to Slurm, by its own commands. No accounting is needed: many clusters have none, or restrict it."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass

from ..errors import PcpinnError

_PATIENCE = 30.0  # seconds that a command may take


@dataclass(frozen=True)
class Queued:
    """A job of the queue: its ID (12 or 12_3), state (PENDING, RUNNING, ...), nodes and, while it waits, the reason."""

    job: str
    name: str
    state: str
    nodes: str
    reason: str

    @property
    def index(self) -> int:
        """Its place in its array; 0 for a job on its own."""
        _, _, index = self.job.partition("_")
        return int(index) if index else 0


class Silent(Exception):
    """The scheduler does not answer: what is in its queue is not known."""


def partitions() -> list[str]:
    """Names of all partitions.

    Raises:
        PcpinnError: where there is no Slurm, or none that answers.
    """
    try:
        return list(dict.fromkeys(_ask("sinfo", "-h", "-o", "%R").split()))
    except Silent as error:
        raise PcpinnError(f"Slurm does not answer: {error}", "sinfo must work here; or use --on local") from error


def queue(prefix: str) -> list[Queued]:
    """This user's jobs whose names begin with `prefix`, arrays job by job.

    Raises:
        Silent: when the scheduler does not answer.
    """
    import pwd  # here: Windows, which has no Slurm either, has no such module

    lines = _ask("squeue", "-h", "-r", "-u", pwd.getpwuid(os.getuid()).pw_name, "-o", "%i|%j|%T|%N|%r").splitlines()
    found = [Queued(*(part.strip() for part in line.split("|", 4))) for line in lines if line.count("|") >= 4]
    return [one for one in found if one.name.startswith(prefix)]


def end_of(job: str) -> dict[str, str]:
    """What Slurm still knows of a job that has left the queue: JobState, Reason, ExitCode, NodeList; nothing after a while."""
    try:
        text = _ask("scontrol", "show", "job", "-o", job)
    except Silent:
        return {}
    return dict(re.findall(r"(JobState|Reason|ExitCode|NodeList)=(\S*)", text))


def cancel(jobs: list[str]) -> None:
    """Take jobs out of the queue.

    Raises:
        Silent: when the scheduler does not answer.
    """
    if jobs:
        _ask("scancel", *jobs)


def _ask(*words: str) -> str:
    try:
        answer = subprocess.run(words, capture_output=True, text=True, timeout=_PATIENCE)
    except FileNotFoundError:
        raise PcpinnError(
            f"there is no Slurm here: {words[0]} is not found", "run this where jobs are submitted, or use --on local"
        ) from None
    except subprocess.TimeoutExpired:
        raise Silent(f"{words[0]} takes more than {_PATIENCE:.0f} s") from None
    if answer.returncode != 0:
        raise Silent((answer.stderr.strip().splitlines() or [f"{words[0]} ends with {answer.returncode}"])[-1])
    return answer.stdout
