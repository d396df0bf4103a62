"""heat2d-cg: heat enters a plate through the rims of its holes."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..problem.conditions import Initial, Robin
from ..problem.problem import Problem
from ..problem.shapes import Disk, Rectangle, Shape
from .entry import CATALOG, PAPER3D, PAPER_READINGS, Entry
from .reference_file import shipped_reference

LOWER, UPPER = (-8.0, -12.0), (8.0, 12.0)
_CENTRES = [(x, y) for x in (-4.0, 4.0) for y in (-9.0, -3.0, 3.0, 9.0)] + [(0.0, y) for y in (-6.0, 0.0, 6.0)]
LARGE = tuple((x, y, 1.0) for x, y in _CENTRES)
SMALL = tuple((x, y, 0.4) for x in (-3.2, 3.2) for y in (-6.0, 0.0, 6.0))


def plate() -> Shape:
    """The rectangle without the disks; boundaries "outer", "large" and "small"."""
    holes = [Disk((x, y), r, name="large") for x, y, r in LARGE] + [Disk((x, y), r, name="small") for x, y, r in SMALL]
    return Rectangle(LOWER, UPPER, name="outer") - holes


def problem() -> Problem:
    """u_t - Laplace u = 0; du/dn = 5 - u, 1 - u, 0.1 - u on large holes, small holes and the rectangle."""
    return Problem(
        plate().over(0.0, 3.0),
        density=lambda x, u: u.value,
        flux=lambda x, u: u.grad,
        boundary={
            "large": Robin(1.0, 5.0),
            "small": Robin(1.0, 1.0),
            "outer": Robin(1.0, 0.1),
            "initial": Initial(0.0),
        },
        name="heat2d-cg",
    )


_OURS = {
    "degree": 3,
    "time": "slabs",
    "scheme": "radau",
    "order": 3,
    "features": "list",  # waves that fit the plate; none in time, where nothing oscillates
    "frequencies": ";".join(",".join(f"{k * np.pi / side:g}" for k in (1, 2, 4)) for side in (8, 12)) + ";",
}

ENTRY = Entry(
    name="heat2d-cg",
    title="Heat in a plate with seventeen holes",
    equation="u_t - Laplace u = 0",
    domain="[-8, 8] x [-12, 12] minus disks of radius 1 at (+-4, +-3), (+-4, +-9), (0, 0), (0, +-6) and of radius 0.4 at "
    "(+-3.2, 0), (+-3.2, +-6); 0 < t < 3",
    conditions="du/dn = 5 - u on the large disks, 1 - u on the small, 0.1 - u on the rectangle; u = 0 at t = 0",
    problem=problem,
    reference=partial(shipped_reference, "heat2d-cg"),
    presets={
        "quick": _OURS | {"size": 2.0, "curvature": 1.0, "steps": 6, "halvings": 6, "iterations": 40},
        "default": _OURS
        | {
            "size": 1.2,
            "curvature": 2.0,
            "steps": 10,
            "halvings": 7,
            "width": 64,
            "memory": 16.0,
            "iterations": 250,
            "time_limit": 75.0,
        },
        "paper": PAPER3D | {"size": 0.164, "steps": 19, "drop_tolerance": 1e-1},
    },
    remark="The data on the rims jump at t = 0. The paper's mesh of space-time has 255946 nodes; here it is a plane mesh, "
    "pulled through time, with about as many.",
    deviations=(
        *PAPER_READINGS,
        "A plane mesh pulled through time, of about the paper's 255946 nodes, whose file is not published.",
    ),
    suites=("linear",),
    order=80,
)
CATALOG.register(ENTRY)
