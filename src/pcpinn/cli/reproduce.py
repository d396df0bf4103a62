"""`pcpinn reproduce`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..errors import PcpinnError
from ..reproduce import ITEMS, Choice, Comparison, Found, Item, Sources
from ..reproduce.outputs import as_data, write_item
from ..reproduce.part import Part
from ..reproduce.work import Work, prepare
from ..solve.build import check_device
from .bench import names_of
from .bench_display import BenchProgress
from .display import standard_output_kept_clean
from .options import AsJson, Changes, pairs
from .output import working_progress
from .place import Cpus, Gpus, More, On, Partition, Python, Time, place_of

ALL = "all"
_WIDTH = 110  # columns


def reproduce(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID ...", help="table-2, figure-3a, ... or all; without any: the list of them."),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of runs, studies and what is written about them.")
    ] = Path("reproduce"),
    preset: Annotated[str, typer.Option(help="paper, default or quick; studies are small with quick.")] = "paper",
    seeds: Annotated[int | None, typer.Option(help="How many; by default as many as the paper takes.")] = None,
    seed: Annotated[int, typer.Option(help="The first seed.")] = 0,
    problems: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only these problems (or studies) of an item.")
    ] = None,
    methods: Annotated[str | None, typer.Option(metavar="A,B", help="Only these methods of an item.")] = None,
    changes: Changes = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Runs at a time; here 1 by default, and the cores are divided among them.")
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="Run those again that failed, or whose preset has changed.")
    ] = False,
    places: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="DIR",
            help="Run nothing: compare what is there (folder or rows as .csv); may be repeated.",
        ),
    ] = None,
    packed: Annotated[
        Path | None,
        typer.Option("--prepared", metavar="DIR", help="Folder of prepared problems, for a machine without a mesher."),
    ] = None,
    pack: Annotated[
        Path | None,
        typer.Option("--prepare", metavar="DIR", help="Run nothing: write the prepared problems that the IDs need."),
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
    """Make tables and figures of the paper again, beside the paper's, with a verdict; given again, go on where it stopped."""
    check_device(device)
    slurm = place_of(on, gpus, cpus, time, partition, more, python, jobs)
    if slurm is not None and places is not None:
        raise PcpinnError("--from runs nothing", "leave --on slurm out")
    if places is not None and packed is not None:
        raise PcpinnError("--from runs nothing", "leave --prepared out")
    choice = Choice(
        preset, seeds, seed, names_of(problems, "problems"), names_of(methods, "methods"), tuple(pairs(changes).items())
    )
    items = _items(ids)
    if not items:
        if packed is not None or pack is not None:
            raise PcpinnError("no item is named", "name IDs, such as table-3, or all")
        _list(choice, _sources(out, places), as_json)
        return
    wanted = {item.name: item.parts(choice) for item in items}  # refuses before anything runs
    if pack is not None:
        if places is not None or packed is not None or slurm is not None:
            raise PcpinnError("--prepare runs nothing", "leave --prepared, --from and --on out")
        with standard_output_kept_clean():
            files = prepare([p for parts in wanted.values() for p in parts], pack)
        print("\n".join(map(str, files)) if files else f"all of it is in {pack}")
        return
    failures: dict[str, str] = {}
    if places is None:
        here = 1 if jobs is None or slurm is not None else jobs
        work = Work(out, device, here, retry, slurm=slurm, prepared=packed)
        failures = _carry_out(work, [p for parts in wanted.values() for p in parts], out)
    sources = _sources(out, places)
    shown = []
    for item in items:
        found = Found(choice, wanted[item.name], sources)
        comparison = item.compare(found)
        written = write_item(item, found, comparison, out) if places is None else []
        _show(item, comparison, written, as_json)
        shown.append(as_data(item, comparison))
    _conclude(failures, shown, out, as_json)


def _items(ids: list[str] | None) -> list[Item]:
    if ids and ALL in ids:
        return list(ITEMS)
    return [ITEMS.find(name) for name in dict.fromkeys(ids or ())]


def _sources(out: Path, places: list[Path] | None) -> Sources:
    return Sources.read(places if places is not None else [out] if out.exists() else [])


def _carry_out(work: Work, parts: list[Part], out: Path) -> dict[str, str]:
    """Run what is lacking; returns what failed."""
    console = Console(stderr=True)
    watch = BenchProgress(console)
    try:
        with standard_output_kept_clean(), working_progress() as progress:
            return replace(work, watch=watch, progress=progress).carry_out(parts).failures
    except KeyboardInterrupt:
        console.print(f"interrupted; the same command goes on in {out}", markup=False)
        raise typer.Exit(130) from None
    finally:
        watch.close()


def _show(item: Item, comparison: Comparison, written: list[Path], as_json: bool) -> None:
    """The table, what the paper says, the verdict."""
    console = _wide_console(as_json)
    table = Table(box=box.SIMPLE_HEAD, title=escape(f"{item.name}: {item.title}"), pad_edge=False, padding=(0, 1, 0, 0))
    for k, name in enumerate((*comparison.header, "verdict")):
        table.add_column(escape(name), no_wrap=k == 0, overflow="fold")
    for line in comparison.lines:
        table.add_row(*map(escape, (*line.cells, line.verdict)))
    console.print(table)
    said = (f"  {' '.join(line.cells[:2])}: {line.verdict}: {line.why}" for line in comparison.lines if line.why)
    for text in dict.fromkeys(said):  # four errors of a run have one reason
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    console.print(f"The paper: {item.statement}", markup=False, highlight=False, soft_wrap=True)
    for note in comparison.notes:
        console.print(f"  {note}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"Verdict: {comparison.status}", style="bold", markup=False, highlight=False, soft_wrap=True)
    for path in written:
        console.print(f"    {path}", markup=False, highlight=False, soft_wrap=True)


def _wide_console(as_json: bool) -> Console:
    """At least as wide as the tables of `pcpinn bench`; on standard error where JSON has the other."""
    usual = Console(stderr=as_json)
    return usual if usual.width >= _WIDTH else Console(stderr=as_json, width=_WIDTH)


def _list(choice: Choice, sources: Sources, as_json: bool) -> None:
    """All IDs with what is there of them."""
    table = Table(box=box.SIMPLE_HEAD, title=f"the paper's items, preset {choice.preset}", pad_edge=False)
    for name in ("ID", "what it shows", "status"):
        table.add_column(name, overflow="fold")
    rows = []
    for item in ITEMS:
        comparison = item.compare(Found(choice, item.parts(choice), sources))
        table.add_row(item.name, escape(item.title), comparison.status)
        rows.append({"id": item.name, "title": item.title, "verdict": comparison.verdict, "status": comparison.status})
    _wide_console(as_json).print(table)
    if as_json:
        print(json.dumps({"preset": choice.preset, "items": rows}, allow_nan=False))


def _conclude(failures: dict[str, str], shown: list[dict[str, Any]], out: Path, as_json: bool) -> None:
    console = Console(stderr=as_json)
    for key, reason in failures.items():
        console.print(f"failed  {key}: {reason}", markup=False, highlight=False, soft_wrap=True)
    if failures:
        console.print("run them again with --retry")
    if as_json:
        print(json.dumps({"folder": str(out), "failed": failures, "items": shown}, allow_nan=False))
    if failures:
        raise typer.Exit(1)
