"""`pcpinn study`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..errors import PcpinnError
from ..solution.folder import require_free
from ..study import STUDIES, conduct, find_study, is_unfinished, read_study, write_study
from ..study.from_file import study_of_file
from ..study.spread import OnSlurm
from ..study.study_job import conduct_on_slurm
from .display import standard_output_kept_clean
from .options import AsJson, Changes, pairs
from .output import working_progress
from .place import Cpus, Gpus, More, On, Partition, Python, Time, place_of


def study(
    name: Annotated[
        str,
        typer.Argument(metavar="STUDY_OR_FILE.py", help=f"{', '.join(STUDIES.names())}, or a file that registers one."),
    ],
    problem: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A problem of the catalog, for the studies of any: ntk.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="The paper's size: meant for a GPU. The default takes minutes on two cores.")
    ] = False,
    seed: Annotated[int, typer.Option(help="The first seed.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder to write; studies/STUDY by default.")] = None,
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Draw and describe the study in --out DIR again, without computing.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the sweep in --out DIR that was interrupted; same options.")
    ] = False,
    changes: Changes = None,
    on: On = "local",
    gpus: Gpus = None,
    cpus: Cpus = None,
    time: Time = None,
    partition: Partition = None,
    more: More = None,
    python: Python = None,
    as_json: AsJson = False,
) -> None:
    """Carry out a study of the paper: data, figure and a page with the paper's statement beside what was found."""
    file = Path(name) if name.endswith(".py") else None
    chosen = find_study(name) if file is None else study_of_file(file)
    slurm = place_of(on, gpus, cpus, time, partition, more, python)
    folder = out or Path("studies") / chosen.name
    if redraw:
        data = read_study(chosen, folder)
    else:
        if resume != is_unfinished(folder):
            remedy = "leave --resume out" if resume else "go on with it with --resume, or choose another folder"
            raise PcpinnError(f"{folder} holds {'no' if resume else 'a'} sweep that was interrupted", remedy)
        if not resume:
            require_free(folder)
        chosen.sizes(full, pairs(changes))
        with standard_output_kept_clean(), working_progress() as progress:
            if slurm is None:
                data = conduct(chosen, full, pairs(changes), seed, device, progress, problem, folder)
            else:
                there = OnSlurm(slurm, folder, device)
                data = conduct_on_slurm(chosen, full, pairs(changes), seed, there, progress, problem, file)
    written = write_study(chosen, data, folder)
    console = Console(stderr=as_json)
    console.print(chosen.title, style="bold", markup=False)
    for sentence in chosen.words(data):
        console.print(f"  {sentence}", soft_wrap=True, highlight=False, markup=False)
    for path in written:
        console.print(f"    {path}", soft_wrap=True, highlight=False, markup=False)
    if as_json:
        print(json.dumps(data, allow_nan=False))
