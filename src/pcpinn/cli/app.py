"""The commands of `pcpinn`."""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from pcpinn_command import SETTINGS

from ..catalog.entry import ACCURACY
from ..catalog.family_task import family_of_run, find_any_task
from ..catalog.inverse_task import inverse_of_run
from ..catalog.prepared import SUFFIX, read_prepared, write_prepared
from ..catalog.task import AnyTask, Task, catalog_task, find_task, task_of_run
from ..errors import PcpinnError, PcpinnWarning
from ..interrupt import exit_code, raise_terminated
from ..solution.folder import read_run, require_free
from ..solution.over_time import FPS, FRAMES
from ..solution.reference import Reference
from ..solution.verdict import USUAL_ACCURACY
from ..solve.method import METHODS
from ..team import end_member
from .bench import bench_app, report
from .conclude import answers, carry_out, conclude, say_interrupted
from .condition import condition
from .display import standard_output_kept_clean
from .doctor import doctor
from .export import export
from .infer import infer
from .list import list_problems
from .options import (
    AsJson,
    At,
    Changes,
    Force,
    Memory,
    RunFolder,
    answer_at,
    changes_with,
    free_folder,
    movie_path,
    pairs,
    run_name,
)
from .output import OUTPUT, Output, common_first, errors_to_log, options, working_progress
from .reference import reference_app
from .reproduce import reproduce
from .settings import settings
from .show import show
from .study import study
from .tables import read_points, write_values
from .together import member_of_team, same_for_all, started_by_torchrun


class Commands(TyperGroup):
    """All commands; interrupts end in one line and with a code that tells which it was."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: D102
        return super().parse_args(ctx, common_first(args))

    def invoke(self, ctx: Any) -> Any:  # noqa: D102
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            say_interrupted(interrupt, "")
            raise typer.Exit(exit_code(interrupt)) from None
        except typer.Exit as stop:  # a command has said it
            if isinstance(stop.__context__, KeyboardInterrupt):
                stop.exit_code = exit_code(stop.__context__)
            raise


app = typer.Typer(cls=Commands, **SETTINGS)
app.add_typer(reference_app, name="reference")
app.callback()(options)
ProblemFile = Annotated[
    Path | None, typer.Option("--problem", help="The .py file of a run or prepared problem that came from one.")
]
PublishedFolder = Annotated[
    Path | None,
    typer.Option("--reference", metavar="DIR", help="Compare with PINNacle's published data (.dat) in a folder, too."),
]


@app.command()
def solve(
    name: Annotated[
        str, typer.Argument(metavar="NAME_OR_FILE.py", help="A problem of the catalog, or a file that defines one.")
    ],
    preset: Annotated[
        str | None,
        typer.Option(help="quick, default, paper or precise; of a catalog problem default, if no accuracy is asked."),
    ] = None,
    accuracy: Annotated[
        float | None,
        typer.Option(help=f"Relative L2 error to reach; {USUAL_ACCURACY:g} for a file without a preset."),
    ] = None,
    method: Annotated[
        str, typer.Option(help="pcpinn, fem-fit, or a baseline: pinn, lra, ... (docs/baselines.md).")
    ] = "pcpinn",
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all random numbers.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the run; must not exist yet.")] = None,
    problem: ProblemFile = None,
    published: PublishedFolder = None,
    changes: Changes = None,
    memory: Memory = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Solve a problem and record the run."""
    changed = changes_with(changes, device=device, seed=seed, accuracy=accuracy, memory=memory, force=force or None)
    with answers(as_json), standard_output_kept_clean():
        if name.endswith(SUFFIX):
            task: AnyTask = read_prepared(Path(name), changed, problem, method)
        else:
            task = find_any_task(name, preset or _usual_preset(name, method, changed), changed, method)
        if published is not None:
            if not isinstance(task, Task):
                raise PcpinnError("published data are of single problems", "leave --reference out")
            task = task.compared_with(published)
        how = () if task.record["preset"] == ACCURACY else (task.record["preset"],)
        folder = same_for_all(out or free_folder(Path("runs") / run_name(task.record["problem"], *how)))
        require_free(folder)
        solution = carry_out(task, folder, resume=False)
    conclude(solution, folder, as_json)


def _usual_preset(name: str, method: str, changes: Mapping[str, Any]) -> str:
    """What holds where no preset is named: an accuracy for files, or if one is asked for; else default."""
    open_ = "accuracy" in changes or name.endswith(".py")
    return ACCURACY if open_ and method == "pcpinn" else "default"


@app.command()
def prepare(
    name: Annotated[str, typer.Argument(metavar="NAME_OR_FILE.py", help="A problem of the catalog, or a file.")],
    out: Annotated[Path, typer.Option(help=f"File to write; ends in {SUFFIX}.")],
    preset: Annotated[
        str | None, typer.Option(help="quick, default, paper or precise; default if no accuracy is asked.")
    ] = None,
    accuracy: Annotated[
        float | None, typer.Option(help="Relative L2 error to reach there, from a coarse mesh.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="Whose presets and mesh: pcpinn, or a baseline (then for all baselines).")
    ] = "pcpinn",
    changes: Changes = None,
) -> None:
    """Pack mesh, settings and reference of a problem for a machine without a mesher: solve it there with the file."""
    if out.suffix != SUFFIX:
        raise PcpinnError(f"{out} does not end in {SUFFIX}", f"write --out {out.with_suffix(SUFFIX)}")
    with standard_output_kept_clean():
        changed = changes_with(changes, accuracy=accuracy)
        usual = ACCURACY if "accuracy" in changed else "default"
        write_prepared(find_any_task(name, preset or usual, changed, method), out)
    print(out)


@app.command()
def resume(
    folder: RunFolder,
    problem: ProblemFile = None,
    published: PublishedFolder = None,
    changes: Changes = None,
    as_json: AsJson = False,
) -> None:
    """Continue an interrupted run (or, with --set iterations=N, a finished one)."""
    record = read_run(folder)
    inverse = record.get("method") == "infer" or (folder / "data.safetensors").exists()
    with answers(as_json), standard_output_kept_clean():
        if str(record.get("kind")).startswith("family"):
            task: AnyTask = family_of_run(folder, problem, pairs(changes))
        elif inverse:
            task = inverse_of_run(folder, problem, pairs(changes))
        else:
            task = task_of_run(folder, problem, pairs(changes), published)
        solution = carry_out(task, folder, resume=True)
    conclude(solution, folder, as_json)


@app.command()
def plot(
    folder: RunFolder,
    out: Annotated[
        Path | None, typer.Option(help="File to write: .png, .pdf, .svg; .gif, .mp4 with --animate.")
    ] = None,
    animate: Annotated[bool, typer.Option("--animate", help="Film a solution over time.")] = False,
    frames: Annotated[int | None, typer.Option(help=f"Number of frames; {FRAMES} by default.")] = None,
    fps: Annotated[float | None, typer.Option(help=f"Frames per second; {FPS:g} by default.")] = None,
    field: Annotated[
        str | None, typer.Option(help="Film only this field or component (u, v1); by default all.")
    ] = None,
    kind: Annotated[str | None, typer.Option("--format", help="gif, or mp4 (needs ffmpeg).")] = None,
    at: At = None,
) -> None:
    """Draw the solution of a run, or film it."""
    options = {k: v for k, v in (("frames", frames), ("fps", fps), ("field", field)) if v is not None}
    if not animate:
        if options or kind is not None:
            raise PcpinnError(f"--{next(iter(options), 'format')} is for moving pictures", "add --animate")
        print(answer_at(folder, at).plot(out or folder / "solution.png", _reference_of(folder, None)))
        return
    path = movie_path(folder, out, kind)
    with working_progress() as progress:
        answer_at(folder, at).animate(path, **options, progress=progress)
    print(path)


@app.command()
def evaluate(
    folder: RunFolder,
    points: Annotated[Path, typer.Option(help="CSV file with one point per line.")],
    out: Annotated[Path | None, typer.Option(help="CSV file to write; standard output by default.")] = None,
    at: At = None,
) -> None:
    """Evaluate the solution of a run at points."""
    solution = answer_at(folder, at)
    x = read_points(points, solution.mesh.dimension)
    write_values(solution, x, out)


app.command("list")(list_problems)
app.command()(export)
app.command()(show)
app.command()(settings)
app.command()(condition)
app.command()(doctor)
app.command()(infer)
app.add_typer(bench_app, name="bench")
app.command()(report)
app.command()(study)
app.command()(reproduce)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; refused input ends with one message and code 2."""
    try:
        _run(arguments)
    except SystemExit as end:
        if started_by_torchrun() and isinstance(end.code, int | None):
            end_member(end.code or 0)
        raise


def _run(arguments: list[str] | None) -> None:
    console = Console(stderr=True)
    token = OUTPUT.set(Output())
    usual, before = warnings.showwarning, signal.signal(signal.SIGTERM, raise_terminated)
    warnings.showwarning = _one_line_warnings(console)
    try:
        with member_of_team(sys.argv[1:] if arguments is None else arguments):
            app(args=arguments, standalone_mode=True)
    except PcpinnError as error:
        console.print(f"[bold red]error:[/] {_escape(error.problem)}", soft_wrap=True)
        if error.remedy:
            console.print(f"  -> {_escape(error.remedy)}", soft_wrap=True)
        errors_to_log(f"error: {error.problem}\n  -> {error.remedy}")
        sys.exit(2)
    except KeyboardInterrupt as interrupt:
        sys.exit(exit_code(interrupt))
    except BrokenPipeError:
        sys.exit(1)
    finally:
        warnings.showwarning = usual
        signal.signal(signal.SIGTERM, before)
        OUTPUT.reset(token)


def _reference_of(folder: Path, problem: Path | None) -> Reference | None:
    """The reference of a recorded run, where it can be had without running code that the folder names."""
    record = read_run(folder)
    source = record.get("source") or {}
    if source.get("kind") == "catalog":
        method = str(record.get("method"))
        return catalog_task(
            str(source.get("name")),
            str(record.get("preset")),
            record.get("problem_parameters") or {},
            method=method if method in METHODS else "pcpinn",
        ).reference
    return find_task(str(problem), "default", {}).reference if problem is not None else None


def _one_line_warnings(console: Console) -> Any:
    """Our warnings as one line; others as usual."""
    usual = warnings.showwarning

    def show_one(
        message: Any, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
    ) -> None:
        if issubclass(category, PcpinnWarning):
            console.print(f"[yellow]warning:[/] {_escape(str(message))}", soft_wrap=True)
        else:
            usual(message, category, filename, lineno, file, line)

    return show_one


def _escape(text: str) -> str:
    return text.replace("[", r"\[")
