"""The table at the end of a run: errors, times and sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from ..catalog.published import paper_result
from ..solution.card import listed


def number(value: float | None) -> str:
    """Three digits, or a dash."""
    return "-" if value is None else f"{value:.2e}"


def run_table(result: dict[str, Any]) -> Table:
    """What came out of a run, of a problem or of an inverse one."""
    table = Table(
        box=box.SIMPLE_HEAD,
        title=f"{escape(str(result['problem']))}  ({result['preset'] or 'own'} preset, seed {result['seed']})",
    )
    table.add_column("what")
    table.add_column("value", justify="right")
    table.add_column("", style="dim", overflow="fold")
    (_add_inverse if "inverse" in result else _add_forward)(table, result)
    return table


def _add_forward(table: Table, result: dict[str, Any]) -> None:
    """Errors by part, times and sizes, beside the paper's figure."""
    errors = result["errors"]
    reference = result["reference"]
    if reference is not None:
        paper = paper_result(result["problem"])
        beside = f"paper {paper.mean:.2e}" if paper else ""
        table.add_row("error L2RE", number(errors["l2re"]), beside, style="bold")
        table.add_row("  of training", number(errors["training"]), "network against discrete solution")
        table.add_row("  of discretisation", number(errors["discretisation"]), "discrete solution against reference")
        table.add_row("  of the reference", number(reference["error"]), reference["kind"])
        table.add_row("error L1RE / max", f"{number(errors['l1re'])} / {number(errors['max'])}", "")
    else:
        table.add_row(
            "training error", number(errors["training"]), "network against discrete solution; no reference given"
        )
    published = result.get("published")
    if published is not None:
        table.add_row(
            "L2RE, published data",
            number(published["l2re"]),
            f"{escape(Path(published['file']).name)}, itself {number(published['distance'])} from an accurate solution",
        )
    if errors.get("estimate") is not None:
        certificate = result.get("certificate") or {"how": "finer discretisations"}
        table.add_row("error estimate", number(errors["estimate"]), f"without reference: {certificate['how']}")
    if "family" in result:
        _add_family(table, result["family"])
    _add_times(table, result)
    newton = result.get("newton")
    if newton is not None:
        last = next((c for c in reversed(newton["corrections"]) if c is not None), None)
        built = f"last correction {number(last)}, P built {newton['preconditioners_built']} times"
        table.add_row("Newton steps", str(newton["iterations"]), f"{newton['linearisation']}, {built}")
    marched = result.get("march")
    if marched is not None:
        each = f"{marched['scheme']}, {marched['newton_iterations']} Newton steps"
        table.add_row(
            "windows", str(marched["windows"]), f"{each}, residual at most {number(marched['largest_residual'])}"
        )
    table.add_row(
        "unknowns", str(result["dofs"]), f"{result['parameters']} weights" + (" per window" if marched else "")
    )
    if result.get("network_kind"):
        table.add_row("kind", result["network_kind"], "what the answer is made of")
    p = result["preconditioner"]
    table.add_row(
        "preconditioner",
        p["name"],
        (f"set up in {p['setup_s']:.2f} s" if "setup_s" in p else "")
        + (f", fill {p['fill']:.1f}" if "fill" in p else ""),
    )


def _add_family(table: Table, facts: dict[str, Any]) -> None:
    """Errors over parameters, by part."""
    for part, found in facts["errors"].items():
        text = f"mean {number(found['mean'])}, worst {number(found['worst'])}"
        table.add_row(f"  {part}, 95 %", number(found["p95"]), text)
    table.add_row("parameters", str(facts["count"]), escape(", ".join(facts["names"][:8])))


def _add_times(table: Table, result: dict[str, Any]) -> None:
    times = result["time"]
    table.add_row(
        "time", f"{times['total_s']:.1f} s", f"setup {times['setup_s']:.1f} s, training {times['train_s']:.1f} s"
    )
    table.add_row("iterations", str(result["iterations"]), f"{result['optimiser']}, stopped by {result['stopped_by']}")


def _add_inverse(table: Table, result: dict[str, Any]) -> None:
    """Errors, parameters, times and sizes."""
    errors, facts = result["errors"], result["inverse"]
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
            "loss above (below, if negative) that of the discrete answer: do not rely on the errors",
            style="red",
        )
    if errors["training"] is not None:
        table.add_row("training error", number(errors["training"]), "networks against the discrete answer")
    for name, values in facts["values"].items():
        spread = facts.get("std", {}).get(name)
        text = ", ".join(f"{v:.5g}" for v in listed(values))
        table.add_row(
            escape(name), text, "" if spread is None else "+- " + ", ".join(f"{s:.2g}" for s in listed(spread))
        )
    misfit = ", ".join(f"{m:.3f}" for m in facts["misfit"])
    noise = ", ".join(f"{n:.3g}" for n in facts["noise"])
    table.add_row(
        "misfit", misfit, f"in units of the noise {noise}" + (" (estimated)" if facts["noise_estimated"] else "")
    )
    if facts.get("noise_raised"):
        table.add_row(
            "NOISE RAISED", f"{facts['noise_raised']:.2g} times", "the data do not fit the noise given", style="red"
        )
    if facts.get("converged"):
        table.add_row("networks", "converged", "to the discrete answer; how far that may be off, std says")
    if facts.get("effective") is not None:
        table.add_row("determined by the data", f"{facts['effective']:.1f}", "degrees of freedom")
    _add_times(table, result)
    table.add_row("unknowns", str(result["dofs"]), f"{result['parameters']} weights, {facts['data']} data")
    p = result["preconditioner"]
    table.add_row(
        "preconditioner",
        p["name"],
        f"built {p.get('refreshes', 0)} times, at most {p.get('oldest', 0)} iterations old",
    )
