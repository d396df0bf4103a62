"""Figure 3b: how times grow with the mesh, relative to the smallest, mean and standard deviation over trials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..bench.table import mean_of
from ..study import Data
from .choice import Choice
from .compare import NOT_RUN, Comparison, Line, of_claim
from .found import Found
from .item import ITEMS, Item
from .part import Part, Studied
from .study_items import smaller

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRIALS = 5
WAYS = {"pcpinn": "PCPINN (Adam steps)", "ilu": "ILU", "pcg": "PCG"}
HEADER = ("degrees of freedom", *(f"{label}: time / smallest" for label in WAYS.values()), "trials")


def parts(choice: Choice) -> tuple[Part, ...]:
    """The study once per seed: each is timed anew."""
    seeds = range(choice.seed, choice.seed + choice.trials(TRIALS))
    return tuple(Studied("scaling", None, choice.full, choice.changes, seed) for seed in seeds)


def by_mesh(found: Found) -> list[list[dict[str, float]]]:
    """Rows of all trials, mesh by mesh; only trials of the same meshes count."""
    tables = [data["rows"] for data in found.studies("scaling")]
    same = [t for t in tables if [r["unknowns"] for r in t] == [r["unknowns"] for r in tables[0]]]
    return [list(rows) for rows in zip(*same, strict=True)]


def compare(found: Found) -> Comparison:
    """One line per mesh, then the powers."""
    meshes, studies = by_mesh(found), found.studies("scaling")
    lines = []
    for rows in meshes:
        cells = [f"{rows[0]['unknowns']}"]
        for way in WAYS:
            mean = mean_of(r[f"relative_{way}"] for r in rows)
            cells.append(
                "-" if mean is None else f"{mean.mean:.1f}" + (f" ± {mean.std:.2g}" if mean.std is not None else "")
            )
        lines.append(Line((*cells, str(len(rows))), ""))
    powers = {way: _power(studies, way) for way in WAYS}
    known = [p for p in powers.values() if p is not None]
    holds = powers["pcpinn"] == min(known) if len(known) == len(WAYS) else None
    shown = ["power of N", *(f"{p:.2f}" if p is not None else "-" for p in powers.values()), str(len(studies))]
    verdict = of_claim(holds) if studies else NOT_RUN
    lines.append(Line(tuple(shown), verdict, "" if holds is not False else "PCPINN does not grow the slowest"))
    notes = [
        "The paper shows a picture only: PCPINN grows the slowest, though in seconds it is the slowest of the three."
    ]
    off = [smaller(d) for d in studies if smaller(d)]
    return Comparison(HEADER, tuple(lines), (*notes, *off[:1]), found.done, found.planned, bool(off))


def _power(studies: list[Data], way: str) -> float | None:
    mean = mean_of(d["summary"]["exponents"][f"{way}_s"] for d in studies)
    return mean.mean if mean else None


def draw(found: Found) -> Figure | None:
    """Relative times with bars of one standard deviation."""
    from ..bench.graphics import METHOD_COLOURS, new_figure

    meshes = by_mesh(found)
    if not meshes:
        return None
    figure = new_figure(5.0, 3.4)
    ax = figure.subplots()
    shades = dict(zip(WAYS, (METHOD_COLOURS[m] for m in ("pcpinn", "pinn", "fem-fit")), strict=True))
    n = [rows[0]["unknowns"] for rows in meshes]
    for way, label in WAYS.items():
        means = [mean_of(r[f"relative_{way}"] for r in rows) for rows in meshes]
        spread = [m.std or 0.0 if m else 0.0 for m in means]
        ax.errorbar(n, [m.mean if m else float("nan") for m in means], spread, fmt="o-", color=shades[way], label=label)
    ax.set(xscale="log", yscale="log", xlabel="degrees of freedom", ylabel="time / time of the smallest mesh")
    ax.legend(fontsize=7)
    return figure


FIGURE_3B = ITEMS.register(
    Item(
        "figure-3b", "Growth of times with the mesh, poisson3d-cg",
        "relative to 8 000 nodes PCPINN grows far more slowly than ILU and preconditioned conjugate gradients.",
        parts, compare, draw, order=1032,
    )
)  # fmt: skip
