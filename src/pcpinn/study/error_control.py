"""Study error-control: loss against error along training, for several drop tolerances, with the bound of the corollary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..catalog import find_entry
from ..condition.ntk import inverse_norm_of
from ..discretize.system import LinearSystem, linear_system
from ..solve.build import make_discretisation, make_mesh, make_network
from ..solve.loss import preconditioned_loss
from ..solve.settings import Settings
from ..train import LeastSquares
from .follow import follow, logarithmic_marks
from .study import STUDIES, Context, Data, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KNOWN = 1e-4  # relative: how well ||A^-1 P|| is known


def compute(context: Context) -> Data:
    """Train once per drop tolerance, and once without preconditioner."""
    sizes, entry = context.sizes, find_entry("poisson2d-c")
    parameters, settings = entry.resolve("paper", {})
    settings = settings.updated(
        {
            "size": sizes["mesh_size"],
            "iterations": sizes["iterations"],
            "seed": context.seed,
            "device": context.device.type,
            "precision": "float64",
            "width": sizes["width"],
        }
    )
    problem = entry.problem(**parameters)
    mesh = make_mesh(problem, settings)
    system = linear_system(make_discretisation(problem, mesh, settings))
    rows: list[dict[str, Any]] = []
    history: list[dict[str, Any]] = []
    cases: list[tuple[str, dict[str, Any]]] = [("none", {"preconditioner": "none"})]
    cases += [(f"{d:g}", {"preconditioner": "ilu", "drop_tolerance": d}) for d in sizes["drop_tolerances"]]
    for label, changes in cases:
        chosen = settings.updated(changes)
        loss = preconditioned_loss(system, make_network(problem, mesh, chosen), chosen)
        row, points = _followed(label, loss, system, chosen, context)
        rows.append(row)
        history += points
    holds = all(row["largest_share_of_bound"] <= 1 + _KNOWN for row in rows)
    return {"rows": rows, "history": history, "summary": {"bound_holds": holds, "unknowns": system.size}}


def _followed(
    label: str, loss: LeastSquares, system: LinearSystem, settings: Settings, context: Context
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """One training: its row of the table and its history."""
    inverse_norm = inverse_norm_of(loss.operator)  # type: ignore[arg-type]
    root, u_h = loss.weights.sqrt(), torch.as_tensor(system.solution, device=context.device)
    size = float((root * u_h).norm())
    # cond = ||P^-1 b|| / ||u|| * ||A^-1 P||, and the loss is relative to ||P^-1 b||
    condition = loss.operator.target_norm / size * inverse_norm
    points: list[dict[str, Any]] = []

    def observe(iteration: int) -> None:
        residual = float(loss.residual().norm())
        error = float((root * (loss.unknowns() - u_h)).norm()) / size
        points.append({"drop_tolerance": label, "iteration": iteration, "residual": residual, "error": error})

    adam = settings.optimiser
    marks = logarithmic_marks(settings.optimiser.iterations, 60)
    follow(loss, adam, marks, observe, context.progress, f"drop tolerance {label}", context.seed)
    shares = [p["error"] / (condition * p["residual"]) for p in points if p["residual"] > 0]
    row = {
        "drop_tolerance": label,
        "condition": condition,
        "inverse_norm": inverse_norm,
        "residual": points[-1]["residual"],
        "error": points[-1]["error"],
        "largest_share_of_bound": max(shares),
        "smallest_share_of_bound": min(shares),
    }
    return row, points


def words(data: Data) -> list[str]:
    """Whether the bound holds, and what each tolerance reached."""
    lines = [
        "The bound error <= cond * relative residual "
        + ("holds at every point of every training." if data["summary"]["bound_holds"] else "is violated.")
    ]
    for row in data["rows"]:
        name = "no preconditioner" if row["drop_tolerance"] == "none" else f"drop tolerance {row['drop_tolerance']}"
        lines.append(
            f"{name}: cond {row['condition']:.3g}, final relative residual {row['residual']:.2e}, error {row['error']:.2e}; "
            f"the error is between {row['smallest_share_of_bound']:.1e} and {row['largest_share_of_bound']:.1e} of its bound."
        )
    return lines


def draw(data: Data) -> Figure:
    """Loss against error with bounds, and the histories."""
    from matplotlib import colormaps

    from ..bench.graphics import new_figure

    figure = new_figure(9.0, 3.6)
    left, right = figure.subplots(1, 2)
    rows = data["rows"]
    for k, row in enumerate(rows):
        points = [h for h in data["history"] if h["drop_tolerance"] == row["drop_tolerance"]]
        none = row["drop_tolerance"] == "none"
        shade = "#6b7280" if none else colormaps["viridis"](0.85 * k / max(1, len(rows) - 1))
        residuals = [p["residual"] for p in points]
        label = ("none" if none else f"drop {row['drop_tolerance']}") + f", cond {row['condition']:.3g}"
        left.plot(residuals, [p["error"] for p in points], ".-", color=shade, ms=3, lw=0.8, label=label)
        ends = [min(residuals), max(residuals)]
        left.plot(ends, [row["condition"] * r for r in ends], "--", color=shade, lw=0.8)
        later = points[1:]
        right.plot([p["iteration"] for p in later], [p["error"] for p in later], "--" if none else "-", color=shade)
    left.set(xscale="log", yscale="log", xlabel="relative residual sqrt(loss)", ylabel="error (dashed: its bound)")
    left.set_title("loss against error")
    right.set(xscale="log", yscale="log", xlabel="iteration", ylabel="error", title="convergence")
    left.legend(fontsize=7)
    return figure


STUDY = Study(
    "error-control",
    "What the loss says about the error: preconditioners of several precisions",
    "error <= (cond + alpha) sqrt(loss) / ||f||, alpha vanishing with the loss; with a preconditioner cond becomes "
    "||P^-1 b|| / ||u|| ||A^-1 P||, nearly 1 for a precise one. Finer drop tolerances converge faster and further; without a "
    "preconditioner the error stays large (its figure on preconditioner precision, Poisson problems).",
    {"mesh_size": 0.025, "iterations": 2500, "width": 32, "drop_tolerances": (1e-1, 1e-2, 1e-3, 1e-4)},
    {"mesh_size": 0.01, "iterations": 20_000, "width": 64, "drop_tolerances": (1e-1, 1e-2, 1e-3, 1e-4)},
    compute,
    words,
    draw,
    order=30,
)
STUDIES.register(STUDY)
