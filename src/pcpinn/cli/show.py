"""`pcpinn show`: what a problem is, from the catalog or from a user's file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..catalog import find_any
from ..catalog.entry import AnyEntry
from ..catalog.task import make_task
from ..catalog.user_file import file_entry
from ..problem.problem import Problem
from ..recipes import as_text
from .display import published_table, standard_output_kept_clean


def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME_OR_FILE.py", help="A problem of the catalog, or a file that defines one.")
    ],
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset", help="Show one preset whole; of `paper`, also where it is not as in the paper, and why."
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option("--method", help="Show what this method makes of a preset, or of one of its own (pinnacle)."),
    ] = None,
) -> None:
    """Show a problem: equation, domain, conditions, parameters, presets, published figures."""
    if preset is not None or method is not None:
        if name.endswith(".py"):
            with standard_output_kept_clean():
                entry: AnyEntry = file_entry(Path(name))
        else:
            entry = find_any(name)
        _show_preset(entry, preset or "default", method)
        return
    if name.endswith(".py"):
        _show_file(Path(name))
        return
    console, entry = Console(), find_any(name)
    facts = {label: getattr(entry, label) for label in ("title", "equation", "domain", "conditions", "remark")}
    console.print(_facts(facts, entry.parameters))
    console.print(_presets(entry.presets))
    published = published_table(name)
    if published is not None:
        console.print(published)
    if entry.paper is not None:
        console.print(f"the paper: {entry.paper[0]:.2e} for u and a together, {entry.paper[2]:g} s")
    if entry.deviations:
        console.print(f"where the preset paper is not as in the paper: pcpinn show {name} --preset paper")
    console.print(f"solve it: pcpinn {entry.command} {name}")


def _show_preset(entry: AnyEntry, preset: str, method: str | None) -> None:
    """All settings of a preset, for the usual method or another; for `paper` with its deviations."""
    console = Console()
    parameters, settings = entry.resolve(preset, {}, method)
    console.print(_facts({"problem": entry.name, "preset": preset, "method": method or ""}, parameters))
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("slot", style="bold", no_wrap=True)
    table.add_column("recipe", no_wrap=True)
    table.add_column("keys", overflow="fold")
    for slot, recipe in settings.recipes.items():
        keys = {key: getattr(recipe, key) for key in recipe.schema()}
        given = ", ".join(f"{k}={as_text(v)}" for k, v in keys.items() if v is not None)
        table.add_row(slot, recipe.name, escape(given))
    console.print(table)
    if preset == "paper" and entry.deviations and method in (None, entry.home):
        console.print("not as in the paper, or read into it where it does not say:", style="bold")
        for text in entry.deviations:
            console.print(f"- {escape(text)}", soft_wrap=True)


def _show_file(path: Path) -> None:
    with standard_output_kept_clean():
        entry = file_entry(path)
        task = make_task(entry, "default", {})
    console, problem = Console(), task.problem
    functions = [what for what in ("density", "flux", "source") if getattr(problem, what) is not None]
    facts = {
        "title": str(task.record["problem"]),
        "equation": f"d/dt density + source - div flux = 0, with {', '.join(functions)}",
        "fields": ", ".join(
            f"{f.name} ({f.components} components)" if f.components > 1 else f.name for f in problem.unknowns
        ),
        "domain": f"{type(problem.domain).__name__}, {problem.domain.dimension} coordinates"
        + (", the last of which is time" if problem.domain.has_time else ""),
        "conditions": _conditions(problem),
        "reference": "" if task.reference is None else f"{task.reference.kind}, {len(task.reference.points)} points",
    }
    console.print(_facts(facts, task.record["problem_parameters"]))
    console.print(_presets(entry.presets))
    console.print(f"solve it: pcpinn solve {path}")


def _conditions(problem: Problem) -> str:
    parts = []
    for boundary in problem.domain.boundary_names:
        given = problem.conditions.get(boundary, {})
        words = [
            f"{f}: {type(c).__name__}" if len(problem.unknowns) > 1 else type(c).__name__ for f, c in given.items()
        ]
        if words:
            parts.append(f"{boundary}: {', '.join(words)}")
    return "; ".join(parts)


def _facts(facts: Mapping[str, str], parameters: Mapping[str, float]) -> Table:
    table = Table(box=None, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in facts.items():
        if text:
            table.add_row(label, escape(text))
    if parameters:
        table.add_row("parameters", ", ".join(f"{k}={v:g}" for k, v in parameters.items()) + "  (change with --set)")
    return table


def _presets(presets: Mapping[str, Mapping[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="presets")
    table.add_column("preset", no_wrap=True)
    table.add_column("settings", overflow="fold")
    for preset, keys in presets.items():
        table.add_row(preset, escape(", ".join(f"{k}={as_text(v)}" for k, v in keys.items())) or "the defaults")
    return table
