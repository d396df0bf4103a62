"""Initial values against natural conditions: the normal flux that they have, and the one that is given at the start."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..discretize.pointwise import BoundaryFlux, Pointwise
from ..discretize.samples import with_start
from ..errors import PcpinnError
from ..mesh.mesh import Mesh
from ..problem.conditions import Initial, NaturalCondition
from ..problem.shape_base import SpaceTime
from .findings import Finding, graded
from .view import View

_STEP = 1e-4  # from a facet, beside its size, to tell inside from outside


def flux_findings(view: View) -> list[Finding]:
    """The largest gap between the flux of the initial values and the one given, relative to the larger of both."""
    problem, domain = view.problem, view.problem.domain
    given = problem.conditions.get("initial", {}) if problem.over_time else {}
    if not isinstance(domain, SpaceTime) or not all(isinstance(given.get(f.name), Initial) for f in problem.unknowns):
        return []
    pointwise, worst = Pointwise(problem, strong=True), (0.0, "", 0.0)
    inside = view.x.clone()
    inside[:, -1] = domain.start
    usual = float(pointwise.evaluate(inside, _start(view, inside))[:, :, 1:-1].abs().max())
    for boundary in problem.conditions:
        wanted = BoundaryFlux(problem, boundary)
        if boundary in ("initial", "final") or wanted.is_zero or boundary not in view.mesh.boundaries:
            continue
        places, normals = _facets(view.mesh, boundary, domain)
        at = torch.from_numpy(np.column_stack([places, np.full(len(places), domain.start)]))
        n = torch.from_numpy(np.column_stack([normals, np.zeros(len(normals))]))
        try:
            state = _start(view, at)
            flux: Tensor = torch.einsum("mci,mi->mc", pointwise.evaluate(at, state)[:, :, 1:], n)
            aim = wanted.evaluate(at, n, state)
        except PcpinnError:
            continue
        natural = torch.tensor(_natural(wanted))
        size = max(usual, float(torch.maximum(flux.abs(), aim.abs()).max()))
        gap = float(((flux - aim).abs() * natural).max()) / (size or 1.0)
        worst = max(worst, (gap, boundary, size))
    gap, boundary, size = worst
    if gap <= 1e-6 or size == 0:
        return []
    text = (
        f"the normal flux of the initial values and that given on {boundary!r} differ by {gap:.2g} of their size ({size:.3g}): "
        "the slope of the solution jumps there at the start"
    )
    mode = "accuracy mode shortens steps towards the start and refines cells at that boundary"
    return [Finding("start", graded(gap, 0, 1e300), gap, text, "", mode)]


def _start(view: View, at: Tensor) -> Tensor:
    """(m, C, 1 + d) the initial values and their slopes at points; rates are zero."""
    problem = view.problem
    given, parts = problem.conditions["initial"], []
    for f in problem.unknowns:
        condition = given[f.name]
        assert isinstance(condition, Initial)
        zero = torch.zeros(len(at), f.components, 1 + at.shape[1], dtype=at.dtype)
        parts.append(with_start(problem, condition, f.name, at, zero))
    return torch.cat(parts, dim=1)


def _natural(flux: BoundaryFlux) -> list[bool]:
    """Whether each component has a natural condition."""
    return [
        isinstance(c, NaturalCondition)
        for f, c in zip(flux.fields, flux.conditions, strict=True)
        for _ in range(f.components)
    ]


def _facets(mesh: Mesh, boundary: str, domain: SpaceTime) -> tuple[np.ndarray, np.ndarray]:
    """Centres and outward normals (m, d) of the facets of a boundary."""
    d = mesh.dimension
    corners = mesh.nodes[mesh.boundaries[boundary][:, :d]]
    centre = corners.mean(axis=1)
    if d == 1:
        normal, size = np.ones((len(corners), 1)), np.full(len(corners), float(np.ptp(mesh.nodes)))
    elif d == 2:
        along = corners[:, 1] - corners[:, 0]
        normal, size = np.stack([-along[:, 1], along[:, 0]], axis=1), np.linalg.norm(along, axis=1)
    else:
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        size = np.sqrt(np.linalg.norm(normal, axis=1))
    normal = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    # On curved walls the middle of a straight facet is inside or outside; the level decides, which rises outwards.
    step = _STEP * size[:, None] * normal
    outward = domain.shape.level(centre + step) > domain.shape.level(centre - step)
    return centre, np.where(outward[:, None], normal, -normal)
