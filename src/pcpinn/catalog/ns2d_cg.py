"""ns2d-cg: flow over a step, in at the left, out at the right."""

from __future__ import annotations

from functools import partial

import torch

from ..problem.conditions import Dirichlet, Neumann
from ..problem.problem import Problem
from ..problem.shapes import Polygon
from .entry import CATALOG, NEWTON_READINGS, PAPER, PAPER_READINGS, Entry
from .navier_stokes import FIELDS, convection, momentum_flux
from .reference_file import shipped_reference

_POINTS = ((0.0, 0.0), (4.0, 0.0), (4.0, 2.0), (2.0, 2.0), (2.0, 1.0), (0.0, 1.0))
_SIDES = ("walls", "outlet", "walls", "walls", "walls", "inlet")


def _inflow(x: torch.Tensor) -> torch.Tensor:
    return 4 * x[1] * (1 - x[1])


def problem(nu: float = 0.01) -> Problem:
    """(u . grad) u + grad p = nu Laplace u, div u = 0; u = (4 y (1 - y), 0) at x = 0, nu du/dn = p n at x = 4, else u = 0."""
    return Problem(
        Polygon(_POINTS, _SIDES),
        flux=momentum_flux(nu),
        source=convection,
        boundary={
            "inlet": {"u": Dirichlet((_inflow, 0.0)), "p": Neumann(0.0)},
            "outlet": {"u": Neumann(0.0), "p": Neumann(0.0)},
            "walls": {"u": Dirichlet(0.0), "p": Neumann(0.0)},
        },
        fields=FIELDS,
        name="ns2d-cg",
    )


# At the step's edge the pressure is as r^-0.46, the velocity as r^0.54.
_CORNERS = {"corners": ((2.0, 1.0),), "corner_size": 2e-3, "preconditioner": "ilu", "drop_tolerance": 1e-5}

ENTRY = Entry(
    name="ns2d-cg",
    title="Flow over a step, Reynolds number 100",
    equation="(u . grad) u + grad p = Laplace u / 100, div u = 0",
    domain="[0, 4] x [0, 2] minus [0, 2] x [1, 2]",
    conditions="u = (4 y (1 - y), 0) at x = 0, du/dn / 100 = p n at x = 4, u = 0 elsewhere",
    problem=problem,
    reference=partial(shipped_reference, "ns2d-cg"),
    presets={
        "quick": _CORNERS | {"size": 0.4, "degree": 3, "iterations": 40},
        "default": _CORNERS | {"size": 0.3, "degree": 4, "sample": 5000, "iterations": 80, "tolerance": 3e-4},
        "paper": PAPER | {"size": 0.05, "degree": 2, "drop_tolerance": 1e-4, "forcing": 0.0},
    },
    remark="The published data have an outlet that suppresses back-flow, which the stated equations have not. The paper trains "
    "1000 iterations in each of 20 Newton steps, on 2907 nodes.",
    deviations=(
        *PAPER_READINGS,
        *NEWTON_READINGS,
        "Taylor-Hood elements: the paper does not name its own, and equal degrees are not stable.",
        "A mesh of about the paper's 2907 nodes, whose file is not published.",
        "The outlet is the stated one, not that of the published data (see the remark).",
    ),
    suites=("nonlinear",),
    order=160,
)
CATALOG.register(ENTRY)
