"""What every command that runs a task does: the run, picture and report; then table, paths, JSON, exit code."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape

from ..catalog.task import AnyTask
from ..errors import AccuracyWarning, PcpinnError, PcpinnWarning
from ..solution.report import write_report
from ..solution.solution import Solution
from .display import working_progress
from .run_table import run_table


def carry_out(task: AnyTask, folder: Path, resume: bool) -> Solution:
    """Run a task under a progress display, draw what came out beside what it is compared with, and write its report."""
    with working_progress() as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)  # the verdict stands at the end
        solution = task.run(folder, progress, resume)
    try:
        solution.plot(folder / "solution.png", task.target)
    except PcpinnError as error:  # a node without matplotlib: the run itself is fine
        warnings.warn(f"no picture: {error.problem}", PcpinnWarning, stacklevel=1)
    write_report(solution, folder)
    return solution


def conclude(solution: Solution, folder: Path, as_json: bool) -> None:
    """Print what came out, where it lies, and whether it is what was asked for.

    Raises:
        typer.Exit: with 1 when training ended in values that are not finite, with 3 when the accuracy was not reached.
    """
    console = Console(stderr=as_json)
    console.print(run_table(solution.result))
    for label, path in (("run", folder), ("picture", folder / "solution.png"), ("report", folder / "report.html")):
        if path.exists():
            console.print(f"{label:>8}  {path}", soft_wrap=True, highlight=False, markup=False)
    verdict = solution.verdict
    if verdict.reached is not None:
        colour = "green" if verdict.reached else "red"
        console.print(f"[bold {colour}] verdict[/]  {escape(verdict.message)}", soft_wrap=True, highlight=False)
    if as_json:
        print(json.dumps(solution.result, allow_nan=False))
    if solution.result["stopped_by"] == "not finite":
        raise typer.Exit(1)
    if verdict.reached is False:
        raise typer.Exit(3)
