"""What every command that runs a task does: the run, picture and report; then table, paths, JSON, exit code."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape

from ..catalog.task import AnyTask
from ..errors import AccuracyWarning, PcpinnError, PcpinnWarning
from ..files import json_text
from ..interrupt import Terminated, exit_code
from ..solution.no_answer import NoAnswer
from ..solution.report import write_report
from ..solution.solution import Solution
from .output import tell, working_progress
from .run_table import run_table


def carry_out(task: AnyTask, folder: Path, resume: bool) -> Solution:
    """Run a task under a progress display, draw what came out beside what it is compared with, and write its report.

    Raises:
        typer.Exit: with 130 when it is interrupted, with 143 when it is told to end.
    """
    try:
        with working_progress() as progress, warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)  # the verdict stands at the end
            solution = task.run(folder, progress, resume)
    except KeyboardInterrupt as interrupt:
        say_interrupted(interrupt, f"it goes on with: {_resume(task, folder)}" if folder.exists() else "")
        raise typer.Exit(exit_code(interrupt)) from None
    try:
        solution.plot(folder / "solution.png", task.target)
    except PcpinnError as error:  # a node without matplotlib: the run itself is fine
        warnings.warn(f"no picture: {error.problem}", PcpinnWarning, stacklevel=1)
    write_report(solution, folder)
    return solution


def say_interrupted(interrupt: KeyboardInterrupt, how: str) -> None:
    """One line about an end that was asked for, and how the work goes on, if it does."""
    word = "told to end" if isinstance(interrupt, Terminated) else "interrupted"
    text = f"{word}; {how}" if how else word
    Console(stderr=True).print(text, soft_wrap=True, highlight=False, markup=False)


def _resume(task: AnyTask, folder: Path) -> str:
    source = task.record["source"]
    return f"pcpinn resume {folder}" + (f" --problem {source['name']}" if source["kind"] == "file" else "")


@contextlib.contextmanager
def answers(as_json: bool) -> Iterator[None]:
    """Around a run to an accuracy: one that ends without an answer ends with its verdict.

    Raises:
        typer.Exit: with 3, as for every accuracy that is not reached.
    """
    try:
        yield
    except NoAnswer as error:
        console = Console(stderr=True)
        console.print(f"[bold red]no answer:[/] {escape(error.problem)}", soft_wrap=True, highlight=False)
        console.print(f"  -> {escape(error.remedy)}", soft_wrap=True, highlight=False)
        if as_json:
            print(json_text({"error": error.problem, "verdict": error.verdict.to_dict()}))
        raise typer.Exit(3) from None


def conclude(solution: Solution, folder: Path, as_json: bool) -> None:
    """Print what came out, where it lies, and whether it is what was asked for.

    Raises:
        typer.Exit: with 1 when training ended in values that are not finite, with 3 when the accuracy was not reached.
    """
    tell(run_table(solution.result), as_json)
    for label, path in (("run", folder), ("picture", folder / "solution.png"), ("report", folder / "report.html")):
        if path.exists():
            tell(f"{label:>8}  {path}", as_json, soft_wrap=True, highlight=False, markup=False)
    verdict = solution.verdict
    if verdict.reached is not None:
        colour = "green" if verdict.reached else "red"
        tell(f"[bold {colour}] verdict[/]  {escape(verdict.message)}", as_json, soft_wrap=True, highlight=False)
    if as_json:
        print(json_text(solution.result))
    if solution.result["stopped_by"] == "not finite":
        raise typer.Exit(1)
    if verdict.reached is False:
        raise typer.Exit(3)
