"""Train baselines on the problems of the paper, the cheap ones first, within a budget of time; given again, it goes on.

    pcpinn prepare NAME --method pinn --preset pinnacle --out build/prepared/NAME.pcpinn    # each, where there is a mesher
    python benchmarks/baseline_cells.py --prepared build/prepared --device cuda --jobs 4 --together 4 --budget 900 --out build/b

Without --cells: every method once on every problem, then seeds 1 and 2 on four problems. Each cell is a run of `pcpinn bench` in
the folder --out: what is finished is skipped, what was interrupted goes on from its checkpoint. When the budget is over workers
are ended, and --keep DIR receives what the next call needs of --out and no more (rows, errors along trainings, unfinished runs).
All rows are merged into --table, in the columns of results.csv: `pcpinn reproduce table-2 --from docs/paper/baselines.csv`.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pcpinn.bench import BenchFolder, Cell, Plan, Planned, Request, Row, Watch, make_plan, read_rows, run_plan, suite
from pcpinn.bench.results import write_rows
from pcpinn.catalog import find_entry
from pcpinn.catalog.prepared import SUFFIX
from pcpinn.errors import PcpinnError
from pcpinn.files import write_atomically
from pcpinn.progress import Progress
from pcpinn.reproduce.found import HISTORIES, Sources
from pcpinn.reproduce.main_tables import OTHERS, published

MORE_SEEDS = ("poisson2d-c", "wave1d-c", "burgers1d-c", "heat2d-ms")
# Rough costs of a step beside that of pinn: they make an order, no more.
COSTS = {
    "vpinn": 0.7,
    "multiadam": 1.05,
    "laaf": 1.1,
    "gaaf": 1.1,
    "lra": 1.15,
    "ntk": 1.2,
    "fbpinn": 2.5,
    "gpinn": 4.0,
}


@dataclass(frozen=True)
class Wanted:
    """One training that is asked for."""

    method: str
    problem: str
    seed: int = 0


class OutOfTime(KeyboardInterrupt):
    """The budget is over; no part of a run may mistake it for a failure of its own."""


def usual_cells(methods: Sequence[str], problems: Sequence[str], seeds: int = 3) -> list[Wanted]:
    """Once each, cheap ones first; then more seeds on a few problems."""
    costs = {p: problem_cost(p) for p in problems}
    pairs = (Wanted(m, p) for m in methods for p in problems)
    once = sorted(pairs, key=lambda w: costs[w.problem] * COSTS.get(w.method, 1.0))
    more = [Wanted(w.method, w.problem, s) for s in range(1, seeds) for w in once if w.problem in MORE_SEEDS]
    return [*once, *more]


def problem_cost(name: str) -> float:
    """Of a step, roughly: value, slopes and one sum of second derivatives go through the network; then the equations."""
    entry = find_entry(name)
    problem = entry.make(**entry.parameters)
    return 2.0 + problem.domain.dimension + 0.1 * problem.components


def read_cells(path: Path) -> list[Wanted]:
    """From lines "method,problem,seed".

    Raises:
        PcpinnError: for a line of another form.
    """
    wanted = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        words = [w.strip() for w in line.split(",")]
        if words == [""]:
            continue
        if len(words) != 3 or not words[2].isdigit():
            raise PcpinnError(f"{path}, line {number}: {line!r} is no cell", "write method,problem,seed")
        wanted.append(Wanted(words[0], words[1], int(words[2])))
    return wanted


def plan_of(wanted: Iterable[Wanted], preset: str, prepared: Path | None, changes: Sequence[tuple[str, str]]) -> Plan:
    """The runs in their order; problems come from prepared files where there are such."""
    cells: dict[str, Planned] = {}
    for w in wanted:
        file = None if prepared is None else prepared / f"{w.problem}{SUFFIX}"
        request = Request(
            problems=(w.problem if file is None or not file.exists() else str(file),),
            methods=(w.method,),
            presets=(preset,),
            trials=1,
            seed=w.seed,
            changes=tuple(changes),
        )
        cells |= {p.cell.key: p for p in make_plan(request).cells}
    return Plan("suite", "baselines", "benchmarks/baseline_cells.py", tuple(cells.values()))


class Count(Progress):
    """Iterations of one run, counted from the first that is heard of, since a resumed run begins in the middle."""

    first, last = 0, 0

    def update(self, iteration: int, loss: float) -> None:
        """The latest."""
        self.first, self.last = self.first or iteration, iteration


class Lines(Watch):
    """A line for each run that ends: its error beside the published one."""

    def __init__(self) -> None:
        self.started_at = time.monotonic()
        self._counts: list[Count] = []

    def started(self, cell: Cell) -> Progress:
        """Count its iterations."""
        self._counts.append(Count())
        return self._counts[-1]

    def rate(self) -> float:
        """Iterations of all runs together per second so far: whether more runs at a time gain anything."""
        return sum(count.last - count.first for count in self._counts) / (time.monotonic() - self.started_at)

    def begin(self, total: int, done: int) -> None:
        """How much there is to do."""
        print(f"{total} runs, {done} of them done", flush=True)

    def ended(self, cell: Cell, row: Row) -> None:
        """Its error, or why there is none."""
        print(f"{time.monotonic() - self.started_at:7.0f} s  {self.rate():6.0f}/s  {line_of(row)}", flush=True)

    def note(self, text: str) -> None:
        """Something worth a line."""
        print(text, flush=True)


def line_of(row: Row) -> str:
    """A run in one line: error, published error, their ratio, iterations, seconds."""
    name = f"{row.problem:13} {row.method:10} seed {row.seed}"
    if not row.finished or row.l2re is None:
        return f"{name}  {row.reason or 'no reference'}"
    figure = published(row.problem, row.method, "L2RE")
    theirs = "" if figure is None else f"  published {figure.mean:.3g}, ours / published {row.l2re / figure.mean:.3g}"
    return f"{name}  L2RE {row.l2re:.3g}{theirs}  ({row.iterations} iterations, {row.train_s:.1f} s)"


def keep(bench: BenchFolder, folder: Path) -> None:
    """Copy what the next call needs, and what tables need; finished runs themselves stay behind."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("bench.json", "results.csv", HISTORIES):
        if (bench.path / name).exists():
            shutil.copy2(bench.path / name, folder / name)
    if (bench.path / "errors").exists():
        shutil.copytree(bench.path / "errors", folder / "errors", dirs_exist_ok=True)
    for run in sorted((bench.path / "runs").glob("*/")):
        if not (run / "result.json").exists():
            shutil.copytree(run, folder / "runs" / run.name, dirs_exist_ok=True)


def merge(table: Path, rows: Iterable[Row]) -> list[Row]:
    """Rows into a table of them: a finished run is never replaced by one that failed."""
    merged = {row.key: row for row in read_rows(table)}
    for row in rows:
        if row.finished or not (row.key in merged and merged[row.key].finished):
            merged[row.key] = row
    ordered = sorted(merged.values(), key=lambda r: (r.problem, r.method, r.seed, r.key))
    table.parent.mkdir(parents=True, exist_ok=True)
    write_rows(table, ordered)
    return ordered


def keep_courses(bench: BenchFolder) -> None:
    """Errors along all trainings, those of earlier calls included, whose folders may be gone."""
    sources = Sources.read([bench.path])
    write_atomically(bench.path / HISTORIES, sources.courses_as_csv(sources.rows))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--cells", type=Path, help="file with lines method,problem,seed, the most important first")
    parser.add_argument("--methods", default=",".join(OTHERS))
    parser.add_argument("--problems", default=",".join(suite("paper")))
    parser.add_argument("--seeds", type=int, default=3, help=f"on {', '.join(MORE_SEEDS)}")
    parser.add_argument("--preset", default="pinnacle")
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--prepared", type=Path, help="folder with NAME.pcpinn of each problem")
    add_run_options(parser)
    parser.add_argument("--list", action="store_true", help="print the cells in their order, run nothing")
    given = parser.parse_args(arguments)
    try:
        named = [(key, value) for key, _, value in (text.partition("=") for text in given.changes)]
        methods, problems = (text.split(",") for text in (given.methods, given.problems))
        wanted = read_cells(given.cells) if given.cells else usual_cells(methods, problems, given.seeds)
        if given.list:
            print("\n".join(f"{w.method},{w.problem},{w.seed}" for w in wanted))
            return 0
        return carry_out(given, plan_of(wanted, given.preset, given.prepared, named))
    except PcpinnError as error:
        print(error, file=sys.stderr)
        return 2


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """What `carry_out` is told, but for the folder."""
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--together", type=int, default=1, help="runs at a time in each, side by side on a GPU")
    parser.add_argument("--budget", type=float, default=0.0, help="seconds; 0 for no end")
    parser.add_argument("--retry", action="store_true", help="run those again that failed")
    parser.add_argument("--keep", type=Path, help="folder for what the next call needs")
    parser.add_argument("--table", type=Path, help="CSV that the rows are merged into")


def carry_out(given: argparse.Namespace, plan: Plan) -> int:
    """Run the plan until it or the budget ends; 0 if all runs are finished, 1 if not."""
    bench, lines, over = BenchFolder(given.out), Lines(), False

    def stop(*_: object) -> None:
        raise OutOfTime

    if given.budget > 0:
        signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, given.budget)
    try:
        run_plan(bench, plan, given.jobs, given.device, given.retry, lines, together=given.together)
    except OutOfTime:
        over = True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    rows = bench.rows()
    if rows:
        keep_courses(bench)
    if given.table is not None:
        merge(given.table, rows.values())
    if given.keep is not None:
        keep(bench, given.keep)
    done = [key for p in plan.cells if (key := p.cell.key) in rows and rows[key].finished]
    failed = [key for p in plan.cells if (key := p.cell.key) in rows and not rows[key].finished]
    left = len(plan.cells) - len(done) - len(failed)
    print(
        f"{len(done)} of {len(plan.cells)} finished, {len(failed)} failed, {left} left"
        + (": out of time" if over else "")
        + f"; {lines.rate():.0f} iterations per second in all"
    )
    return 0 if len(done) == len(plan.cells) else 1


if __name__ == "__main__":
    sys.exit(main())
