"""Where a boundary makes solutions singular, at corners and where conditions of two kinds meet; and how fine curved walls are."""

from __future__ import annotations

import numpy as np

from ..mesh.corners import corners_of
from ..problem.shape_base import Shape, SpaceTime
from ..problem.shapes import Ball, Cylinder, Disk, Ellipse
from ..problem.walls import walls_of
from .findings import Finding, graded
from .view import View


def corner_findings(view: View) -> list[Finding]:
    """Corners with an exponent below one."""
    if view.mesh.dimension != 2 or view.mesh.has_time or not view.symbol.diffusion.any():
        return []
    found = corners_of(view.problem, view.mesh)
    if not found:
        return [Finding("corners", "fine", 0.0, "no corner of the domain makes the solution singular")]
    worst = min(found, key=lambda c: c.exponent)
    at = f"({worst.at[0]:.4g}, {worst.at[1]:.4g})"
    kind = ", where conditions of two kinds meet" if worst.mixed else ""
    text = (
        f"{len(found)} corner{'s' * (len(found) > 1)} with singular gradients; the worst at {at}, "
        f"{np.degrees(worst.angle):.0f} degrees"
        f"{kind}: the solution begins as r^{worst.exponent:.3g} there"
    )
    mode = "accuracy mode refines cells towards the corners, so that the order of the elements is kept"
    return [Finding("corners", "note", worst.exponent, text, "", mode)]


def curvature_findings(view: View) -> list[Finding]:
    """Cells of the first mesh per radius of curvature, at the wall where these are fewest."""
    domain = view.problem.domain
    shape = domain.shape if isinstance(domain, SpaceTime) else domain
    if not isinstance(shape, Shape) or shape.dimension < 2 or view.mesh.has_time:
        return []
    worst: tuple[float, float, float] | None = None
    facets = np.concatenate(list(view.mesh.boundaries.values()))[:, : shape.dimension]
    points = view.mesh.nodes[facets]  # (m, k, d)
    size = np.linalg.norm(points - np.roll(points, 1, axis=1), axis=2).max(axis=1)
    for part in shape.primitives:
        radius = _radius(part)
        if radius is None:
            continue
        walls = [w for w in walls_of(part) if w.quadratic.any()]
        on = np.abs(walls[0].level(points)).max(axis=1) < 1e-6 * shape.extent
        if on.any():
            own = (radius / float(size[on].max()), radius, float(size[on].max()))
            worst = own if worst is None else min(worst, own)
    if worst is None:
        return []
    count, radius, cell = worst
    text = f"{count:.2g} cells of the first mesh per radius of curvature of its walls (radius {radius:.3g}, cells {cell:.3g})"
    mode = "accuracy mode bends cells along the wall and puts the nodes of finer ones onto it"
    return [Finding("curvature", graded(1 / count, 1, 1e300), count, text, "", mode)]


def _radius(shape: Shape) -> float | None:
    """The smallest radius of curvature."""
    if isinstance(shape, Disk | Ball | Cylinder):
        return float(shape.radius)
    if isinstance(shape, Ellipse):
        return min(shape.semi_axes) ** 2 / max(shape.semi_axes)
    return None
