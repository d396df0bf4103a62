"""Dirichlet and initial values that hold exactly: the walls and values of a problem as an `Ansatz` of plain numbers.

Distances come from the formulas of the shapes, so a disk is a disk and not its mesh. The user's functions cannot be stored;
they are replaced by Chebyshev polynomials over the domain's box, the difference being at most 1e-9 (checked on the
boundary). Values on several boundaries are joined in two ways, both smooth: one polynomial that has the right values on all
of them (u0(x) of an initial condition also vanishes where the ends are held at zero), or, between boundaries that do
not touch, a mean weighted by distance. What neither does is refused. Pins, rates, fluxes and periodicity stay penalties.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy.fft import dctn
from torch import Tensor

from ..discretize.pointwise import dirichlet_values
from ..errors import PcpinnError
from ..mesh.mesh import Mesh
from ..mesh.points import boundary_points, spacing_of
from ..network.ansatz import Ansatz, Part, polynomial
from ..problem.conditions import Dirichlet
from ..problem.field import Field
from ..problem.problem import Problem
from ..problem.shape_base import Domain
from ..problem.walls import Wall, walls_of

_SAMPLES = {1: 129, 2: 65, 3: 25}  # along each axis
_NEGLIGIBLE = 1e-13  # a coefficient, beside the largest
_EXACT = 1e-9  # error of values on the boundary, beside the largest
_CHECKED = 20_000  # points in the domain, of which those on a boundary are as dense: where values are compared
_ON_WALL = 1e-7  # distance of a node, beside the domain's extent
_SOFT = "use hard=false"


@dataclass(frozen=True, eq=False)
class _Held:
    """The values of one component on one boundary."""

    name: str
    nodes: frozenset[int]  # there
    x: Tensor  # (m, d) nodes and random points there
    values: Callable[[Tensor], Tensor]  # (m, d) -> (m,)


def make_ansatz(problem: Problem, mesh: Mesh) -> Ansatz | None:
    """The formula for all Dirichlet and initial values; None if there are none.

    Raises:
        PcpinnError: when the boundary is not made of whole sides of shapes, or its values cannot be joined smoothly.
    """
    held = {component: boundaries for component, boundaries in _held(problem, mesh).items() if boundaries}
    if not held:
        return None
    if not isinstance(problem.domain, Domain):
        raise PcpinnError("hard=true needs a domain made of shapes, not a mesh", f"build it of shapes, or {_SOFT}")
    lower, upper = mesh.bounds
    tolerance = _ON_WALL * float(np.max(upper - lower))
    walls: list[Wall] = []
    parts: list[Part] = []
    for component, boundaries in held.items():
        on = {h.name: _walls_under(h.name, problem.domain, mesh, tolerance) for h in boundaries}
        for name, own in on.items():
            for wall in own:
                _check_whole(wall, name, set(on), mesh, tolerance)
        for members, coefficients in _join(boundaries, *map(torch.from_numpy, (lower, upper))):
            chosen = [wall for h in members for wall in on[h.name]]
            numbers = range(len(walls), len(walls) + len(chosen))
            walls += [_inward(wall, mesh, tolerance) for wall in chosen]
            parts.append(Part(component, list(numbers), coefficients))
    width = [max(float(np.median(wall.level(mesh.nodes))), tolerance) for wall in walls]
    data: dict[str, Any] = {key: [getattr(w, key) for w in walls] for key in ("quadratic", "linear", "constant")}
    data |= {"width": width, "lower": lower, "upper": upper}
    return Ansatz({k: torch.as_tensor(np.array(v, dtype=np.float64)) for k, v in data.items()}, parts)


def _held(problem: Problem, mesh: Mesh) -> dict[int, list[_Held]]:
    """By component: the boundaries on which its values are given."""
    result: dict[int, list[_Held]] = {c: [] for c in range(problem.components)}
    random, spacing = np.random.default_rng(0), spacing_of(mesh, _CHECKED)
    for name in mesh.boundary_names:
        nodes, first = np.unique(mesh.boundaries[name]), 0
        x = torch.from_numpy(np.concatenate([mesh.nodes[nodes], boundary_points(mesh, name, spacing, random).x]))
        for f in problem.unknowns:
            condition = problem.conditions.get(name, {}).get(f.name)
            if isinstance(condition, Dirichlet):
                there = dirichlet_values(condition, f, x, name, problem.over_time)
                for k in (k for k, value in enumerate(there) if value is not None):
                    values = partial(_component, condition, f, name, k, problem.over_time)
                    result[first + k].append(_Held(name, frozenset(nodes.tolist()), x, values))
            first += f.components
    return result


def _component(condition: Dirichlet, f: Field, name: str, k: int, over_time: bool, x: Tensor) -> Tensor:
    value = dirichlet_values(condition, f, x, name, over_time)[k]
    assert value is not None
    return value


def _walls_under(name: str, domain: Domain, mesh: Mesh, tolerance: float) -> list[Wall]:
    """The sides that the facets of a boundary lie on; together they must carry all of it."""
    found: list[Wall] = []
    covered = np.zeros(len(mesh.boundaries[name]), dtype=bool)
    for wall in walls_of(domain):
        on = _on(wall, name, mesh, tolerance) & ~covered  # two shapes may share a side
        if wall.name == name and on.any():
            found.append(wall)
            covered |= on
    if not covered.all():
        raise PcpinnError(f"hard=true: boundary {name!r} is not made of sides of the domain's shapes", _SOFT)
    return found


def _on(wall: Wall, name: str, mesh: Mesh, tolerance: float) -> np.ndarray:
    """Which facets of a boundary lie on a wall."""
    return (np.abs(wall.level(mesh.nodes[mesh.boundaries[name]])) <= tolerance).all(axis=1)


def _check_whole(wall: Wall, name: str, held: set[str], mesh: Mesh, tolerance: float) -> None:
    """All of the boundary along a wall must be held, or the factor d would vanish where u is free."""
    for other in mesh.boundary_names:
        if other not in held and _on(wall, other, mesh, tolerance).any():
            raise PcpinnError(
                f"hard=true: boundaries {name!r} and {other!r} lie on one line or plane, and {other!r} has no value",
                _SOFT,
            )


def _inward(wall: Wall, mesh: Mesh, tolerance: float) -> Wall:
    """The wall with positive values inside; refuses one that cuts through the domain."""
    level = wall.level(mesh.nodes)
    if level.min() < -tolerance and level.max() > tolerance:
        raise PcpinnError(
            f"hard=true: the line or surface of boundary {wall.name!r}, continued, cuts through the domain",
            f"{_SOFT}; hard conditions are for boundaries with the domain on one side: outer sides, round holes",
        )
    if level.max() > tolerance:
        return wall
    return Wall(wall.name, -wall.quadratic, -wall.linear, -wall.constant)


def _join(boundaries: list[_Held], lower: Tensor, upper: Tensor) -> list[tuple[list[_Held], Tensor]]:
    """As few parts as possible: boundaries that one polynomial serves, and that polynomial."""
    scale = max(float(h.values(h.x).abs().max()) for h in boundaries) or 1.0
    fits = {h.name: _fit(h, lower, upper) for h in boundaries}

    def served(fit: Tensor) -> list[_Held]:
        values = [(h, polynomial(fit, 2 * (h.x - lower) / (upper - lower) - 1)) for h in boundaries]
        return [h for h, value in values if float((value - h.values(h.x)).abs().max()) <= _EXACT * scale]

    serves = {name: served(fit) for name, fit in fits.items()}
    for h in boundaries:
        if h not in serves[h.name]:
            raise PcpinnError(f"hard=true: a polynomial cannot stand for the values on {h.name!r}", _SOFT)
    parts: list[tuple[list[_Held], Tensor]] = []
    left = list(boundaries)
    while left:
        head = max(left, key=lambda h: sum(other in left for other in serves[h.name]))
        parts.append(([h for h in left if h in serves[head.name]], fits[head.name]))
        left = [h for h in left if h not in parts[-1][0]]
    _check_apart(parts)
    return parts


def _check_apart(parts: list[tuple[list[_Held], Tensor]]) -> None:
    where: dict[int, tuple[int, str]] = {}
    for g, (members, _) in enumerate(parts):
        for h in members:
            for node in h.nodes:
                part, name = where.setdefault(node, (g, h.name))
                if part != g:
                    raise PcpinnError(
                        f"hard=true: boundaries {name!r} and {h.name!r} touch, and neither one's values continue the "
                        "other's",
                        f"give both one formula that holds on either, or {_SOFT}",
                    )


def _fit(h: _Held, lower: Tensor, upper: Tensor) -> Tensor:
    """Coefficients of the polynomial through the values at Chebyshev points of the box, without negligible ones."""
    d = len(lower)
    n = _SAMPLES[d]
    roots = torch.cos(torch.pi * (torch.arange(n, dtype=torch.float64) + 0.5) / n)
    grid = torch.cartesian_prod(*[roots] * d).reshape(-1, d)
    try:
        samples = h.values(0.5 * (lower + upper + (upper - lower) * grid)).numpy().reshape((n,) * d)
    except PcpinnError as error:
        raise PcpinnError(
            f"hard=true needs the values on {h.name!r} inside the domain's box, too, but: {error.problem}", _SOFT
        ) from error
    c = dctn(samples, type=2) / n**d
    for axis in range(d):
        np.moveaxis(c, axis, 0)[0] *= 0.5
    kept = np.argwhere(np.abs(c) > _NEGLIGIBLE * np.abs(c).max())
    counts = kept.max(axis=0) + 1 if len(kept) else np.ones(d, dtype=int)
    return torch.from_numpy(np.ascontiguousarray(c[tuple(slice(k) for k in counts)]))
