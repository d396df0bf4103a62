"""Shapes as the solids and faces of the geometry kernel in netgen."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import PcpinnError
from ..problem.shapes import (
    Ball,
    Box,
    Cylinder,
    Difference,
    Disk,
    Ellipse,
    Intersection,
    Polygon,
    Rectangle,
    Shape,
    Union,
)


def to_occ(shape: Shape, occ: Any, origin: np.ndarray, scale: float) -> Any:
    """Build a shape, moved by -origin and divided by scale, with the names on its edges (2D) or faces (3D).

    The kernel works with absolute tolerances near 1e-7, so it needs a domain whose size is about 1.
    `occ` is the module netgen.occ.
    """

    def build(part: Shape) -> Any:
        match part:
            case Union():
                return _unite([build(p) for p in part.parts], part.dimension, occ)
            case Intersection():
                return _fold([build(p) for p in part.parts], lambda a, b: a * b)
            case Difference():
                return _fold([build(p) for p in (part.base, *part.removed)], lambda a, b: a - b)
            case Rectangle():
                (x0, y0), (x1, y1) = part.lower, part.upper
                left, right, bottom, top = part.side_names
                corners = np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)])
                return _polygon((corners - origin) / scale, (bottom, right, top, left), occ)
            case Polygon():
                return _polygon((np.array(part.points) - origin) / scale, part.side_names, occ)
            case Disk() | Ellipse():
                radii = (part.radius, part.radius) if isinstance(part, Disk) else part.semi_axes
                return _ellipse((np.array(part.centre) - origin) / scale, np.array(radii) / scale, part, occ)
            case Box():
                return _box((np.array(part.lower) - origin) / scale, (np.array(part.upper) - origin) / scale, part, occ)
            case Ball():
                solid = occ.Sphere(occ.Pnt(*(np.array(part.centre) - origin) / scale), part.radius / scale)
                solid.faces.name = part.side_names[0]
                return solid
            case Cylinder():
                base, axis = (np.array(part.base) - origin) / scale, np.array(part.axis) / part.height
                solid = occ.Cylinder(occ.Pnt(*base), occ.Dir(*axis), r=part.radius / scale, h=part.height / scale)
                solid.faces.name = part.side_names[0]
                return solid
        raise PcpinnError(
            f"{type(part).__name__} cannot be meshed by its size", "build the domain from the shapes of pcpinn"
        )

    return build(shape)


def _fold(parts: list[Any], combine: Any) -> Any:
    result = parts[0]
    for part in parts[1:]:
        result = combine(result, part)
    return result


def _unite(parts: list[Any], dimension: int, occ: Any) -> Any:
    """Unlike netgen's own `+`, keep sides on one line or plane apart: merging them would lose one of two names."""
    fused = occ.Fuse(parts)
    if dimension == 2 and hasattr(fused, "UnifySameDomain"):  # without it the lines inside merely stay mesh lines
        return fused.UnifySameDomain(unifyEdges=False)
    return fused


def _polygon(corners: np.ndarray, names: tuple[str, ...], occ: Any) -> Any:
    following = np.roll(corners, -1, axis=0)
    points = [occ.Pnt(x, y, 0.0) for x, y in corners]
    wire = occ.Wire([occ.Segment(a, b) for a, b in zip(points, [*points[1:], points[0]], strict=True)])
    face = occ.Face(wire)
    middles = 0.5 * (corners + following)
    for edge in face.edges:  # the wire holds copies of its edges, so names are given afterwards, by position
        centre = np.array([edge.center.x, edge.center.y])
        edge.name = names[int(np.argmin(np.sum((middles - centre) ** 2, axis=1)))]
    return face


def _ellipse(centre: np.ndarray, radii: np.ndarray, part: Any, occ: Any) -> Any:
    long_axis = occ.X if radii[0] >= radii[1] else occ.Y
    plane = occ.WorkPlane(occ.Axes((*centre, 0.0), n=occ.Z, h=long_axis))
    if radii[0] == radii[1]:
        face = plane.Circle(radii[0]).Face()
    else:
        face = plane.Ellipse(float(radii.max()), float(radii.min())).Face()
    face.edges.name = part.side_names[0]
    return face


def _box(lower: np.ndarray, upper: np.ndarray, part: Box, occ: Any) -> Any:
    solid = occ.Box(occ.Pnt(*lower), occ.Pnt(*upper))
    ends = np.stack([lower, upper], axis=1)  # (axis, lower or upper)
    for face in solid.faces:
        centre = np.array([face.center.x, face.center.y, face.center.z])
        gap = np.abs(centre[:, None] - ends) / (upper - lower)[:, None]
        face.name = part.side_names[int(np.argmin(gap))]  # sides in the order lower x, upper x, lower y, ...
    return solid
