"""Run what is left of the paper's tables and of the baselines, within a budget of time; given again, it goes on.

    python benchmarks/paper_left.py --list                                       # what is left, in the order of the runs
    python benchmarks/paper_left.py --prepare build/packed                       # where there is a mesher
    python benchmarks/paper_left.py --prepared build/packed --device cuda --jobs 4 --together 4 --budget 1500 \\
        --out build/left --keep KEPT --table build/left.csv                      # where the GPU is, without a mesher

What counts as done: finished rows of the tables in docs/ (--known), and those in --out. Next time give the folder KEPT as --out.
Groups, in their order unless --groups says otherwise:
  tables     Tables 3 and 5 to 10 (with Figures 3c and 4): seed 0 of all, then more
  paper      our method with the preset `paper` on the paper's problems, seed 0 of those that take minutes, then seeds 1 and 2
  baselines  eleven PINNs on 18 problems, then seeds 1 and 2 on four of them (see baseline_cells.py)
  defaults   our default presets, seed 0 of all, then seeds 1 and 2 of those that take less than two minutes
  long       the marches of `paper` that take more than ten minutes each
`pcpinn reproduce table-3 --from build/left.csv` shows what came out. `--take KEPT --at-once 16` puts finished rows and errors
along trainings into the tables in docs/, notes that 16 runs shared the GPU, and writes the pages that follow (paper_pages.py).
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import paper_pages
from baseline_cells import add_run_options, carry_out, merge, plan_of, usual_cells
from paper_rows import ABLATIONS, BATCHES, DEFAULTS, DOCS, LINEAR, OURS, PINNS

from pcpinn.bench import Plan, Planned, PreparedFolder, Request, Row, make_plan, prepare_plans, read_rows, suite
from pcpinn.errors import PcpinnError
from pcpinn.files import write_atomically
from pcpinn.reproduce import ITEMS, Choice, Runs, Sources
from pcpinn.reproduce.found import HISTORIES
from pcpinn.reproduce.main_tables import OTHERS

KNOWN = (PINNS, OURS, ABLATIONS, DEFAULTS, LINEAR)
TABLES = ("table-3", "table-7", "table-8", "table-10", "table-9", "table-5", "table-6")  # the short ones first
SEEDS = 3
SLOW = ("burgers2d-c", "gs", "heat2d-lt")  # of the default presets: more than two minutes on one H200
# Of the preset `paper`, by estimated minutes per seed on one H200: see docs/paper.md.
LONG = ("burgers2d-c", "heat2d-lt")
MINUTES = ("wave2d-cg", "ns2d-lt", "heat2d-cg", "gs", "heat2d-ms", "poisson3d-cg", "wave2d-ms", "ks", "heat2d-vc")


def tables() -> Iterator[Planned]:
    """The ablations: the first seed of all, then the next."""
    for seed in range(SEEDS):
        for name in TABLES:
            for part in ITEMS.find(name).parts(Choice(seeds=1, seed=seed)):
                assert isinstance(part, Runs)
                alone = name == "table-3" and seed > 0  # the paper takes one trial there
                yield from () if alone else make_plan(part.request).cells


def paper() -> Iterator[Planned]:
    """Our method: once each, then more seeds where a run takes less than two minutes."""
    short = [p for p in suite("paper") if p not in (*LONG, *MINUTES)]
    for seed in range(SEEDS):
        yield from _ours("paper", (*short, *(MINUTES if seed == 0 else ())), seed)


def defaults() -> Iterator[Planned]:
    """Our own settings: once each, then more seeds of the quick ones."""
    for seed in range(SEEDS):
        yield from _ours("default", [p for p in suite("paper") if seed == 0 or p not in SLOW], seed)


def baselines() -> Iterator[Planned]:
    """Eleven PINNs."""
    yield from plan_of(usual_cells(OTHERS, suite("paper"), SEEDS), "pinnacle", None, []).cells


def long() -> Iterator[Planned]:
    """The long marches, once."""
    yield from _ours("paper", LONG, 0)


def _ours(preset: str, problems: Sequence[str], seed: int) -> tuple[Planned, ...]:
    return make_plan(Request(problems=tuple(problems), presets=(preset,), trials=1, seed=seed)).cells


GROUPS: dict[str, Callable[[], Iterator[Planned]]] = {
    "tables": tables,
    "paper": paper,
    "baselines": baselines,
    "defaults": defaults,
    "long": long,
}


def left(groups: Sequence[str], known: Sequence[Path]) -> list[Planned]:
    """The runs of the groups that no table has, each once.

    Raises:
        PcpinnError: for an unknown group.
    """
    for name in groups:
        if name not in GROUPS:
            raise PcpinnError(f"there is no group {name!r}", f"use {', '.join(GROUPS)}")
    done: dict[str, Row] = {row.key: row for path in known for row in read_rows(path) if row.finished}
    cells: dict[str, Planned] = {}
    for planned in (p for name in groups for p in GROUPS[name]()):
        row = done.get(planned.cell.key)
        if row is None or (planned.measure and row.condition is None):
            cells.setdefault(planned.cell.key, planned)
    return list(cells.values())


def take(place: Path, known: Sequence[Path] = KNOWN) -> dict[Path, list[Row]]:
    """Put finished rows of a table or folder that no table has into the tables in docs/.

    Errors along trainings are kept where Figures 1a, 3c and 4 draw them.
    """
    done = {row.key for path in known for row in read_rows(path) if row.finished}
    came = Sources.read([place])
    places: dict[Path, list[Row]] = {PINNS: [], OURS: [], ABLATIONS: [], DEFAULTS: []}
    for row in came.rows.values():
        if row.finished and row.key not in done and row.preset in ("pinnacle", "paper", "default"):
            ours = ABLATIONS if row.changes else DEFAULTS if row.preset == "default" else OURS
            places[PINNS if row.preset == "pinnacle" else ours].append(row)
    for path, new in places.items():
        if new:
            merge(path, new)
    drawn = [*places[ABLATIONS], *(r for path in (PINNS, OURS) for r in places[path] if r.problem == "wave1d-c")]
    came.courses = {r.key: came.courses[r.key] for r in drawn if r.key in came.courses}
    if came.courses:
        came.add(Sources.read([ABLATIONS.parent]))
        write_atomically(ABLATIONS.parent / HISTORIES, came.courses_as_csv(came.courses))
    return places


def note_company(rows: Sequence[Row], at_once: int, batches: Path = BATCHES) -> None:
    """That so many runs shared the machine when these were made: without it their times say nothing of a machine's."""
    with batches.open("a", newline="", encoding="utf-8") as stream:
        days = sorted({(row.date, row.machine) for row in rows})
        csv.writer(stream, lineterminator="\n").writerows([*day, at_once, f"{len(rows)} runs"] for day in days)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", default=",".join(GROUPS))
    parser.add_argument("--known", type=Path, action="append", help="tables of rows that are done; those in docs/")
    parser.add_argument("--problems", help="only these")
    parser.add_argument(
        "--first", help="problem:method of seed 0 that come before all others, in this order, by commas"
    )
    parser.add_argument("--list", action="store_true", help="print the runs in their order, run nothing")
    parser.add_argument("--prepare", type=Path, metavar="DIR", help="write the prepared problems, run nothing")
    parser.add_argument("--prepared", type=Path, metavar="DIR", help="folder of prepared problems")
    parser.add_argument("--take", type=Path, metavar="DIR", help="put rows (also .csv) into docs/, run nothing")
    parser.add_argument("--at-once", type=int, default=0, help="with --take: how many runs shared the machine")
    parser.add_argument("--out", type=Path, default=Path("build/left"), help="folder of the runs")
    add_run_options(parser)
    given = parser.parse_args(arguments)
    try:
        if given.take:
            gained = take(given.take)
            for path, new in gained.items():
                print(f"{len(new)} new rows in {path.relative_to(DOCS.parent)}")
            if given.at_once:
                note_company(gained[PINNS], given.at_once)
            return paper_pages.main([])
        cells = left(given.groups.split(","), given.known or KNOWN)
        if given.problems:
            cells = [p for p in cells if p.cell.problem in given.problems.split(",")]
        if given.first:
            wanted = given.first.split(",")
            rank = {key: k for k, key in enumerate(wanted)}
            cells.sort(
                key=lambda p: (
                    rank.get(f"{p.cell.problem}:{p.cell.method}", len(rank)) if p.cell.seed == 0 else len(rank)
                )
            )
        plan = Plan("suite", "what is left of the paper", "benchmarks/paper_left.py", tuple(cells))
        if given.list:
            for cell in (p.cell for p in cells):
                print(cell.problem, cell.method, cell.preset, cell.changed, f"seed {cell.seed}")
            return 0
        if given.prepare:
            print("\n".join(map(str, prepare_plans([plan], given.prepare))) or f"all of it is in {given.prepare}")
            return 0
        if given.prepared:
            plan, lacking = PreparedFolder.read(given.prepared).furnish(plan)
            print(
                f"not in {given.prepared}: {', '.join(lacking)}" if lacking else "all problems are prepared", flush=True
            )
        return carry_out(given, plan)
    except PcpinnError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
