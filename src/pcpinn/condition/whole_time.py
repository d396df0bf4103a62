"""Problems that are marched, as one problem over all of time: their operator, and their solution step by step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from ..discretize.equation import Matrix
from ..discretize.linear_solves import Factors
from ..discretize.newton import Solve, newton
from ..discretize.slabs import TimeSlabs
from ..discretize.step_scheme import Layers, step_scheme
from ..discretize.window import MarchSpace, Window
from ..errors import PcpinnError
from ..problem.conditions import Dirichlet
from ..problem.problem import Problem
from ..problem.shape_base import SpaceTime
from ..solve.settings import Settings

_AS_SLABS: dict[str, dict[str, Any]] = {
    "euler": {"time_scheme": "radau", "time_order": 1},
    "crank-nicolson": {"time_scheme": "gauss", "time_order": 1},
    "bdf2": {"time_scheme": "radau", "time_order": 2},
}
_CELLS = {1: 200, 2: 50, 3: 20}  # along each axis of a box, for finite differences
_STEPS, _TOLERANCE = 30, 1e-9


def over_all_time(problem: Problem, settings: Settings) -> tuple[Problem, Settings]:
    """Settings that make one system of all of time; fields without a rate get an initial value, which nothing depends on."""
    changes: dict[str, Any] = {
        **_AS_SLABS.get(settings.time_scheme, {}),
        "march": 0,
        "iterations": max(1, settings.iterations),
    }
    if settings.discretisation == "fdm":
        changes |= {"time_scheme": "simplex", "time_halvings": 0}
        if settings.cells is None and settings.mesh_size is None:
            space = problem.domain.dimension - isinstance(problem.domain, SpaceTime)
            count = _CELLS[min(problem.domain.dimension, 3)]
            changes |= {"cells": (count,) * space}
            if isinstance(problem.domain, SpaceTime) and settings.time_cells is None:
                changes |= {"time_cells": count}
    settings = settings.updated(changes)
    if settings.time_scheme in ("radau", "gauss") and "initial" in problem.conditions:
        given = dict(problem.conditions["initial"])
        for f in problem.unknowns:
            given.setdefault(f.name, Dirichlet(0.0 if f.components == 1 else [0.0] * f.components))
        problem = replace(problem, boundary={**problem.conditions, "initial": given})
    return problem, settings


def solve_in_steps(slabs: TimeSlabs, degree: int, quadrature: int | None = None) -> np.ndarray:
    """The discrete solution (N,) of collocation in time, slab after slab by Newton's method with direct solves.

    Raises:
        PcpinnError: when a step does not converge.
    """
    times = slabs.mesh.times
    space = MarchSpace(slabs.problem, slabs.mesh.space, (times[0], times[-1]), degree, quadrature)
    scheme = step_scheme(slabs.scheme.name, slabs.scheme.order)
    known = space.initial_values()[None]
    layers = [known]
    for k in range(len(times) - 1):
        window = Window(space, Layers(scheme, times[k : k + 2], k == 0), known)
        U = _solve_window(window, known[-1:].repeat(scheme.order, 1), float(times[k + 1]))
        layers.append(U)
        known = U[-1:]
    return torch.cat(layers).numpy().ravel()


def _solve_window(window: Window, U: torch.Tensor, t: float) -> torch.Tensor:
    """Damped Newton with direct solves."""
    refusal = PcpinnError(f"the step to t = {t:g} is singular", "check the conditions")

    def invert(matrix: Matrix[torch.Tensor]) -> Solve[torch.Tensor]:
        factors = Factors(matrix.to_scipy(), refusal)
        return lambda R: torch.from_numpy(factors.apply(R.numpy().ravel())).reshape(R.shape)

    found = newton(window, U, invert, _TOLERANCE, _STEPS)
    if not found.converged:
        raise PcpinnError(f"Newton's method failed in the step to t = {t:g}", "take shorter steps (time_cells)")
    return found.u
