"""poisson2d-c: Laplace's equation on a square with four holes."""

from __future__ import annotations

from ..problem.conditions import Dirichlet
from ..problem.problem import Problem
from ..problem.shapes import Disk, Rectangle
from ..solution.reference import Reference
from .entry import CATALOG, LAST_LAYER, PAPER, PAPER_READINGS, Entry
from .evaluation import series_reference
from .screened_poisson import RectangleWithHoles, solve_screened_poisson

_DISKS = tuple((x, y, 0.1) for x in (-0.3, 0.3) for y in (-0.3, 0.3))
_LOWER, _UPPER = (-0.5, -0.5), (0.5, 0.5)


def problem() -> Problem:
    """-Laplace u = 0; u = 1 on the square, 0 on the holes."""
    return Problem(
        Rectangle(_LOWER, _UPPER, name="outer") - [Disk((x, y), r, name="holes") for x, y, r in _DISKS],
        flux=lambda x, u: u.grad,
        boundary={"outer": Dirichlet(1.0), "holes": Dirichlet(0.0)},
        name="poisson2d-c",
    )


def reference() -> Reference:
    """A series that solves the equation exactly; the maximum principle bounds its error by its boundary mismatch."""
    series = solve_screened_poisson(RectangleWithHoles(_LOWER, _UPPER, _DISKS), 0.0, 1.0, 0.0, level=6)
    return series_reference(series, "multipole series")


ENTRY = Entry(
    name="poisson2d-c",
    title="Laplace's equation on a square with four round holes",
    equation="-Laplace u = 0",
    domain="[-0.5, 0.5]^2 minus four disks of radius 0.1 at (+-0.3, +-0.3)",
    conditions="u = 1 on the square, u = 0 on the disks",
    problem=problem,
    reference=reference,
    presets={
        "quick": {"size": 0.05, "curvature": 3.0, "iterations": 25},
        "default": {
            "size": 0.05,
            "curvature": 5.0,
            "degree": 3,
            "preconditioner": "ilu",
            "drop_tolerance": 1e-5,
            "width": 32,
            "iterations": 200,
            "tolerance": 2e-5,
        },
        "paper": PAPER | {"size": 0.0091},
        "precise": LAST_LAYER
        | {
            "size": 0.1,
            "curvature": 8.0,
            "degree": 6,
            "corners": tuple(
                (x, y) for x, y, _ in _DISKS
            ),  # the solution goes on into the holes, as far as their middles
            "corner_size": 0.02,
            "waves": 700,
            "spread": 4.0,
        },
    },
    remark="The paper's mesh has 10602 nodes.",
    deviations=(
        *PAPER_READINGS,
        "A mesh of about the paper's 10602 nodes, whose file is not published.",
    ),
    suites=("linear",),
    order=20,
)
CATALOG.register(ENTRY)
