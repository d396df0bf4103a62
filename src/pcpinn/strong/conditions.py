"""The conditions of a problem as penalty terms of a loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ..discretize.pointwise import BoundaryFlux, Pointwise, dirichlet_values
from ..mesh.mesh import Mesh
from ..mesh.points import BoundaryPoints, boundary_points
from ..mesh.slab_mesh import ENDS
from ..problem.conditions import Dirichlet, Free, Initial, Periodic
from ..problem.problem import Problem
from .form import EqualSides, PrescribedFlux, PrescribedValues, Term

_Values = list[tuple[Tensor, int, Tensor]]  # points (m, d), component, values (m,) there


def condition_terms(
    problem: Problem,
    mesh: Mesh,
    spacing: float,
    weight: float,
    like: Tensor,
    random: np.random.Generator,
    hard: bool = False,
) -> list[Term]:
    """One penalty per condition; `like` gives device and precision. With `hard`, values on boundaries are taken care of.

    As in the weak form, a boundary without a condition on a component is natural, flux . n = 0, unless it is the partner of
    a periodic boundary. A `Free` boundary has no term at all, nor have the ends of time but for what `Initial` says.
    """
    pointwise = Pointwise(problem, strong=True)
    values: _Values = []
    terms: list[Term] = []
    for name in mesh.boundary_names:
        points = boundary_points(mesh, name, spacing, random)
        x, n = (torch.as_tensor(a).to(like) for a in (points.x, points.normals))
        fixed, natural, partners = _sort(problem, name, points)
        values += [] if hard else fixed
        if natural:
            components = torch.tensor(natural, device=like.device)
            terms.append(PrescribedFlux(pointwise, BoundaryFlux(problem, name), x, n, components, weight))
        for partner, theirs in partners.items():
            shift = torch.as_tensor(_centre(mesh, partner) - _centre(mesh, name)).to(like)
            components = torch.tensor(theirs, device=like.device)
            terms.append(EqualSides(pointwise, x, n, shift, components, weight))
    values += _pins(problem, mesh, spacing)
    return ([_together(values, weight, like)] if values else []) + terms


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


def _centre(mesh: Mesh, name: str) -> np.ndarray:
    """Middle of the box around a boundary; a periodic boundary and its partner differ by a shift."""
    nodes = mesh.nodes[np.unique(mesh.boundaries[name])]
    return 0.5 * (nodes.min(axis=0) + nodes.max(axis=0))


def _pins(problem: Problem, mesh: Mesh, spacing: float) -> _Values:
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
