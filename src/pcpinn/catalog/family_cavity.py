"""ns2d-c-lid: flow in a square cavity, for all speeds of its lid."""

from __future__ import annotations

from torch import Tensor

from ..family.family import Family
from ..family.parameters import Range
from ..problem.conditions import Dirichlet, Neumann, Pin
from ..problem.problem import Problem
from ..problem.shapes import Rectangle
from .entry import FAMILIES, FamilyEntry
from .navier_stokes import FIELDS, convection, momentum_flux


def cavity(a: Tensor) -> Problem:
    """(u . grad) u + grad p = Laplace u / 100, div u = 0; u = (a x (1 - x), 0) on the lid."""
    still = {"u": Dirichlet(0.0), "p": Neumann(0.0)}
    return Problem(
        Rectangle((0, 0), (1, 1)),
        flux=momentum_flux(0.01),
        source=convection,
        boundary={
            "left": still,
            "right": still,
            "bottom": still,
            "top": {"u": Dirichlet((lambda x: a * x[0] * (1 - x[0]), 0.0)), "p": Neumann(0.0)},
        },
        fields=FIELDS,
        pins=[Pin((0, 0), 0.0, field="p")],
        name="ns2d-c-lid",
    )


_CORNERS = ((0.0, 1.0), (1.0, 1.0))  # the pressure is singular there

FAMILIES.register(
    FamilyEntry(
        name="ns2d-c-lid",
        title="Flow in a square cavity driven by its lid, Reynolds numbers 50 to 800",
        equation="(u . grad) u + grad p = Laplace u / 100, div u = 0",
        domain="[0, 1]^2; a from 2 to 32, all magnitudes equally likely",
        conditions="u = (a x (1 - x), 0) on the lid y = 1, u = 0 on the other sides, p(0, 0) = 0",
        family=Family(cavity, a=Range(2, 32, log=True)),
        fine={"size": 0.1, "degree": 4, "corners": _CORNERS, "corner_size": 2e-3},
        queries={"quick": 10, "default": 24},
        presets={
            "quick": {
                "size": 0.3, "degree": 4, "corners": _CORNERS, "corner_size": 0.02, "loss": "spanned", "snapshots": 12,
                "samples": 4, "iterations": 60, "time_limit": 20.0,
            },
            "default": {
                "size": 0.12, "degree": 4, "corners": _CORNERS, "corner_size": 2e-3, "loss": "spanned", "snapshots": 16,
                "samples": 16, "iterations": 100, "time_limit": 300.0,
            },
        },
        remark="PINNacle's parametric set has a = 2, 4, 8, 16, 32; here one network has all of them. a = 4 is ns2d-c.",
        order=40,
    )
)  # fmt: skip
