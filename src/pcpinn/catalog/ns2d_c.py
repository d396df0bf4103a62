"""ns2d-c: flow in a square cavity, driven by its lid."""

from __future__ import annotations

from functools import partial

import torch

from ..problem.conditions import Dirichlet, Neumann, Pin
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from .entry import CATALOG, NEWTON_READINGS, PAPER, PAPER_READINGS, Entry
from .navier_stokes import FIELDS, convection, momentum_flux
from .reference_file import shipped_reference


def _lid(x: torch.Tensor) -> torch.Tensor:
    return 4 * x[0] * (1 - x[0])


def problem(nu: float = 0.01) -> Problem:
    """(u . grad) u + grad p = nu Laplace u, div u = 0; u = (4 x (1 - x), 0) on the lid, 0 on the walls; p(0, 0) = 0."""
    still = {"u": Dirichlet(0.0), "p": Neumann(0.0)}
    return Problem(
        Rectangle((0, 0), (1, 1)),
        flux=momentum_flux(nu),
        source=convection,
        boundary={
            "left": still,
            "right": still,
            "bottom": still,
            "top": {"u": Dirichlet((_lid, 0.0)), "p": Neumann(0.0)},
        },
        fields=FIELDS,
        pins=[Pin((0, 0), 0.0, field="p")],
        name="ns2d-c",
    )


# At the lid's ends the velocity is as r, its direction that of the walls, so the pressure is as log r.
_CORNERS = {"corners": ((0.0, 1.0), (1.0, 1.0)), "corner_size": 1e-3, "preconditioner": "ilu", "drop_tolerance": 1e-5}

ENTRY = Entry(
    name="ns2d-c",
    title="Flow in a square cavity driven by its lid, Reynolds number 100",
    equation="(u . grad) u + grad p = Laplace u / 100, div u = 0",
    domain="[0, 1]^2",
    conditions="u = (4 x (1 - x), 0) on the lid y = 1, u = 0 on the other sides, p(0, 0) = 0",
    problem=problem,
    reference=partial(shipped_reference, "ns2d-c"),
    presets={
        "quick": _CORNERS | {"size": 0.15, "degree": 3, "iterations": 40},
        "default": _CORNERS | {"size": 0.12, "degree": 4, "iterations": 120, "tolerance": 3e-4},
        "paper": PAPER | {"cells": (50, 50), "degree": 2, "drop_tolerance": 1e-4, "forcing": 0.0},
    },
    remark="The pressure has logarithmic singularities at the lid's ends. "
    "The paper trains 1000 iterations in each of 20 Newton steps, with Taylor-Hood elements on 50 x 50 cells.",
    deviations=(
        *PAPER_READINGS,
        *NEWTON_READINGS,
        "Taylor-Hood elements: the paper does not name its own, and equal degrees are not stable.",
    ),
    suites=("nonlinear",),
    order=150,
)
CATALOG.register(ENTRY)
