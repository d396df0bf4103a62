"""The command `pcpinn infer`: unknown coefficients from data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..catalog.inverse_task import InverseTask, find_inverse
from ..solution.folder import require_free
from ..solve.method import INVERSE_METHODS
from .conclude import carry_out, conclude
from .display import standard_output_kept_clean
from .options import AsJson, Changes, Force, changes_with, free_folder, run_name


def infer(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME_OR_FILE.py", help="poisson-inv, heat-inv, or a file that defines an inverse problem."
        ),
    ],
    data: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="Table of data: x, y, t, u, noise.")] = None,
    preset: Annotated[str, typer.Option(help="quick, default or paper.")] = "default",
    method: Annotated[str, typer.Option(help=f"{', '.join(INVERSE_METHODS.names())}.")] = "infer",
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of all random numbers, the noise of catalog data included.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the run; must not exist yet.")] = None,
    changes: Changes = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Infer unknown coefficients from data and record the run."""
    changed = changes_with(changes, device=device, seed=seed, force=force or None)
    with standard_output_kept_clean():
        task = find_inverse(name, preset, changed, data, method)
        folder = out or free_folder(Path("runs") / _folder_name(task, method))
        require_free(folder)
        solution = carry_out(task, folder, resume=False)
    conclude(solution, folder, as_json)


def _folder_name(task: InverseTask, method: str) -> str:
    return run_name(task.record["problem"], task.record["preset"], *(() if method == "infer" else (method,)))
