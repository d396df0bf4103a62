"""Corners of plane domains, and places where conditions of two kinds meet: there solutions may have no bounded gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..problem.conditions import Dirichlet, Periodic
from ..problem.problem import Problem
from ..problem.shape_base import Shape, SpaceTime
from ..problem.walls import walls_of
from .mesh import Mesh

_FLAT, _SHARP = np.radians(2.0), np.radians(60.0)


@dataclass(frozen=True)
class Corner:
    """A corner of a plane domain: where, its angle inside, and the exponent of r with which harmonic functions begin there."""

    at: tuple[float, float]
    angle: float
    exponent: float
    mixed: bool


def corners_of(problem: Problem, mesh: Mesh) -> list[Corner]:
    """Corners of a plane mesh where solutions of Laplace's equation have no bounded gradient."""
    x = mesh.nodes[:, :2]
    angles = angles_about_nodes(mesh)
    edges = {name: facets[:, :2] for name, facets in mesh.boundaries.items()}
    beside: dict[int, list[int]] = {}
    names: dict[int, set[str]] = {}
    for name, pairs in edges.items():
        for a, b in pairs.tolist():
            beside.setdefault(a, []).append(b)
            beside.setdefault(b, []).append(a)
            names.setdefault(a, set()).add(name)
            names.setdefault(b, set()).add(name)
    partners = {partner for _, partner in problem.periodic_pairs}
    result = []
    for node, around in beside.items():
        if any(n in partners or _kind(problem, n) == "periodic" for n in names[node]):
            continue
        kinds = {_kind(problem, n) for n in names[node]}
        mixed = len(kinds) > 1
        angle = float(angles[node])
        if not _is_corner(problem, x[node], angle - np.pi, [float(angles[n]) - np.pi for n in around]):
            angle = np.pi
        exponent = np.pi / (2 * angle) if mixed else np.pi / angle
        if exponent < 0.985:
            result.append(Corner((float(x[node, 0]), float(x[node, 1])), angle, float(exponent), mixed))
    return result


def angles_about_nodes(mesh: Mesh) -> np.ndarray:
    """(n,) the angle of the mesh about each node."""
    corners = mesh.nodes[mesh.vertices][:, :, :2]
    total = np.zeros(len(mesh.nodes))
    for k in range(3):
        u, v = (corners[:, (k + i) % 3] - corners[:, k] for i in (1, 2))
        cosine = np.einsum("ci,ci->c", u, v) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1)
        np.add.at(total, mesh.vertices[:, k], np.arccos(np.clip(cosine, -1, 1)))
    return total


def _is_corner(problem: Problem, at: np.ndarray, turn: float, neighbours: list[float]) -> bool:
    """Whether a boundary turns at a node because it has a corner there, not because straight edges follow a curve."""
    if abs(turn) < _FLAT:
        return False
    alone = abs(turn) > 2 * max((abs(t) for t in neighbours if t * turn > 0), default=0.0)
    shape = problem.domain.shape if isinstance(problem.domain, SpaceTime) else problem.domain
    if not isinstance(shape, Shape):
        return alone or abs(turn) > _SHARP
    here = [w for w in walls_of(shape) if abs(float(w.level(at))) < 1e-8 * shape.extent]
    return len(here) > 1 and (alone or not any(w.quadratic.any() for w in here))


def _kind(problem: Problem, boundary: str) -> str:
    """Of the conditions on a boundary, by the first field that has one."""
    for condition in problem.conditions.get(boundary, {}).values():
        if isinstance(condition, Periodic):
            return "periodic"
        if isinstance(condition, Dirichlet):
            partly = isinstance(condition.value, list | tuple) and any(v is None for v in condition.value)
            return "natural" if partly else "dirichlet"
    return "natural"
