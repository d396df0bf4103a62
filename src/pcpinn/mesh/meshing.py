"""How the domain is meshed: recipes of the slot `mesh`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..recipes import PerAxis, Recipe, Registry

MESHINGS: Registry[type[Recipe]] = Registry("discretisation", "meshings")


@MESHINGS.register
@dataclass(frozen=True)
class Meshing(Recipe):
    """Finite elements on simplices: intervals, triangles and tetrahedra, curved along curved boundaries.

    Attributes:
        size: target size of cells; by default 1/25 of the domain.
        cells: number of cells along each axis of a box, instead of a size.
        degree: polynomial degree of the elements; a field may have its own.
        element: their kind: lagrange (degrees 1 to 4), lobatto (1 to 12, on intervals and triangles: for many
            digits), or one of a plug-in.
        curved: use curved cells along curved boundaries.
        curvature: cells per radius of curvature.
        grading: how fast cells grow, from 0 (slowly) to 1.
        quadrature: order of the quadrature; by default what the degree needs.
        kinks: coordinates along each axis where the slope of the solution jumps (interfaces of materials), such as -2,2;0 for
            x = -2, x = 2 and y = 0: mesh lines run through them, and the network gets |x + 2|, |x - 2| and |y| as inputs.
        lines: extra mesh lines on either side of each kink of a structured mesh, graded towards it.
        corners: points where the solution is singular, such as 0,1;1,1: unstructured meshes are graded towards them, and the
            network gets the logarithm of the distance and the direction from each as inputs.
        corner_size: size of the cells there.
    """

    size: float | None = None
    cells: tuple[int, ...] | None = None
    degree: int = 2
    element: str = "lagrange"
    curved: bool = True
    curvature: float | None = None
    grading: float | None = None
    quadrature: int | None = None
    kinks: PerAxis | None = None
    lines: int = 0
    corners: PerAxis | None = None
    corner_size: float = 1e-3

    name: ClassVar[str] = "fem"
    positive: ClassVar[tuple[str, ...]] = ("size", "degree", "curvature", "quadrature", "corner_size")
    not_negative: ClassVar[tuple[str, ...]] = ("lines",)
    at_most: ClassVar[Mapping[str, float]] = {"quadrature": 100, "lines": 1000}

    def unread(self) -> Mapping[str, str]:
        """The size at corners, where there are none."""
        return {} if self.corners else {"corner_size": "there are no corners"}

    def options(self) -> dict[str, Any]:
        """Arguments of `generate_mesh`, except kinks and time."""
        return {
            "size": self.size,
            "cells": self.cells,
            "curved": self.curved,
            "grading": self.grading,
            "curvature": self.curvature,
            "lines": self.lines,
            "corners": self.corners or (),
            "corner_size": self.corner_size,
        }


@MESHINGS.register
@dataclass(frozen=True)
class Differences(Recipe):
    """Finite differences of second order on a uniform grid of a box.

    Attributes:
        size: target distance of nodes; by default 1/25 of the domain.
        cells: number of cells along each axis, instead.
    """

    size: float | None = None
    cells: tuple[int, ...] | None = None

    name: ClassVar[str] = "fdm"
    positive: ClassVar[tuple[str, ...]] = ("size",)

    # What finite elements could choose, as finite differences have it.
    degree: ClassVar[int] = 1
    element: ClassVar[str] = "lagrange"
    curved: ClassVar[bool] = False
    curvature: ClassVar[float | None] = None
    quadrature: ClassVar[int | None] = None
    lines: ClassVar[int] = 0
    kinks: ClassVar[PerAxis | None] = None
    corners: ClassVar[PerAxis | None] = None
    corner_size: ClassVar[float] = 1e-3

    def options(self) -> dict[str, Any]:
        """What `generate_mesh` wants to know, but for time."""
        return {"size": self.size, "cells": self.cells, "curved": False}
