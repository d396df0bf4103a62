"""Settings of a discretisation that is small enough to be examined in seconds."""

from __future__ import annotations

from typing import Any

from ..discretize.in_time import Slabs
from ..mesh.mesh import Mesh
from ..mesh.slab_mesh import SlabMesh
from ..problem.problem import Problem
from ..problem.shape_base import SpaceTime
from ..solve.build import make_discretisation, make_mesh
from ..solve.march.recipe import March
from ..solve.settings import Settings
from .whole_time import by_differences, by_elements, over_all_time

MOST_UNKNOWNS = {1: 100_000, 2: 60_000, 3: 25_000}
_MOST_IN_TIME = 40_000
_ROUNDS = 6
_FIRST = 4  # steps of a march


def affordable(
    problem: Problem, settings: Settings, method: str = "fem", most: int | None = None, size: int | None = None
) -> tuple[Settings, str]:
    """The settings, coarser where they would make too many degrees of freedom; and a note that says so, or nothing.

    ||F^-1|| belongs to smooth functions, as a rule, and is the same on coarser meshes to a few digits. A user's own mesh is
    taken as it is.

    Args:
        problem, settings, method: as of `condition_number`.
        most: degrees of freedom; by default what takes seconds.
        size: degrees of freedom that the settings make, if they are counted already.
    """
    settings = by_differences(settings) if method == "fdm" else by_elements(settings)
    stepped = isinstance(settings.time, Slabs | March)
    limit = most or (_MOST_IN_TIME if stepped else MOST_UNKNOWNS[problem.domain.dimension])
    whole, first = over_all_time(problem, settings)
    if isinstance(problem.domain, Mesh):
        return settings, ""
    size = begun = size or unknowns(whole, first)
    current = first
    for _ in range(_ROUNDS):
        if size <= limit:
            break
        current = coarser(whole, current, limit / size)
        size = unknowns(whole, current)
    if current is first:
        return settings, ""
    return current, f"measured with {size} degrees of freedom; the settings themselves make {begun}"


def first_steps(problem: Problem, settings: Settings, most: int = 10_000) -> tuple[Settings, SlabMesh, str]:
    """For marches whose steps must not be longer: their first steps, in space as coarse as need be."""
    whole, current = over_all_time(problem, settings)
    mesh = make_mesh(whole, current)
    assert isinstance(mesh, SlabMesh)
    times = mesh.times[: 1 + _FIRST]
    for _ in range(2 * _ROUNDS):
        short = SlabMesh(mesh.space, times)
        size = make_discretisation(whole, short, current).size
        if size <= most:
            break
        current = coarser(whole, current, max(most / size, 0.3)).updated({"steps": len(mesh.times) - 1})
        mesh = SlabMesh(make_mesh(whole, current.updated({"steps": 4})).space, mesh.times)  # type: ignore[union-attr]
    note = f"measured over the first {len(times) - 1} steps, t < {times[-1]:g}, with {size} degrees of freedom"
    return current, short, note


def unknowns(problem: Problem, settings: Settings) -> int:
    """How many degrees of freedom settings make: meshes, but builds no matrix."""
    return make_discretisation(problem, make_mesh(problem, settings), settings).size


def coarser(problem: Problem, settings: Settings, factor: float) -> Settings:
    """Settings with about `factor` times as many degrees of freedom, spread over all axes."""
    timed = isinstance(problem.domain, SpaceTime)
    stretch = max(1.05, (1 / factor) ** (1 / problem.domain.dimension))
    changes: dict[str, Any] = {}
    time, recipe = settings.time, settings.mesh
    stepped = isinstance(time, Slabs | March)
    if timed and (stepped or time.steps is not None):
        changes["steps"] = fewer = max(4, int((time.steps or 10) / stretch))
        if stepped and time.order > 2 and fewer == 4:
            changes["order"] = 2
    if recipe.cells is not None:
        changes["cells"] = tuple(max(3, int(c / stretch)) for c in recipe.cells)
    else:
        lower, upper = problem.domain.bounds  # type: ignore[attr-defined]
        space = (upper - lower)[: problem.domain.dimension - timed]
        changes["size"] = stretch * (recipe.size or float(space.max()) / 25)
        if recipe.curvature is not None:
            changes["curvature"] = max(1.0, recipe.curvature / stretch)
        if recipe.degree > 2:  # cells along curved sides stay small
            changes["degree"] = recipe.degree - 1
    if stepped and time.halvings:
        changes["halvings"] = time.halvings // 2
    if recipe.lines > 1:
        changes["lines"] = recipe.lines - 1
    return settings.updated(changes)
