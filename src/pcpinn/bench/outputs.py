"""What is written at the end of a benchmark: table.md and table.csv."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..catalog import FAMILIES
from ..files import write_atomically
from .family_table import family_markdown
from .folder import BenchFolder
from .plan import Plan
from .results import Row
from .sweep_table import sweeps, sweeps_as_markdown
from .table import Summary, summaries_as_csv, summaries_as_markdown, summarise

NOTE = (
    'Mean (standard deviation) over trials, against independent references. "Paper" is the preconditioned PINN of Liu et al., '
    '"best other" the best of the paper\'s other methods (from the PINNacle benchmark); both as printed there, on other machines.'
)


def main_rows(plans: Sequence[Plan], rows: Mapping[str, Row]) -> list[Row]:
    """The rows for the main table: those of suites, and of ablations where the preset is unchanged."""
    keys: dict[str, None] = {}
    for plan in plans:
        for p in plan.cells:
            if p.cell.key in rows and (plan.kind == "suite" or not p.variant):
                keys[p.cell.key] = None
    return [rows[k] for k in keys]


def main_summaries(plans: Sequence[Plan], rows: Mapping[str, Row]) -> list[Summary]:
    """The lines of the main table."""
    return summarise(main_rows(plans, rows))


def write_tables(bench: BenchFolder) -> None:
    """table.md and table.csv, from bench.json and results.csv."""
    plans, rows = bench.plans(), bench.rows()
    summaries, found = main_summaries(plans, rows), sweeps(plans, rows)
    commands = "\n".join(f"    {p.command}" for p in plans)
    parts = [f"# Benchmark\n\n{NOTE}\n\n{commands}"]
    of_families = family_markdown(summaries)
    single = [s for s in summaries if s.problem not in FAMILIES]
    if single:
        parts.append(summaries_as_markdown(single))
    if of_families:
        parts.append(of_families)
    if found:
        parts.append(sweeps_as_markdown(found))
    failures = [r for r in rows.values() if not r.finished]
    if failures:
        parts.append("## Failed\n\n" + "\n".join(f"- {r.key}: {r.reason}" for r in failures))
    write_atomically(bench.path / "table.md", "\n\n".join(parts) + "\n")
    write_atomically(bench.path / "table.csv", summaries_as_csv(summarise(rows.values())))
