"""Values that are given where what is only carried along leaves the domain: one condition too many."""

from __future__ import annotations

import numpy as np
import torch

from ..errors import PcpinnError
from ..mesh.mesh import Mesh
from ..problem.conditions import Dirichlet
from ..problem.problem import Problem
from ..problem.shape_base import SpaceTime
from .symbol import symbol
from .wellposed import tried_states

_FACETS = 20  # of each boundary
_MOMENTS = (0.03, 0.41, 0.97)  # of the span of time
_ALONG = 1e-3  # of its speed: what flows along a boundary neither enters nor leaves


def refuse_outflow(problem: Problem, mesh: Mesh) -> None:
    """Refuse Dirichlet conditions of a single field without diffusion on boundaries that it leaves through, in all states tried.

    Args:
        problem: any; several fields, and those with diffusion, pass.
        mesh: of space.

    Raises:
        PcpinnError: with the boundary.
    """
    if problem.components > 1 or (problem.domain.has_time and not problem.over_time):
        return
    for name, by_field in problem.conditions.items():
        facets = mesh.boundaries.get(name)
        if facets is None or not len(facets) or not any(isinstance(c, Dirichlet) for c in by_field.values()):
            continue
        some = facets[np.unique(np.linspace(0, len(facets) - 1, _FACETS).astype(int))][:, : mesh.dimension]
        speeds = _speeds(problem, mesh.nodes[some].mean(axis=1))
        if speeds is None:
            return
        out = (speeds * np.stack([_outward(mesh, facet) for facet in some])).sum(axis=-1)
        if (out > _ALONG * np.linalg.norm(speeds, axis=-1)).all():
            raise PcpinnError(
                f"values are given on {name!r}, where {problem.unknowns[0].name!r} leaves the domain: without diffusion what "
                "comes from inside decides there",
                f"leave the condition on {name!r} out; conditions belong where it flows in",
            )


def _outward(mesh: Mesh, facet: np.ndarray) -> np.ndarray:
    """(d,) normal of a facet, given by its d corners, away from its cell."""
    held = np.isin(mesh.vertices, facet)
    cell = int(held.sum(axis=1).argmax())
    corners, inside = mesh.nodes[facet], mesh.nodes[mesh.vertices[cell][~held[cell]][0]]
    normal = np.linalg.svd(corners[1:] - corners[:1])[2][-1] if len(facet) > 1 else np.ones(1)
    return np.asarray(normal if normal @ (corners[0] - inside) > 0 else -normal)


def _speeds(problem: Problem, x: np.ndarray) -> np.ndarray | None:
    """(s, m, d) velocities at points in space, in all states and moments tried; None where there is diffusion, or no velocity."""
    found = []
    moments: tuple[float | None, ...] = (None,)
    if isinstance(problem.domain, SpaceTime):
        start, end = problem.domain.start, problem.domain.end
        moments = tuple(start + part * (end - start) for part in _MOMENTS)
    for t in moments:
        at = torch.from_numpy(x if t is None else np.column_stack([x, np.full(len(x), t)]))
        for state in tried_states(problem, at):
            here = symbol(problem, at, state)
            if not here.finite.all() or here.diffusion.any() or here.inertia.any():
                return None
            mass = here.mass[:, 0] if problem.over_time else np.ones((len(x), 1))
            if not (np.abs(mass) > 0).all():
                return None
            found.append((here.convection[:, 0, 0] - here.carried[:, 0, :, 0]) / mass)
    return np.stack(found)
