"""The program `pcpinn` before anything large is imported: help and version at once, all else in `pcpinn.cli`.

Importing torch takes seconds, and whoever asks for help waits for them. The table of commands is that of `pcpinn.cli`; a test
compares both pages word by word.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer

ABOUT = "Solve partial differential equations with preconditioned neural networks."
SETTINGS: dict[str, Any] = {
    "help": ABOUT,
    "no_args_is_help": True,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress, no tables: errors, warnings and --json only.")]
Log = Annotated[
    Path | None, typer.Option("--log", metavar="FILE", help="Add progress, tables and errors to a file, too.")
]


def _print_version(wanted: bool) -> None:
    if wanted:
        try:
            print(f"pcpinn {version('pcpinn')}")
        except PackageNotFoundError:
            print("pcpinn from its source, not installed")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", help="Print the version and end.", is_eager=True, callback=_print_version)
]

COMMANDS = (
    ("solve", "Solve a problem and record the run."),
    (
        "prepare",
        "Pack mesh, settings and reference of a problem for a machine without a mesher: solve it there with the file.",
    ),
    ("resume", "Continue an interrupted run (or, with --set iterations=N, a finished one)."),
    ("plot", "Draw the solution of a run, or film it."),
    ("evaluate", "Evaluate the solution of a run at points."),
    ("list", "List the problems of the catalog."),
    ("export", "Write the solution for other programs."),
    ("show", "Show a problem: equation, domain, conditions, parameters, presets, published figures."),
    ("settings", "List the recipes of each slot, or the keys of one of them: defaults and meanings."),
    ("condition", "Measure the condition number: how much an error of the residual is magnified in the solution."),
    ("doctor", "Examine a problem: how hard it is, why, and which command helps."),
    ("infer", "Infer unknown coefficients from data and record the run."),
    ("report", "Write one self-contained HTML page about a benchmark, and its figures as .png and .pdf."),
    (
        "study",
        "Carry out a study of the paper: data, figure and a page with the paper's statement beside what was found.",
    ),
    (
        "reproduce",
        "Make tables and figures of the paper again, beside the paper's, with a verdict; given again, go on where it "
        "stopped.",
    ),
    ("reference", "Make certified references again, or check those that come with pcpinn."),
    (
        "bench",
        "Run suites, sweeps and ablations; given again, go on where it stopped. Alone with --out DIR: finish all of DIR.",
    ),
)


def main() -> None:
    """Help and version from here; everything else from `pcpinn.cli`."""
    asked = sys.argv[1:]
    completing = any(name.startswith("_PCPINN") for name in os.environ)
    if not completing and (not asked or asked in (["--help"], ["-h"], ["--version"])):
        _outline()()
        return
    from pcpinn.cli import main as carry_out

    carry_out()


def _outline() -> typer.Typer:
    """A program with the same commands that do nothing."""
    app = typer.Typer(**SETTINGS)

    @app.callback()
    def options(quiet: Quiet = False, log: Log = None, version: Version = False) -> None:
        pass

    for name, words in COMMANDS:
        app.command(name, help=words)(_nothing())
    return app


def _nothing() -> Callable[[], None]:
    def command() -> None:
        """Never called."""

    return command
