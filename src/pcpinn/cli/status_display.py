"""The table of `pcpinn bench status`, once or kept up to date."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ..bench.status import Status
from .bench_display import name_of

_EVERY = 3.0  # seconds
_COLOURS = {"finished": "green", "failed": "red", "running": "cyan", "queued": "yellow", "stopped": "magenta"}
_MOST = 40  # lines of a table that moves


def show_status(look: Callable[[], Status], once: bool) -> None:
    """Print the table; in a terminal, until nothing is queued or running."""
    console = Console()
    found = look()
    if once or not console.is_terminal or not found.is_at_work:
        console.print(_table(found, len(found.runs)))
        return
    try:
        with Live(_table(found, _MOST), console=console, auto_refresh=False) as live:
            while found.is_at_work:
                time.sleep(_EVERY)
                found = look()
                live.update(_table(found, _MOST), refresh=True)
    except KeyboardInterrupt:
        pass  # the runs go on


def _table(found: Status, most: int) -> Group:
    """What moves comes first where not all fits."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("run", "state", "attempt", "where", "news"):
        table.add_column(name, overflow="fold")
    runs = list(found.runs)
    if len(runs) > most:
        order = ("running", "failed", "stopped", "queued", "ended", "finished", "waiting")
        runs = sorted(runs, key=lambda run: order.index(run.state))[:most]
    for run in runs:
        attempt = str(run.attempt) if run.attempt else ""
        state = Text(run.state, style=_COLOURS.get(run.state, ""))
        table.add_row(escape(name_of(run.cell)), state, attempt, escape(run.where), escape(run.news))
    counts = ", ".join(f"{n} {state}" for state, n in found.counts.items())
    left = [f"{len(found.runs) - len(runs)} more"] if len(runs) < len(found.runs) else []
    return Group(table, *map(Text, [*left, f"{len(found.runs)} runs: {counts}", *found.notes]))
