"""Problems that are marched, as one problem over all of time: their operator, and their solution step by step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from ..discretize.equation import Matrix
from ..discretize.in_time import Simplices, Slabs
from ..discretize.linear_solves import Factors
from ..discretize.newton import Solve, newton
from ..discretize.slabs import TimeSlabs
from ..discretize.step_scheme import Layers, step_scheme
from ..discretize.time_orders import time_orders
from ..discretize.window import MarchSpace, Window
from ..errors import PcpinnError
from ..mesh.meshing import Differences, Meshing
from ..problem.conditions import Initial
from ..problem.problem import Problem
from ..problem.shape_base import SpaceTime
from ..solve.march.recipe import March
from ..solve.settings import Settings

_AS_SLABS = {  # scheme and order
    "euler": ("radau", 1),
    "crank-nicolson": ("gauss", 1),
    "bdf2": ("radau", 2),
    "second-difference": ("radau", 1),
}
_CELLS = {1: 200, 2: 50, 3: 20}  # along each axis of a box, for finite differences
_STEPS, _TOLERANCE = 30, 1e-9


def over_all_time(problem: Problem, settings: Settings) -> tuple[Problem, Settings]:
    """Settings that make one system of all of time; fields without a rate get an initial value, which nothing depends on."""
    changes: dict[str, Any] = {"iterations": max(1, settings.optimiser.iterations)}
    time, mesh = settings.time, settings.mesh
    if isinstance(time, March):
        scheme, order = _AS_SLABS.get(time.scheme, (time.scheme, time.order))
        changes["time"] = Slabs(time.steps, scheme, order, time.halvings)  # type: ignore[arg-type]
    if isinstance(mesh, Differences) and mesh.cells is None and mesh.size is None:
        count = _CELLS[min(problem.domain.dimension, 3)]
        changes["cells"] = (count,) * (problem.domain.dimension - isinstance(problem.domain, SpaceTime))
        if time is not None and time.steps is None:
            changes["steps"] = count
    settings = settings.updated(changes)
    stepped = isinstance(settings.time, Slabs) and settings.time.scheme != "galerkin"
    if stepped and "initial" in problem.conditions:
        given = dict(problem.conditions["initial"])
        for f in problem.unknowns:
            given.setdefault(f.name, Initial(0.0 if f.components == 1 else [0.0] * f.components))
        problem = replace(problem, boundary={**problem.conditions, "initial": given})
    return problem, settings


def by_differences(settings: Settings) -> Settings:
    """The same grid by finite differences, with time as a coordinate."""
    changes: dict[str, Any] = {"mesh": Differences(settings.mesh.size, settings.mesh.cells)}
    if settings.time is not None:
        changes["time"] = Simplices(settings.time.steps)
    return settings.updated(changes)


def by_elements(settings: Settings) -> Settings:
    """The same grid by finite elements."""
    if isinstance(settings.mesh, Differences):
        return settings.updated({"mesh": Meshing(settings.mesh.size, settings.mesh.cells)})
    return settings


def solve_in_steps(slabs: TimeSlabs, degree: int, quadrature: int | None = None) -> np.ndarray:
    """The discrete solution (N,) of collocation in time, slab after slab by Newton's method with direct solves.

    Raises:
        PcpinnError: when a step does not converge.
    """
    times = slabs.mesh.times
    ends, element = (times[0], times[-1]), slabs.space.element
    space = MarchSpace(_of_evolving_fields(slabs), slabs.mesh.space, ends, degree, quadrature, element=element)
    scheme = step_scheme(slabs.scheme.name, slabs.scheme.order)
    known = space.initial_values()[None]
    layers = [known]
    for k in range(len(times) - 1):
        window = Window(space, Layers(scheme, times[k : k + 2], k == 0), known)
        U = _solve_window(window, known[-1:].repeat(scheme.order, 1), float(times[k + 1]))
        layers.append(U)
        known = U[-1:]
    return torch.cat(layers).numpy().ravel()


def _of_evolving_fields(slabs: TimeSlabs) -> Problem:
    """The problem without the initial values that slabs need and a march does not: of fields without a rate."""
    problem, orders = slabs.problem, time_orders(slabs.problem, slabs.sample_points())
    given = {name: c for name, c in problem.conditions["initial"].items() if orders.of[name]}
    return replace(problem, boundary={**problem.conditions, "initial": given})


def _solve_window(window: Window, U: torch.Tensor, t: float) -> torch.Tensor:
    """Damped Newton with direct solves."""
    refusal = PcpinnError(f"the step to t = {t:g} is singular", "check the conditions")

    def invert(matrix: Matrix[torch.Tensor]) -> Solve[torch.Tensor]:
        factors = Factors(matrix.to_scipy(), refusal)
        return lambda R: torch.from_numpy(factors.apply(R.numpy().ravel())).reshape(R.shape)

    found = newton(window, U, invert, _TOLERANCE, _STEPS)
    if not found.converged:
        raise PcpinnError(f"Newton's method failed in the step to t = {t:g}", "take shorter steps (more steps)")
    return found.u
