"""`pcpinn doctor`: what to know about a problem before solving it."""

from __future__ import annotations

from functools import partial

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from ..catalog import CATALOG
from ..catalog.task import Task, find_task
from ..condition.doctor import Diagnosis, Variants, diagnose
from ..files import json_text
from ..problem.problem import Problem
from .condition import Preset, ProblemName
from .display import standard_output_kept_clean
from .options import AsJson, Changes, pairs

_STYLES = {"problem": "bold red", "warning": "yellow", "note": "cyan", "fine": "green"}


def doctor(name: ProblemName, preset: Preset = "default", changes: Changes = None, as_json: AsJson = False) -> None:
    """Examine a problem: how hard it is, why, and which command helps."""
    with standard_output_kept_clean():
        task = find_task(name, preset, pairs(changes))
        found = diagnose(task.problem, task.settings, name, _variants(task))
    console = Console(stderr=as_json)
    print_diagnosis(console, found, str(task.record["problem"]))
    if as_json:
        record = {"problem": task.record["problem"], "parameters": task.record["problem_parameters"], **found.to_dict()}
        print(json_text(record))


def _variants(task: Task) -> Variants:
    """How the problem changes with each of its parameters."""
    entry = CATALOG.get(task.record["problem"])
    parameters: dict[str, float] = task.record["problem_parameters"]
    if entry is None or not parameters:
        return {}

    def make(key: str, value: float) -> Problem:
        return entry.problem(**{**parameters, key: value})

    return {key: (value, partial(make, key)) for key, value in parameters.items()}


def print_diagnosis(console: Console, found: Diagnosis, name: str) -> None:
    """Findings, the worst first, each with its number; commands on lines of their own, to be copied."""
    console.print(f"[bold]{escape(name)}: what the doctor says[/]", highlight=False)
    for f in found.findings:
        number = "" if f.number is None else f"{f.number:.3g}"
        console.print(f"\n[{_STYLES[f.severity]}]{f.severity:<8}[/][bold]{f.topic:<16}[/]{number}", highlight=False)
        console.print(Padding(Text(f.sentence), (0, 0, 0, 8)))
        if f.command:
            console.print(Text(f"        -> {f.command}", style="dim"), soft_wrap=True)
        if f.accuracy_mode and f.severity != "fine":
            console.print(Padding(Text(f.accuracy_mode, style="dim italic"), (0, 0, 0, 8)))
    note = f"{found.note}; " if found.note else ""
    console.print(f"\n[dim]{escape(note)}examined in {found.seconds:.0f} s[/]", highlight=False)
