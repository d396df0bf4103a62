"""What every command that runs a solve does at its end: picture, report, table, paths, JSON, exit code."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from ..errors import PcpinnError, PcpinnWarning
from ..solution.report import write_report
from ..solution.solution import Solution


def describe(solution: Solution, folder: Path, reference: Any) -> None:
    """Draw it beside what it is compared with, and write its report."""
    try:
        solution.plot(folder / "solution.png", reference)
    except PcpinnError as error:  # a node without matplotlib: the run itself is fine
        warnings.warn(f"no picture: {error.problem}", PcpinnWarning, stacklevel=1)
    write_report(solution, folder)


def conclude(solution: Solution, folder: Path, table: Table, as_json: bool) -> None:
    """Print what came out and where it lies.

    Raises:
        typer.Exit: when training ended in values that are not finite.
    """
    console = Console(stderr=as_json)
    console.print(table)
    for label, path in (("run", folder), ("picture", folder / "solution.png"), ("report", folder / "report.html")):
        if path.exists():
            console.print(f"{label:>8}  {path}", soft_wrap=True, highlight=False, markup=False)
    if as_json:
        print(json.dumps(solution.result, allow_nan=False))
    if solution.result["stopped_by"] == "not finite":
        raise typer.Exit(1)
