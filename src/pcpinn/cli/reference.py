"""`pcpinn reference`: make the certified references again, and check those that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from ..catalog import find_entry
from ..catalog.makers import MAKERS, agreement, find_maker
from ..catalog.makers.maker import Maker
from ..catalog.reference_file import read_shipped, write_reference
from ..errors import PcpinnError
from ..solution.reference import Reference
from .display import standard_output_kept_clean
from .output import working_progress
from .run_table import number

reference_app = typer.Typer(
    help="Make certified references again, or check those that come with pcpinn.", no_args_is_help=True
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="A problem of the catalog.")]


@reference_app.command("make")
def make(
    name: Name,
    level: Annotated[int | None, typer.Option(help="Level of refinement, from 1; the finest by default.")] = None,
    out: Annotated[Path | None, typer.Option(help="File to write; NAME.npz by default.")] = None,
) -> None:
    """Compute a problem's reference on a sequence of refinements and write it with its error."""
    maker = _maker(name)
    if maker is None:
        return
    path = out or Path(f"{name}.npz")
    if path.suffix != ".npz":
        raise PcpinnError(f"{path} does not end in .npz", f"write --out {path.with_suffix('.npz')}")
    if path.is_dir() or not path.resolve().parent.is_dir():  # better known before the computation than after it
        raise PcpinnError(f"{path} cannot be written", "name a file in a folder that exists")
    level = len(maker.levels) - 1 if level is None else level
    reference, made = _compute(maker, level)
    write_reference(path, reference, made)
    Console().print(
        f"{path}: {len(reference.points)} points, error {reference.error:.1e}",
        soft_wrap=True,
        highlight=False,
        markup=False,
    )


@reference_app.command("check")
def check(
    name: Name,
    level: Annotated[int | None, typer.Option(help="Level to compute; a cheap one by default.")] = None,
) -> None:
    """Compute a level again and compare it with the reference that comes with pcpinn; code 1 if they disagree."""
    maker = _maker(name)
    if maker is None:
        return
    shipped, made = read_shipped(name)
    level = maker.check_level if level is None else level
    again, _ = _compute(maker, level)
    found = agreement(again, shipped)
    table = Table(box=box.SIMPLE_HEAD, title=f"reference of {name}")
    table.add_column("what")
    table.add_column("relative L2", justify="right")
    table.add_column("", style="dim", overflow="fold")
    table.add_row("stated error of the shipped one", number(shipped.error), str(made.get("command", "")))
    table.add_row("stated error of this one", number(again.error), maker.levels[level].text)
    table.add_row("difference", number(found.difference), f"allowed {number(found.allowed)}", style="bold")
    console = Console()
    console.print(table)
    console.print("they agree" if found.holds else "they DISAGREE beyond their errors")
    if not found.holds:
        raise typer.Exit(1)


def _maker(name: str) -> Maker | None:
    """The maker of a problem; says so where there is nothing to make."""
    entry = find_entry(name)
    if entry.name in MAKERS:
        return find_maker(entry.name)
    reference = entry.reference(**entry.parameters)
    what = (
        "an exact formula"
        if reference.kind == "exact"
        else f"computed whenever it is needed, error {reference.error:.1e}"
    )
    text = f"the reference of {name} is {what}: {reference.note}"
    Console().print(text, soft_wrap=True, highlight=False, markup=False)
    return None


def _compute(maker: Maker, level: int) -> tuple[Reference, dict[str, Any]]:
    """Say how long it takes, then make it, with progress."""
    seconds = maker.seconds(level)
    about = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
    Console(stderr=True).print(f"level {level} of {maker.name}: about {about} on one core", highlight=False)
    with standard_output_kept_clean(), working_progress() as progress:
        return maker.make(level, progress)
