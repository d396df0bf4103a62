"""`pcpinn condition`: how hard a problem is, before anything is trained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from ..catalog.task import find_task
from ..condition.number import METHODS, condition_number
from ..condition.record import ConditionNumber
from ..condition.size import affordable, first_steps
from ..errors import PcpinnError
from ..files import json_text
from .display import standard_output_kept_clean
from .options import AsJson, Changes, pairs

ProblemName = Annotated[
    str, typer.Argument(metavar="NAME_OR_FILE.py", help="A problem of the catalog, or a file that defines one.")
]
Preset = Annotated[str, typer.Option(help="quick, default or paper: whose discretisation to take.")]


def condition(
    name: ProblemName,
    method: Annotated[str, typer.Option(help=f"{', '.join(METHODS)}.")] = "fem",
    preconditioner: Annotated[
        str | None,
        typer.Option(help="Also with this preconditioner: auto, ilu, lu, amg, ... ('no' for none at all)."),
    ] = "auto",
    preset: Preset = "quick",
    out: Annotated[
        Path | None, typer.Option(help="Picture of the worst direction (.png, .pdf, .svg), or a folder for it.")
    ] = None,
    changes: Changes = None,
    as_json: AsJson = False,
) -> None:
    """Measure the condition number: how much an error of the residual is magnified in the solution."""
    path = None if out is None else out if out.suffix else out / "worst-direction.png"
    if path is not None and path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise PcpinnError(f"cannot draw into {path.name!r}", "end it in .png, .pdf or .svg, or give a folder")
    wanted = None if method == "neural" or preconditioner in (None, "no") else preconditioner
    with standard_output_kept_clean():
        given = pairs(changes)
        task = find_task(name, preset, given)
        settings, note = affordable(task.problem, task.settings, method)
        try:
            found = condition_number(task.problem, method, wanted, settings)
        except PcpinnError:
            if not (task.settings.marches and method == "fem"):
                raise
            settings, mesh, note = first_steps(task.problem, task.settings)  # longer steps do not converge
            found = condition_number(task.problem, method, wanted, settings, on=mesh)
        if path is not None:
            found.worst.plot(path, f"{task.record['problem']}: the error that the residual sees least")
    console = Console(stderr=as_json)
    console.print(condition_table(found, str(task.record["problem"]), note))
    if path is not None:
        console.print(f"picture  {path}", soft_wrap=True, highlight=False, markup=False)
    if as_json:
        record = {
            "problem": task.record["problem"],
            "parameters": task.record["problem_parameters"],
            **found.to_dict(),
            "note": note,
        }
        print(json_text(record))


def condition_table(found: ConditionNumber, name: str, note: str = "") -> Table:
    """The number, its factors, and the same after preconditioning."""
    table = Table(box=box.SIMPLE_HEAD, title=f"condition number of {name}", caption=note or None)
    table.add_column("what", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("", style="dim")
    kind = "relative: ||f|| / ||u|| ||F^-1||" if found.relative else "absolute, since f or u vanishes: ||F^-1||"
    table.add_row("condition", _figure(found.condition), kind, style="bold")
    at = "" if found.linear else ", of the derivative at the solution"
    table.add_row("inverse_norm", _figure(found.inverse_norm), f"||F^-1|| in L2{at}")
    table.add_row("ratio_f_u", _figure(found.ratio_f_u), f"||f|| = {found.norm_f:.3g}, ||u|| = {found.norm_u:.3g}")
    table.add_row("method", found.method, found.how)
    table.add_row("dofs", str(found.dofs), f"{found.seconds:.1f} s")
    p = found.preconditioned
    if p is None:
        table.add_row("preconditioned", "-", "not asked for")
        return table
    drop = p.settings.get("drop_tolerance")
    kind = p.preconditioner + (f", drop_tolerance {drop:g}" if isinstance(drop, float) else "")
    table.add_row("preconditioned", _figure(p.condition), p.note or f"with {kind}", style="bold")
    table.add_row("  ||A^-1 P||", _figure(p.inverse_norm), f"||P^-1 b|| / ||u|| = {p.ratio:.4g}")
    table.add_row("  applied_error", f"{p.applied_error:.2e}", "||P^-1 b - u|| / ||u||")
    return table


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.5g}" if 1e-3 <= abs(value) < 1e5 or value == 0 else f"{value:.3e}"
