"""Where a sweep runs: options that its commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..cluster import Slurm
from ..errors import PcpinnError
from .options import pairs

On = Annotated[str, typer.Option(help="local, or slurm: every run a job on the cluster (docs/clusters.md).")]
Gpus = Annotated[int | None, typer.Option(help="With --on slurm: GPUs of each run; none by default.")]
Cpus = Annotated[int | None, typer.Option(help="With --on slurm: cores, and threads, of each run; 1 by default.")]
Time = Annotated[
    int | None, typer.Option(help="With --on slurm: minutes until a run is put back into the queue; 60 by default.")
]
Partition = Annotated[str | None, typer.Option(help="With --on slurm: the partition; by default the cluster's own.")]
More = Annotated[
    list[str] | None,
    typer.Option("--slurm", metavar="KEY=VALUE", help="With --on slurm: any option of sbatch; may be repeated."),
]

Python = Annotated[
    str | None, typer.Option(help="With --on slurm: how nodes start Python, for containers; by default as here.")
]


def place_of(
    on: str,
    gpus: int | None,
    cpus: int | None,
    time: int | None,
    partition: str | None,
    more: list[str] | None,
    python: str | None,
    at_once: int | None = None,
) -> Slurm | None:
    """The cluster and what a run may take there; None for this machine.

    Raises:
        PcpinnError: for another place, or options that this one does not read.
    """
    given: dict[str, Any] = {"gpus": gpus, "cpus": cpus, "minutes": time, "partition": partition, "python": python}
    given["at_once"] = at_once
    chosen = {key: value for key, value in given.items() if value is not None}
    if on == "slurm":
        return Slurm(**chosen, options=tuple(pairs(more, "slurm").items()))
    if on != "local":
        raise PcpinnError(f"there is no place {on!r}", "use --on local or --on slurm")
    named = [{"minutes": "time"}.get(key, key) for key in chosen if key != "at_once"] + (["slurm"] if more else [])
    if named:
        raise PcpinnError(f"--{named[0]} is for runs on a cluster", "add --on slurm")
    return None
