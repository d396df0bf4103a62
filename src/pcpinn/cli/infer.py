"""The command `pcpinn infer`: unknown coefficients from data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from ..catalog.inverse_task import InverseTask, find_inverse, inverse_of_run
from ..errors import PcpinnError
from ..invert.solution import InverseSolution
from ..solution.folder import read_run, require_free
from ..solve.method import INVERSE_METHODS
from .conclude import conclude, describe
from .display import number, run_table, standard_output_kept_clean, working_progress
from .options import AsJson, Changes, free_folder, pairs


def infer(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME_OR_FILE.py", help="poisson-inv, heat-inv, or a file that defines an inverse problem."
        ),
    ],
    data: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="Table of data: x, y, t, u, noise.")] = None,
    preset: Annotated[str, typer.Option(help="quick, default or paper.")] = "default",
    method: Annotated[str, typer.Option(help=f"{', '.join(INVERSE_METHODS.names())}.")] = "infer",
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of all random numbers, the noise of catalog data included.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the run; must not exist yet.")] = None,
    changes: Changes = None,
    as_json: AsJson = False,
) -> None:
    """Infer unknown coefficients from data and record the run."""
    options = {k: v for k, v in (("device", device), ("seed", seed)) if v is not None}
    with standard_output_kept_clean():
        task = find_inverse(name, preset, {**pairs(changes), **options}, data, method)
        folder = out or free_folder(Path("runs") / _folder_name(task, method))
        require_free(folder)
        solution = _carry_out(task, folder, resume=False)
    conclude(solution, folder, inverse_table(solution.result), as_json)


def resume_inverse(folder: Path, problem: Path | None, changes: dict[str, Any], as_json: bool) -> None:
    """Continue an interrupted inference.

    Raises:
        PcpinnError: for a run of another method, or anything else the user can correct.
    """
    method = read_run(folder).get("method")
    if method != "infer":
        raise PcpinnError(f"a run of method {method} cannot be resumed", "start it again in another folder")
    with standard_output_kept_clean():
        solution = _carry_out(inverse_of_run(folder, problem, changes), folder, resume=True)
    conclude(solution, folder, inverse_table(solution.result), as_json)


def _folder_name(task: InverseTask, method: str) -> str:
    name = f"{task.record['problem']}-{task.record['preset']}"
    return name if method == "infer" else f"{name}-{method}"


def _carry_out(task: InverseTask, folder: Path, resume: bool) -> InverseSolution:
    with working_progress() as progress:
        solution = task.run(folder, progress, resume)
    describe(solution, folder, task.truth)
    return solution


def inverse_table(result: dict[str, Any]) -> Table:
    """Errors, parameters, times and sizes."""
    errors, times, facts = result["errors"], result["time"], result["inverse"]
    table = run_table(result)
    if result["reference"] is not None:
        paper = result.get("paper_l2re")
        table.add_row(
            "error L2RE, all together", number(errors["l2re"]), f"paper {paper:.2e}" if paper else "", style="bold"
        )
        for name, parts in errors["field"].items():
            table.add_row(f"  of {escape(name)}", number(parts["l2re"]), "")
        if facts.get("expected_l2re") is not None:
            table.add_row(
                "  expected by the posterior", number(facts["expected_l2re"]), "what the noise leaves, root mean square"
            )
    if facts.get("converged") is False:
        table.add_row(
            "NOT CONVERGED",
            f"{facts['excess']:.1f}",
            "loss above that of the discrete answer: do not rely on the errors",
            style="red",
        )
    if errors["training"] is not None:
        table.add_row("training error", number(errors["training"]), "networks against the discrete answer")
    for name, values in facts["values"].items():
        spread = facts.get("std", {}).get(name)
        text = ", ".join(f"{v:.5g}" for v in values)
        table.add_row(escape(name), text, "" if spread is None else "+- " + ", ".join(f"{s:.2g}" for s in spread))
    misfit = ", ".join(f"{m:.3f}" for m in facts["misfit"])
    noise = ", ".join(f"{n:.3g}" for n in facts["noise"])
    table.add_row(
        "misfit", misfit, f"in units of the noise {noise}" + (" (estimated)" if facts["noise_estimated"] else "")
    )
    if facts.get("effective") is not None:
        table.add_row("determined by the data", f"{facts['effective']:.1f}", "degrees of freedom")
    table.add_row(
        "time", f"{times['total_s']:.1f} s", f"setup {times['setup_s']:.1f} s, training {times['train_s']:.1f} s"
    )
    table.add_row("iterations", str(result["iterations"]), f"{result['optimiser']}, stopped by {result['stopped_by']}")
    table.add_row("unknowns", str(result["dofs"]), f"{result['parameters']} weights, {facts['data']} data")
    p = result["preconditioner"]
    table.add_row(
        "preconditioner",
        p["name"],
        f"built {p.get('refreshes', 0)} times, at most {p.get('oldest', 0)} iterations old",
    )
    return table
