"""Unstructured meshes of shapes in two and three dimensions, by netgen."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Any

import numpy as np

from ..errors import PcpinnError
from ..problem.shapes import Shape
from .mesh import Mesh
from .occ_shapes import to_occ
from .topology import facets_of, rows_in

# netgen puts the middle nodes of a triangle opposite its corners: on the edges 12, 02, 01
_TO_OUR_ORDER = [0, 1, 2, 5, 3, 4]


class NotMeshed(PcpinnError):
    """netgen found no mesh with cells of the size that was asked for; it may with smaller ones."""


def mesh_shape(
    shape: Shape,
    size: float,
    *,
    curved: bool = True,
    grading: float | None = None,
    curvature: float | None = None,
    periodic: tuple[tuple[str, str], ...] = (),
    fine: Sequence[tuple[Sequence[float], float]] = (),
) -> Mesh:
    """Mesh a shape of two or three dimensions; see `generate_mesh` for the options. `fine`: points and cell sizes there."""
    occ = _netgen_occ()
    lower, upper = shape.bounds
    scale = shape.extent
    try:
        solid = to_occ(shape, occ, lower, scale)
        parts = list(solid.faces if shape.dimension == 2 else solid.solids)
        volume = sum(part.mass for part in parts)  # the mass of a compound of faces reads 0
    except PcpinnError:
        raise
    except Exception as error:  # the kernel raises whatever it likes
        raise PcpinnError(
            f"the shapes could not be combined: {error}", "avoid sides that almost coincide, and simplify the domain"
        ) from error
    if volume <= 1e-12:
        raise PcpinnError(
            f"the domain is empty: nothing is left of {type(shape).__name__.lower()}",
            "cut away less, or intersect shapes that overlap",
        )
    for number, pair in enumerate(periodic):
        _identify(solid, shape.dimension, pair, f"periodic{number}", occ)
    smallest = min([0.01 * size, *(0.1 * h for _, h in fine)])
    options = {"maxh": size / scale, "minedgelen": min(1e-3, smallest / scale)}
    options |= {k: v for k, v in (("grading", grading), ("curvaturesafety", curvature)) if v is not None}
    try:
        parameters = _parameters(options, [((np.asarray(x) - lower) / scale, h / scale) for x, h in fine])
        result = occ.OCCGeometry(solid, dim=shape.dimension).GenerateMesh(parameters)
        if shape.dimension == 2 and curved:
            result.SecondOrder()
    except Exception as error:
        raise NotMeshed(
            f"netgen could not mesh the domain with size {size:g}: {error}",
            "try another size, and avoid sides that almost touch",
        ) from error
    mesh = _to_mesh(result, shape.dimension)
    _check_complete(mesh, volume, size)
    nodes = lower + scale * mesh.nodes
    for bound in (lower, upper):  # scaling back must not push sides off by a rounding error
        nodes = np.where(np.abs(nodes - bound) <= 1e-12 * scale, bound, nodes)
    return Mesh(nodes, mesh.cells, mesh.boundaries)


def _parameters(options: dict[str, float], fine: Sequence[tuple[np.ndarray, float]]) -> Any:
    from netgen.meshing import MeshingParameters

    parameters = MeshingParameters(**options)
    for x, size in fine:
        parameters.RestrictH(*x.tolist(), *[0.0] * (3 - len(x)), size)
    return parameters


def _check_complete(mesh: Mesh, volume: float, size: float) -> None:
    """netgen may give up, print a message and return what it has: holes and cells outside the domain."""
    corners = mesh.nodes[mesh.vertices]
    measured = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])).sum() / factorial(mesh.dimension)
    named = sum(len(rows) for rows in mesh.boundaries.values())
    if named != len(facets_of(mesh.vertices).boundary) or abs(measured - volume) > 0.5 * volume:
        raise NotMeshed(
            f"netgen could not mesh the whole domain with size {size:g}",
            "use a smaller size or a larger curvature, and avoid sides that almost touch",
        )


def _netgen_occ() -> Any:
    try:
        import netgen.occ as occ
    except ImportError as error:
        raise PcpinnError(
            f"meshing this shape needs netgen, which cannot be imported ({error})", "pip install netgen-mesher"
        ) from error
    return occ


def _identify(solid: Any, dimension: int, pair: tuple[str, str], label: str, occ: Any) -> None:
    """Tell netgen to mesh the side `pair[1]` as a moved copy of the side `pair[0]`."""
    from netgen.meshing import IdentificationType

    sides = [[s for s in (solid.edges if dimension == 2 else solid.faces) if s.name == name] for name in pair]
    for name, side in zip(pair, sides, strict=True):
        if not side:
            raise PcpinnError(f"nothing is left of the periodic boundary {name!r}", "cut away less of that side")
    mass = [np.array([s.mass for s in side]) for side in sides]
    centre = [np.array([[s.center.x, s.center.y, s.center.z] for s in side]) for side in sides]
    shift = np.average(centre[1], axis=0, weights=mass[1]) - np.average(centre[0], axis=0, weights=mass[0])
    extent = [np.array([np.subtract(a, b) for a, b in map(_corners, side)]) for side in sides]
    move = occ.gp_Trsf.Translation(occ.Vec(*shift))
    for k, piece in enumerate(sides[0]):
        gap = np.linalg.norm(centre[0][k] + shift - centre[1], axis=1) + np.abs(mass[0][k] - mass[1])
        gap += np.linalg.norm(extent[0][k] - extent[1], axis=1)
        other = int(np.argmin(gap))
        if len(sides[0]) != len(sides[1]) or gap[other] > 1e-6:
            raise PcpinnError(
                f"the periodic boundaries {pair[0]!r} and {pair[1]!r} are not shifted copies of each other",
                "pair sides of equal size and form, for example the left and right side of a rectangle",
            )
        piece.Identify(sides[1][other], label, IdentificationType.PERIODIC, move)


def _corners(side: Any) -> list[tuple[float, float, float]]:
    return [(p.x, p.y, p.z) for p in side.bounding_box]


def _to_mesh(result: Any, dimension: int) -> Mesh:
    """netgen's mesh as arrays, without unused nodes and without lines or faces that lie inside."""
    nodes = np.array(result.Coordinates(), dtype=np.float64)[:, :dimension]
    elements = (result.Elements2D() if dimension == 2 else result.Elements3D()).NumPy()
    sides = (result.Elements1D() if dimension == 2 else result.Elements2D()).NumPy()
    cells = elements["nodes"].astype(np.int64) - 1
    if dimension == 2 and cells.shape[1] >= 6 and np.all(cells[:, 3:6] >= 0):
        cells = cells[:, _TO_OUR_ORDER]
        straight = 0.5 * (nodes[cells[:, [0, 1, 0]]] + nodes[cells[:, [1, 2, 2]]])
        if np.max(np.abs(nodes[cells[:, 3:]] - straight), initial=0.0) <= 1e-10:
            cells = cells[:, :3]
    else:
        cells = cells[:, : dimension + 1]
    used, renumbered = np.unique(cells, return_inverse=True)
    cells = renumbered.reshape(cells.shape)
    facets = np.searchsorted(used, sides["nodes"][:, :dimension].astype(np.int64) - 1)
    outer = rows_in(facets, facets_of(cells[:, : dimension + 1]).boundary)
    region = sides["index"].astype(np.int64) - 1
    names = np.array(result.GetRegionNames(codim=1))[region]
    boundaries = {str(name): facets[outer & (names == name)] for name in np.unique(names[outer])}
    return Mesh(nodes[used], cells, boundaries)
