"""What people see: progress, tables, messages."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

from rich import box
from rich.table import Table

from ..catalog.published import best_baseline, paper_result


@contextlib.contextmanager
def standard_output_kept_clean() -> Iterator[None]:
    """Send whatever libraries print to standard output (netgen does, from C++) to standard error instead."""
    sys.stdout.flush()
    try:
        saved = os.dup(1)
    except OSError:  # no such descriptor: a test harness or a service
        yield
        return
    try:
        os.dup2(2, 1)
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)


def published_table(problem: str) -> Table | None:
    """The paper's own figures and the best baseline for a problem."""
    if paper_result(problem) is None:
        return None
    table = Table(box=box.SIMPLE_HEAD, title="published figures")
    for column in ("metric", "paper", "best other method"):
        table.add_column(column)
    for metric in ("L2RE", "L1RE", "MSE"):
        ours, other = paper_result(problem, metric), best_baseline(problem, metric)
        table.add_row(
            metric,
            f"{ours.mean:.2e}" + (f" ({ours.std:.1e})" if ours.std is not None else "") if ours else "-",
            f"{other.mean:.2e} {other.method}" if other else "-",
        )
    return table
