"""The conditions of a problem as penalty terms of a loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from ..discretize.pointwise import BoundaryFlux, Pointwise, dirichlet_values
from ..mesh.points import BoundaryPoints, boundary_points, spacing_of
from ..mesh.slab_mesh import ENDS, AnyMesh, SlabMesh
from ..problem.conditions import Dirichlet, Free, Initial, Periodic
from ..problem.problem import Problem
from .form import EqualSides, PrescribedFlux, PrescribedValues, Term

_MOMENTS = 4096  # pins over time are held as often as so many points of the domain are apart

_Values = list[tuple[Tensor, int, Tensor]]  # points (m, d), component, values (m,) there


Spacing = float | Callable[[str], float]
"""Mean distance of points on a boundary: one for all, or by its name."""


def condition_terms(
    problem: Problem,
    mesh: AnyMesh,
    spacing: Spacing,
    weight: float,
    like: Tensor,
    random: np.random.Generator,
    hard: bool = False,
) -> list[Term]:
    """One penalty per condition; `like` gives device and precision. With `hard`, values on boundaries are taken care of.

    As in the weak form, a boundary without a condition on a component is natural, flux . n = 0, unless it is the partner of
    a periodic boundary. A `Free` boundary has no term at all, nor have the ends of time but for what `Initial` says.
    """
    return list(named_terms(problem, mesh, spacing, weight, like, random, hard).values())


def named_terms(
    problem: Problem,
    mesh: AnyMesh,
    spacing: Spacing,
    weight: float,
    like: Tensor,
    random: np.random.Generator,
    hard: bool = False,
    apart: bool = False,
) -> dict[str, Term]:
    """The same by name. All prescribed values are one term; with `apart`, those of each boundary are one."""
    pointwise = Pointwise(problem, strong=True)
    between = spacing if callable(spacing) else lambda name: spacing
    values: dict[str, _Values] = {}
    terms: dict[str, Term] = {}
    for name in mesh.boundary_names:
        points = boundary_points(mesh, name, between(name), random)
        x, n = (torch.as_tensor(a).to(like) for a in (points.x, points.normals))
        fixed, natural, partners = _sort(problem, name, points)
        values.setdefault(f"values on {name}" if apart else "values", []).extend([] if hard else fixed)
        if natural:
            components = torch.tensor(natural, device=like.device)
            flux = PrescribedFlux(pointwise, BoundaryFlux(problem, name), x, n, components, weight)
            terms[f"flux on {name}"] = flux
        for partner, theirs in partners.items():
            shift = torch.as_tensor(_centre(mesh, partner) - _centre(mesh, name)).to(like)
            components = torch.tensor(theirs, device=like.device)
            terms[f"{name} = {partner}"] = EqualSides(pointwise, x, n, shift, components, weight)
    if problem.pins:
        inside = spacing_of(mesh, _MOMENTS) if callable(spacing) else spacing
        values.setdefault("pins" if apart else "values", []).extend(_pins(problem, mesh, inside))
    held: dict[str, Term] = {name: _together(given, weight, like) for name, given in values.items() if given}
    return held | terms


def _sort(problem: Problem, name: str, points: BoundaryPoints) -> tuple[_Values, list[int], dict[str, list[int]]]:
    """On one boundary: prescribed values, components of natural conditions, components equal to those on a partner."""
    x = torch.from_numpy(points.x)
    values: _Values = []
    natural: list[int] = []
    partners: dict[str, list[int]] = {}
    first = 0
    for f in problem.unknowns:
        components = range(first, first + f.components)
        first += f.components
        condition = problem.conditions.get(name, {}).get(f.name)
        if isinstance(condition, Free):
            continue
        if isinstance(condition, Periodic):
            partners.setdefault(condition.partner, []).extend(components)
        elif isinstance(condition, Dirichlet):
            given = dirichlet_values(condition, f, x, name, problem.over_time)
            for component, value in zip(components, given, strict=True):
                if value is not None:
                    values.append((x, component, value))
                if value is None or (isinstance(condition, Initial) and condition.rate is not None):
                    natural.append(component)
        elif not (problem.over_time and name in ENDS) and not (
            condition is None and _is_partner(problem, name, f.name)
        ):
            natural.extend(components)
    return values, natural, partners


def _is_partner(problem: Problem, name: str, field: str) -> bool:
    given = (by_field.get(field) for by_field in problem.conditions.values())
    return any(isinstance(condition, Periodic) and condition.partner == name for condition in given)


def _centre(mesh: AnyMesh, name: str) -> np.ndarray:
    """Middle of the box around a boundary; a periodic boundary and its partner differ by a shift."""
    if isinstance(mesh, SlabMesh):
        first, last = mesh.times[0], mesh.times[-1]
        if name in ENDS:
            return np.append(0.5 * (mesh.space.bounds[0] + mesh.space.bounds[1]), first if name == ENDS[0] else last)
        return np.append(_centre(mesh.space, name), 0.5 * (first + last))
    nodes = mesh.nodes[np.unique(mesh.boundaries[name])]
    return 0.5 * (nodes.min(axis=0) + nodes.max(axis=0))


def _pins(problem: Problem, mesh: AnyMesh, spacing: float) -> _Values:
    """Values at single points; over time, at moments as close as the other points."""
    moments: list[tuple[float, ...]] = [()]
    if problem.over_time:
        start, end = (float(corner[-1]) for corner in mesh.bounds)
        moments = [(t,) for t in np.linspace(start, end, 1 + max(1, round((end - start) / spacing)))]
    result: _Values = []
    starts = dict(zip((f.name for f in problem.unknowns), _starts(problem), strict=True))
    for pin in problem.pins:
        x = torch.tensor([[*pin.at, *moment] for moment in moments], dtype=torch.float64)
        component = starts[pin.field or problem.unknowns[0].name] + pin.component
        result.append((x, component, x.new_full((len(x),), pin.value)))
    return result


def _starts(problem: Problem) -> Sequence[int]:
    return np.cumsum([0] + [f.components for f in problem.unknowns])[:-1].tolist()


def _together(values: _Values, weight: float, like: Tensor) -> PrescribedValues:
    return PrescribedValues(
        x=torch.cat([x for x, _, _ in values]).to(like),
        component=torch.cat([torch.full((len(x),), c) for x, c, _ in values]).to(like.device),
        target=torch.cat([v for _, _, v in values]).to(like),
        scale=torch.cat([torch.full((len(x),), (weight / len(x)) ** 0.5) for x, _, _ in values]).to(like),
    )
