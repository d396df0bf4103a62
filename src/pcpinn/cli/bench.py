"""`pcpinn bench`, `pcpinn bench status`, `pcpinn bench cancel` and `pcpinn report`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ..bench import ABLATIONS, BenchFolder, Plan, PreparedFolder, Request, Watch, make_plan, run_plan, suite_names
from ..bench.outputs import main_summaries, write_tables
from ..bench.results import Row
from ..bench.status import status_of
from ..bench.sweep_table import sweep_header, sweep_lines, sweeps
from ..bench.table import METRICS, gain
from ..catalog import FAMILIES
from ..cluster import Cancelled, StateFolder
from ..cluster import cancel as cancel_jobs
from ..errors import PcpinnError
from ..solve.build import check_device
from ..solve.method import FAMILY_METHODS, METHODS
from .bench_display import BenchProgress, family_table, main_table, sweep_table
from .display import standard_output_kept_clean
from .options import AsJson, Changes, pairs
from .place import Cpus, Gpus, More, On, Partition, Python, Time, place_of
from .status_display import show_status

bench_app = typer.Typer()
BenchDir = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a benchmark.")]

_METHODS = f"{', '.join(METHODS.names())}. Of families: {', '.join(FAMILY_METHODS.names())}; all of these by default."


@bench_app.callback(invoke_without_command=True)
def bench(
    context: typer.Context,
    suite: Annotated[str | None, typer.Option(help=f"{', '.join(suite_names())}; linear if nothing is named.")] = None,
    ablation: Annotated[str | None, typer.Option(help=f"An ablation of the paper: {', '.join(ABLATIONS)}.")] = None,
    problems: Annotated[
        str | None, typer.Option(metavar="A,B", help="Problems of the catalog, .py files, prepared .pcpinn files.")
    ] = None,
    methods: Annotated[str | None, typer.Option(metavar="A,B", help=_METHODS)] = None,
    presets: Annotated[str | None, typer.Option(metavar="A,B", help="quick, default, paper.")] = None,
    trials: Annotated[int | None, typer.Option(help="Seeds per case; the paper takes 5.")] = None,
    seed: Annotated[int, typer.Option(help="The first seed.")] = 0,
    changes: Changes = None,
    sweep: Annotated[
        list[str] | None, typer.Option(metavar="KEY=V1,V2", help="Repeat over values of a setting; may be repeated.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Runs at a time; here 1 by default, and the cores are divided among them.")
    ] = None,
    together: Annotated[
        int, typer.Option(help="Trainings at a time in each of the --jobs, side by side on one GPU.")
    ] = 1,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the benchmark.")] = Path("bench"),
    retry: Annotated[
        bool, typer.Option("--retry", help="Run those again that failed, or whose preset has changed.")
    ] = False,
    packed: Annotated[
        Path | None,
        typer.Option("--prepared", metavar="DIR", help="Folder of prepared problems, for a machine without a mesher."),
    ] = None,
    on: On = "local",
    gpus: Gpus = None,
    cpus: Cpus = None,
    time: Time = None,
    partition: Partition = None,
    more: More = None,
    python: Python = None,
    as_json: AsJson = False,
) -> None:
    """Run suites, sweeps and ablations; given again, go on where it stopped. Alone with --out DIR: finish all of DIR."""
    if context.invoked_subcommand is not None:
        _refuse_options(context)
        return
    slurm = place_of(on, gpus, cpus, time, partition, more, python, jobs)
    check_device(device)
    request = Request(
        suite, names_of(problems, "problems"), names_of(methods, "methods"), names_of(presets, "presets"), trials, seed,
        tuple(pairs(changes).items()), tuple(sweep or ()), ablation,
    )  # fmt: skip
    folder, console = BenchFolder(out), Console(stderr=True)
    progress = BenchProgress(console)
    try:
        with standard_output_kept_clean():
            plan = None if request.is_empty and folder.exists else make_plan(request)
            if packed is not None:
                plan = _furnished(plan, packed, progress)
            here = 1 if jobs is None or slurm is not None else jobs
            rows = run_plan(folder, plan, here, device, retry, progress, slurm, together)
    except KeyboardInterrupt as error:
        progress.close()
        what = "cancelled" if isinstance(error, Cancelled) else "interrupted"
        how = " --on slurm" if slurm is not None else ""
        console.print(f"{what}; the same command goes on, and so does: pcpinn bench --out {out}{how}", markup=False)
        if slurm is not None and what == "interrupted":
            console.print(f"jobs in the queue stay there; pcpinn bench cancel {out} ends them", markup=False)
        raise typer.Exit(130) from None
    finally:
        progress.close()
    write_tables(folder)
    _conclude(folder, rows, as_json)
    if any(not row.finished for row in rows.values()):
        raise typer.Exit(1)


def _furnished(plan: Plan | None, folder: Path, watch: Watch) -> Plan:
    """The plan with the problems of a folder; what it lacks is said, and meshed here."""
    if plan is None:
        raise PcpinnError("a benchmark that goes on knows its files", "leave --prepared out, or say what to run")
    furnished, lacking = PreparedFolder.read(folder).furnish(plan)
    if lacking:
        watch.note(f"not in {folder}, so meshed here: {', '.join(lacking)}")
    return furnished


@bench_app.command()
def status(
    folder: BenchDir,
    once: Annotated[bool, typer.Option("--once", help="Print it and end, also in a terminal.")] = False,
    as_json: AsJson = False,
) -> None:
    """How far each run is: a table, which in a terminal is kept up to date until all is done (Ctrl-C leaves it)."""
    bench = BenchFolder(folder)
    if as_json:
        found = status_of(bench)
        runs = [
            {"key": r.cell.key, "state": r.state, "attempt": r.attempt, "where": r.where, "news": r.news}
            for r in found.runs
        ]
        print(json.dumps({"folder": str(folder), **found.counts, "runs": runs, "notes": list(found.notes)}))
        return
    show_status(lambda: status_of(bench), once)


@bench_app.command()
def cancel(folder: BenchDir) -> None:
    """End the runs of a benchmark, on the cluster or on this machine; what they have done stays, and can go on."""
    bench, state = BenchFolder(folder), StateFolder.of(folder)
    if not state.exists:  # a study has jobs, too
        bench.require()
    jobs = cancel_jobs(state) if state.exists else 0
    if bench.is_locked and not jobs:
        bench.interrupt()
        print(f"cancelled; pcpinn bench --out {folder} goes on")
    elif jobs:
        print(f"{jobs} jobs cancelled; pcpinn bench --out {folder} --on slurm goes on")
    else:
        raise PcpinnError(f"nothing runs in {folder}", "pcpinn bench status DIR shows what is done")


def _refuse_options(context: typer.Context) -> None:
    """`bench --trials 5 status b`: options before a subcommand would be read and ignored."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise PcpinnError(
                f"pcpinn bench {context.invoked_subcommand} has no option --{name}",
                f"write pcpinn bench {context.invoked_subcommand} DIR",
            )


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a benchmark.")],
    out: Annotated[Path | None, typer.Option(help="Page to write; DIR/report.html by default.")] = None,
) -> None:
    """Write one self-contained HTML page about a benchmark, and its figures as .png and .pdf."""
    try:
        from ..bench.page import write_page
    except ModuleNotFoundError as error:
        raise PcpinnError(f"figures need {error.name}", f"pip install {error.name}") from error
    page = BenchFolder(folder)
    page.require()
    write_tables(page)
    with standard_output_kept_clean():
        written = write_page(page, out or folder / "report.html")
    for path in written:
        print(path)


def names_of(text: str | None, option: str) -> tuple[str, ...] | None:
    """Names with commas between them; None where the option is not given."""
    if text is None:
        return None
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        raise PcpinnError(f"--{option} names nothing", "give names with commas between them")
    return names


def _conclude(folder: BenchFolder, rows: dict[str, Row], as_json: bool) -> None:
    """Tables of everything in the folder, failures of this call, and where to find more."""
    console = Console(stderr=as_json)
    plans, all_rows = folder.plans(), folder.rows()
    summaries, found = main_summaries(plans, all_rows), sweeps(plans, all_rows)
    single = [s for s in summaries if s.problem not in FAMILIES]
    if single:
        console.print(main_table(single, console.width))
    if len(single) < len(summaries):
        console.print(family_table(summaries))
    for one in found:
        console.print(sweep_table(one))
    failures = [r for r in rows.values() if not r.finished]
    for row in failures:
        console.print(f"failed  {row.key}: {row.reason}", markup=False, highlight=False, soft_wrap=True)
    if failures:
        console.print("run them again with --retry")
    for label, name in (("table", "table.md"), ("rows", "results.csv")):
        console.print(f"{label:>8}  {folder.path / name}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"{'report':>8}  pcpinn report {folder.path}", markup=False, highlight=False, soft_wrap=True)
    if as_json:
        table: list[dict[str, Any]] = []
        for s in summaries:
            means = {m: s.mean(m) for m in (*METRICS, "total_s")}
            table.append(
                {
                    "problem": s.problem, "method": s.method, "preset": s.preset, "changes": s.changes,
                    "kind": s.kind, "trials": len(s.rows), "finished": len(s.finished), "paper_over_ours": gain(s),
                    **{m: v and {"mean": v.mean, "std": v.std} for m, v in means.items()},
                }
            )  # fmt: skip
        tables = [{"title": s.title, "columns": sweep_header(s), "lines": sweep_lines(s)} for s in found]
        finished = sum(r.finished for r in rows.values())
        summary = {"folder": str(folder.path), "runs": len(rows), "finished": finished, "failed": len(failures)}
        print(json.dumps({**summary, "table": table, "sweeps": tables}, allow_nan=False))
