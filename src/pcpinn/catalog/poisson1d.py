"""poisson1d: the model problem of the paper's analysis."""

from __future__ import annotations

import numpy as np
import torch

from ..problem.conditions import Dirichlet
from ..problem.problem import Problem
from ..problem.shapes import Interval
from ..solution.reference import Reference
from .entry import CATALOG, PAPER, Entry


def problem(P: float) -> Problem:
    """-u'' = P^2 sin(P x) on (0, 2 pi / P)."""
    return Problem(
        Interval(0.0, 2 * np.pi / P, name="ends"),
        flux=lambda x, u: u.grad,
        source=lambda x, u: -(P**2) * torch.sin(P * x[0]),
        boundary={"ends": Dirichlet(0.0)},
        name="poisson1d",
    )


def reference(P: float) -> Reference:
    """u = sin(P x)."""
    x = np.linspace(0, 2 * np.pi / P, 501)[:, None]
    return Reference(x, np.sin(P * x), kind="exact", note="u = sin(P x)")


ENTRY = Entry(
    name="poisson1d",
    title="Poisson's equation on an interval, with a length set by P",
    equation="-u'' = P^2 sin(P x)",
    domain="0 < x < 2 pi / P",
    conditions="u = 0 at both ends",
    problem=problem,
    reference=reference,
    parameters={"P": 1.0},
    presets={
        "quick": {"cells": (20,), "degree": 3, "width": 12, "depth": 2, "iterations": 30},
        "default": {"cells": (50,), "degree": 4, "width": 16, "depth": 2, "iterations": 80},
        "paper": PAPER
        | {
            "mesh": "fdm",
            "cells": (100,),
            "width": 100,
            "depth": 5,
            "activation": "tanh",
            "initialisation": "glorot-normal",
            "features": "none",
            "beta1": 0.99,
        },
    },
    remark="Theory: ||F^-1|| = 4 / P^2. The paper trains no network on it; its preset takes the settings of its analysis.",
    order=10,
)
CATALOG.register(ENTRY)
