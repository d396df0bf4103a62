"""Study ntk: the average convergence rate of the tangent kernel and its spectrum, with and without preconditioner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..catalog import find_entry
from ..condition.ntk import TangentKernel, inverse_norm_of, tangent_kernel
from ..discretize.discrete_equation import DiscreteEquation
from ..discretize.discretisation import check_functions
from ..discretize.nonlinear import linearised_system, solve_newton
from ..discretize.system import linear_part
from ..errors import PcpinnError
from ..solve.build import make_discretisation, make_mesh, make_network
from ..solve.loss import preconditioned_loss
from ..solve.settings import Settings
from ..train import LeastSquares
from .follow import follow, logarithmic_marks
from .study import STUDIES, Context, Data, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PARTS = (1e-2, 1e-4)
_KNOWN = 1e-4  # relative: how well ||A^-1 P|| is known


def compute(context: Context) -> Data:
    """The kernel at the start and along training by Adam, with P = I and with the preset's own P."""
    sizes, entry = context.sizes, find_entry(str(context.problem))
    parameters, settings = entry.resolve("quick", {})
    if settings.marches:
        raise PcpinnError(
            f"{entry.name} is solved step by step: it has one kernel per step", "take a problem that is solved at once"
        )
    changes = {"precision": "float64", "seed": context.seed, "device": context.device.type, "norm": "uniform"}
    settings = settings.updated({**changes, "width": sizes["width"], "depth": sizes["depth"], "optimiser": "adam"})
    problem = entry.problem(**parameters)
    mesh = make_mesh(problem, settings)
    discretisation = make_discretisation(problem, mesh, settings)
    linear = check_functions(discretisation)
    equation = DiscreteEquation(discretisation)
    system = linear_part(equation) if linear else linearised_system(equation, solve_newton(equation))
    rows: list[dict[str, Any]] = []
    spectra: list[dict[str, Any]] = []
    for label in ("none", "preconditioned"):
        chosen = settings.updated({"preconditioner": "none"}) if label == "none" else settings
        network = make_network(problem, mesh, chosen)
        loss = preconditioned_loss(system, network, chosen, rescale=False)
        _watch(label, loss, chosen, context, rows, spectra)
    holds = all(row["rate"] >= row["bound"] * (1 - 3 * _KNOWN) for row in rows)
    facts = {"unknowns": system.size, "parameters": network.parameter_count, "linear": linear, "bound_holds": holds}
    return {"rows": rows, "spectra": spectra, "summary": facts}


def _watch(
    label: str,
    loss: LeastSquares,
    settings: Settings,
    context: Context,
    rows: list[dict[str, Any]],
    spectra: list[dict[str, Any]],
) -> None:
    """Train, and add what the kernel says to the tables."""
    norm = inverse_norm_of(loss.operator)  # type: ignore[arg-type]
    marks = logarithmic_marks(context.sizes["iterations"], context.sizes["moments"])

    def observe(iteration: int) -> None:
        kernel = tangent_kernel(loss, norm)
        residual = float(loss.residual().norm())
        rows.append({"loss": label, "iteration": iteration, **_numbers(kernel), "residual": residual})
        if iteration in (0, marks[-1]):
            spectra.extend(
                {"loss": label, "iteration": iteration, "number": k + 1, "eigenvalue": float(v)}
                for k, v in enumerate(kernel.eigenvalues)
            )

    adam = settings.optimiser
    follow(loss, adam, marks, observe, context.progress, f"kernel, {label}", context.seed)


def _numbers(kernel: TangentKernel) -> dict[str, Any]:
    counts = {f"above_{part:g}": kernel.reached(part) for part in _PARTS}
    keys = ("rate", "bound", "largest", "balance", "network")
    return {**{k: v for k, v in kernel.to_dict().items() if k in keys}, **counts}


def words(data: Data) -> list[str]:
    """Rates, bounds and the share of directions that converge."""
    facts = data["summary"]
    lines = [
        f"{facts['unknowns']} degrees of freedom, {facts['parameters']} weights; the bound "
        + ("holds at every moment." if facts["bound_holds"] else "is violated.")
    ]
    for label, name in (("none", "without preconditioner"), ("preconditioned", "with preconditioner")):
        rows = [row for row in data["rows"] if row["loss"] == label]
        first, last = rows[0], rows[-1]
        lines.append(
            f"{name}: c = {first['rate']:.3g} at the start, {first['rate'] / first['bound']:.4g} times its bound; "
            f"{last['rate']:.3g} after {last['iteration']} iterations, {last['rate'] / last['bound']:.4g} times its bound; "
            f"{first['above_0.0001']} eigenvalues above 1e-4 of the largest at the start."
        )
    lines.append(
        "c by itself depends on the unit of the equations; the spectrum relative to its largest eigenvalue, which limits the "
        "step, does not."
    )
    return lines


def draw(data: Data) -> Figure:
    """Rates with bounds, and spectra."""
    from ..bench.graphics import METHOD_COLOURS, new_figure

    figure = new_figure(9.0, 3.4)
    left, right = figure.subplots(1, 2)
    for label, shade in (("none", METHOD_COLOURS["pinn"]), ("preconditioned", METHOD_COLOURS["pcpinn"])):
        rows = [row for row in data["rows"] if row["loss"] == label]
        at = [row["iteration"] + 1 for row in rows]
        left.plot(at, [row["rate"] for row in rows], color=shade, label=f"c, {label}")
        left.plot(at, [row["bound"] for row in rows], "--", color=shade, lw=0.9, label="its bound")
        for moment, line in ((rows[0]["iteration"], "-"), (rows[-1]["iteration"], ":")):
            values = [s["eigenvalue"] for s in data["spectra"] if (s["loss"], s["iteration"]) == (label, moment)]
            relative = [max(v / values[0], 1e-16) for v in values]
            right.plot(
                range(1, len(values) + 1), relative, line, color=shade, lw=1.1, label=f"{label}, iteration {moment}"
            )
    left.set(
        xscale="log", yscale="log", xlabel="iteration + 1", ylabel="average convergence rate", title=data["problem"]
    )
    right.set(xscale="log", yscale="log", xlabel="number", ylabel="eigenvalue / largest", title="spectrum of K")
    left.legend(fontsize=7)
    right.legend(fontsize=7)
    return figure


STUDY = Study(
    "ntk",
    "The neural tangent kernel with and without preconditioner",
    "the average convergence rate c = tr(K) / N is bounded from below by ||f||^2 / (||u||^2 |Omega|) / (cond^2 + alpha) times "
    "||du/dtheta||^2: a small condition number can greatly accelerate convergence.",
    {"width": 16, "depth": 2, "iterations": 500, "moments": 12},
    {"width": 64, "depth": 3, "iterations": 20_000, "moments": 30},
    compute,
    words,
    draw,
    problem="poisson2d-c",
    order=50,
)
STUDIES.register(STUDY)
