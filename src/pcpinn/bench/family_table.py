"""The table of families: errors at unseen parameters against set-up and time per query, all methods of a family together."""

from __future__ import annotations

from collections.abc import Sequence

from ..catalog import FAMILIES
from .table import Mean, Summary, markdown_table, short

FAMILY_HEADER = (
    "run", "mean", "95 %", "worst", "estimate / true", "within 2", "set-up", "query", "estimate", "weights", "truth",
)  # fmt: skip
NOTE = (
    "Relative L2 errors at unseen parameters, the largest over the fields, against direct solves on a finer discretisation "
    '("truth" is their own error). "Estimate / true" is the range of 95 % of the queries, "within 2" the part of them between '
    "0.5 and 2. Set-up is all until the first query; a query is 1000 points of one set of parameters."
)


def family_lines(summaries: Sequence[Summary]) -> list[tuple[str, ...]]:
    """Family by family: its name, then its methods, best mean error first."""
    lines: list[tuple[str, ...]] = []
    own = [s for s in summaries if s.problem in FAMILIES]
    for problem in dict.fromkeys(s.problem for s in own):
        lines.append((problem, *[""] * (len(FAMILY_HEADER) - 1)))
        lines += [_line(s) for s in own if s.problem == problem]
    return lines


def family_markdown(summaries: Sequence[Summary]) -> str:
    """The table with its note; nothing where there are no families."""
    lines = family_lines(summaries)
    if not lines:
        return ""
    bold = ([f"**{c[0]}**", *c[1:]] if not any(c[1:]) else c for c in lines)
    return f"{NOTE}\n\n{markdown_table(FAMILY_HEADER, bold)}"


def _line(s: Summary) -> tuple[str, ...]:
    low, high, within = (s.mean(k) for k in ("ratio_low", "ratio_high", "within_two"))
    total, weights = s.mean("total_s"), s.mean("parameters")
    return (
        s.label,
        *(_short(s.mean(k)) for k in ("l2re", "p95", "worst")),
        f"{low.mean:.2f} to {high.mean:.2f}" if low and high else "-",
        f"{100 * within.mean:.0f} %" if within else "-",
        f"{total.mean:.1f} s" if total else "-",
        *(_ms(s.mean(k)) for k in ("query_ms", "estimate_ms")),
        f"{weights.mean:.0f}" if weights else "-",
        _short(s.mean("reference_error")),
    )


def _short(mean: Mean | None) -> str:
    return short(mean.mean) if mean else "-"


def _ms(mean: Mean | None) -> str:
    return f"{mean.mean:.3g} ms" if mean else "-"
