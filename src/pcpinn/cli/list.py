"""The command `pcpinn list`: what the catalog holds, in columns."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from ..catalog import CATALOG, FAMILIES, INVERSE
from ..catalog.entry import AnyEntry
from ..condition.nonlinearity import is_linear


def list_problems() -> None:
    """List the problems of the catalog."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("problem", style="bold", no_wrap=True)
    for heading in ("dim", "time", "linear"):
        table.add_column(heading, no_wrap=True, justify="center")
    table.add_column("command", no_wrap=True, style="dim")
    table.add_column("what it is")
    for entry in (*CATALOG, *INVERSE, *FAMILIES):
        what = f"{entry.title} (a family)" if entry.name in FAMILIES else entry.title
        table.add_row(entry.name, *_columns(entry), f"pcpinn {entry.command}", what)
    Console().print(table)


def _columns(entry: AnyEntry) -> tuple[str, str, str]:
    """Dimension of space, whether time matters, whether the PDE is linear, as the problem itself has them."""
    problem = entry.make(**entry.parameters)
    timed = problem.domain.has_time
    return str(problem.domain.dimension - timed), "yes" if timed else "-", "yes" if is_linear(problem) else "no"
