"""stokes-hole: slow flow around a hole for a force of 200 coefficients, as TensorPILS has it."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..family.family import Family
from ..family.functions import Basis
from ..family.parameters import Range
from ..problem.conditions import Dirichlet, Neumann, Pin
from ..problem.field import Local
from ..problem.problem import Problem
from ..problem.shapes import Disk, Rectangle
from .entry import FAMILIES, FamilyEntry
from .navier_stokes import FIELDS, momentum_flux
from .series import sines

_K = 10


def _sines(x: Tensor) -> Tensor:
    return sines(x, _K, 0.5)


def stokes(fx: object, fy: object) -> Problem:
    """-Laplace u + grad p = f, div u = 0; u = 0 on the square and on the hole."""
    assert callable(fx)
    assert callable(fy)
    still = {"u": Dirichlet(0.0), "p": Neumann(0.0)}

    def source(x: Tensor, u: Local, p: Local) -> tuple[Tensor, Tensor]:
        return -math.pi / _K**2 * torch.stack([fx(x), fy(x)]), u.grad[0, 0] + u.grad[1, 1]

    return Problem(
        Rectangle((0, 0), (1, 1), name="walls") - Disk((0.4, 0.5), 0.14, name="hole"),
        flux=momentum_flux(1.0),
        source=source,
        boundary={"walls": still, "hole": still},
        fields=FIELDS,
        pins=[Pin((0, 0), 0.0, field="p")],
        name="stokes-hole",
    )


_FORCE = Basis(_sines, Range(-1, 1, count=_K**2))

FAMILIES.register(
    FamilyEntry(
        name="stokes-hole",
        title="Slow flow in a square with a round hole for a force of 2 x 10 x 10 sines",
        equation="-Laplace u + grad p = f, div u = 0; f as the source of poisson-sources, one for each direction",
        domain="[0, 1]^2 minus the disk of radius 0.14 at (0.4, 0.5); 200 coefficients in [-1, 1]",
        conditions="u = 0 on the square and on the hole, p(0, 0) = 0",
        family=Family(stokes, fx=_FORCE, fy=_FORCE),
        fine={"size": 0.055, "degree": 7, "element": "lobatto"},
        queries={"quick": 6, "default": 100},
        presets={
            "quick": {
                "size": 0.12, "degree": 5, "element": "lobatto", "validation": 16, "iterations": 40, "time_limit": 20.0,
            },
            "default": {
                "size": 0.055, "degree": 6, "element": "lobatto", "loss": "superposed", "network": "trunk-branch",
                "width": 800, "depth": 1, "features": "none", "initialisation": "spread", "branch_depth": 0,
                "iterations": 300, "time_limit": 300.0,
            },
        },
        remark="TensorPILS (camlab-ethz/TensorPILS) has elements of degree 2 and 1 on 3998 nodes. "
        "u and p are linear in the coefficients, and so is the branch.",
        order=80,
    )
)  # fmt: skip
