"""What was run of the paper and kept in docs/: rows, how many runs shared a machine, runs that were stopped."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from baseline_cells import COSTS, problem_cost

from pcpinn.bench import Row
from pcpinn.bench.table import Mean, mean_of
from pcpinn.reproduce import Sources
from pcpinn.reproduce.main_tables import OTHERS

DOCS = Path(__file__).parents[1] / "docs"
PINNS, OURS, ABLATIONS, DEFAULTS, BATCHES, UNFINISHED, BEGUN = (
    DOCS / "paper" / f"{name}.csv"
    for name in ("baselines", "paper-preset", "bench/results", "default-preset", "batches", "unfinished", "begun")
)
LINEAR, MEMORY = DOCS / "benchmarks" / "linear-h200.csv", DOCS / "benchmarks" / "memory-h200.csv"
NONLINEAR = DOCS / "benchmarks" / "nonlinear.md"
PLACES = (DOCS / "paper", PINNS, OURS, LINEAR)  # what `pcpinn reproduce --from` is given for the status
STEPS = 20_000  # of a PINN


@dataclass(frozen=True)
class Rows:
    """What was run, and how many runs shared a machine on a day.

    Attributes:
        rows: of runs that finished.
        at_once: runs at a time, by day.
        unfinished: (problem, seconds that the whole run takes alone) of runs that were stopped.
        begun: what is known of marches by the intervals that were run: problem -> row of begun_marches.py.
        kept: errors of default presets of which no row was kept: problem -> (error, where it stands).
    """

    rows: tuple[Row, ...]
    at_once: dict[str, int] = field(default_factory=dict)
    unfinished: dict[str, float] = field(default_factory=dict)
    begun: dict[str, dict[str, str]] = field(default_factory=dict)
    kept: dict[str, tuple[float, str]] = field(default_factory=dict)

    @classmethod
    def read(cls) -> Rows:
        """Those in docs/."""
        sources = Sources.read([PINNS, OURS, DEFAULTS, LINEAR])
        stopped = {
            r["problem"]: float(r["seconds"]) / int(r["at_once"]) * int(r["of"]) / int(r["iterations"])
            for r in _read(UNFINISHED)
        }
        kept = {problem: (error, "page") for problem, error in _page_errors(NONLINEAR.read_text(encoding="utf-8"))}
        kept |= {r["problem"]: (float(r["l2re"]), MEMORY.name) for r in _read(MEMORY) if r["l2re"]}
        rows = tuple(r for r in sources.rows.values() if r.finished and not r.changes)
        begun = {r["problem"]: r for r in _read(BEGUN)}
        return cls(rows, {r["date"]: int(r["at_once"]) for r in _read(BATCHES)}, stopped, begun, kept)

    @cached_property
    def _of(self) -> dict[tuple[str, str, str], list[Row]]:
        found: dict[tuple[str, str, str], list[Row]] = {}
        for row in self.rows:
            found.setdefault((row.problem, row.method, row.preset), []).append(row)
        return found

    def error(self, problem: str, method: str, preset: str) -> Mean | None:
        """Mean L2RE over seeds."""
        return mean_of(r.l2re for r in self._of.get((problem, method, preset), ()))

    def pinns(self, problem: str) -> dict[str, Mean]:
        """Errors of those of the eleven that were run."""
        found = {m: self.error(problem, m, "pinnacle") for m in OTHERS}
        return {m: mean for m, mean in found.items() if mean is not None}

    def seconds(self, problem: str, method: str) -> float | None:
        """What a PINN would take: by the fastest row of the method from the last day that has such, else of any method.

        Others were stopped and went on, or ran beside more.
        """
        timed = [r for r in self.rows if r.method in OTHERS and r.date in self.at_once and r.train_s and r.iterations]
        own = [r for r in timed if r.method == method] or timed
        last = [r for r in own if r.date == max(o.date for o in own)]
        each = (r.train_s / r.iterations / self.at_once[r.date] / _cost(r.problem, r.method) for r in last)  # type: ignore[operator]
        return min(each) * STEPS * _cost(problem, method) if last else None


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def _page_errors(text: str) -> Iterator[tuple[str, float]]:
    """Problem and error of the lines of the page's table of default presets, whose errors are bold."""
    for problem, error in re.findall(r"^\| (\S+) \| [^|]* \| \*\*([0-9.e-]+)\*\* \|", text, flags=re.MULTILINE):
        yield problem, float(error)


@cache
def _of_problem(name: str) -> float:
    return problem_cost(name)


def _cost(problem: str, method: str) -> float:
    return _of_problem(problem) * COSTS.get(method, 1.0)
