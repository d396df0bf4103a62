"""Mesh a domain: structured by numbers of cells, or unstructured by the size of the cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import PcpinnError
from ..problem.shape_checks import positive
from ..problem.shapes import Box, Domain, Interval, Rectangle, Shape, SpaceTime
from .axes import mesh_lines
from .bend import bent
from .check import check_mesh
from .check_curved import folded_cells
from .extrude import extrude, tensor_mesh
from .line_mesher import mesh_line
from .mesh import Mesh
from .netgen_mesher import mesh_shape
from .periodic import check_pairs, match_periodic, periodic_classes

_DEFAULT_CELLS = {1: 25, 2: 25, 3: 12}  # along the longest side, by the number of coordinates
_UNFOLDINGS = 10  # meshes, each finer where the one before folds over itself
_MOST_CELLS = 20_000_000  # more would fill the memory long before a result


def generate_mesh(
    domain: Domain,
    size: float | None = None,
    cells: int | Sequence[int] | None = None,
    curved: bool = True,
    grading: float | None = None,
    curvature: float | None = None,
    periodic: Iterable[tuple[str, str]] = (),
    steps: int | None = None,
    kinks: Sequence[Sequence[float]] = (),
    lines: int = 0,
    corners: Sequence[Sequence[float]] = (),
    corner_size: float = 1e-3,
) -> Mesh:
    """Mesh a shape, or a shape over a span of time.

    Args:
        domain: a `Shape`, or a `SpaceTime` made by `shape.over(start, end)`.
        size: longest edge wanted. Without it and without `cells`, a fraction of the longest side.
        cells: numbers of cells (nx, [ny, [nz]]) of a structured mesh of an Interval, Rectangle or Box.
        curved: follow curved sides with quadratic cells. Meshes of simplices over time are straight.
        grading: how fast cell sizes may change, from 0 (uniform) to 1; netgen's own choice is 0.3.
        curvature: cells per radius of curvature along curved sides; netgen's own choice is 2.
        periodic: pairs of boundary names whose sides get matching nodes.
        steps: cells along time; by default as many as cells along the longest side.
        kinks: for each coordinate the places where lines of a structured mesh must run.
        lines: further lines on either side of each of these, closer and closer: for singularities where kinks cross.
        corners: points towards which an unstructured mesh gets finer, down to cells of `corner_size`.
    """
    if not isinstance(domain, Domain):
        raise PcpinnError(
            f"the domain is {domain!r}, which is not a shape", "give a shape such as Rectangle((0,0),(1,1))"
        )
    pairs = check_pairs(periodic, domain.boundary_names)
    timed = isinstance(domain, SpaceTime)
    shape: Shape = domain.shape if isinstance(domain, SpaceTime) else domain  # type: ignore[assignment]
    if domain.dimension > 3:
        raise PcpinnError(
            f"{type(shape).__name__} over time has {domain.dimension} coordinates, and meshes stop at 3",
            "use a shape of one or two dimensions over time, or step through time",
        )
    if steps is not None and not timed:
        raise PcpinnError(f"steps is {steps!r}, but the domain has no time", "use shape.over(start, end)")
    longest = _check_size(domain, shape, size, cells)
    if grading is not None and not 0 < positive(grading, "grading") <= 1:
        raise PcpinnError(f"grading is {grading:g}, but it must be between 0 and 1", "try 0.3")
    if curvature is not None:
        positive(curvature, "curvature")
    counts = None if cells is None else _check_cells(shape, cells, grading, curvature)
    if lines and (counts is None or not any(kinks)):
        raise PcpinnError(
            f"lines is {lines}, but there are no {'kinks' if counts else 'cells'}", "give cells and kinks"
        )
    through = _check_kinks(domain, kinks)
    if any(len(point) != shape.dimension for point in corners) or not positive(corner_size, "corner_size"):
        raise PcpinnError(f"corners={corners!r} are not points in {shape.dimension} dimensions", "give 0,1;1,1, say")
    count = _steps(domain, shape, longest, counts, steps)
    _check_count(domain, shape, longest, counts, count)

    space_pairs = tuple(pair for pair in pairs if not timed or {"initial", "final"}.isdisjoint(pair))
    if counts is not None:
        sides = zip(*shape.bounds, counts, through, strict=False)
        axes = [mesh_lines(a, b, n, at, lines) for a, b, n, at in sides]
        mesh = tensor_mesh(axes, shape.side_names)  # type: ignore[attr-defined]
    elif shape.dimension == 1:
        mesh = mesh_line(shape, longest)
    else:
        fine = [(point, corner_size) for point in corners]
        options: dict[str, Any] = {"grading": grading, "curvature": curvature, "periodic": space_pairs}
        mesh = _unfolded(shape, longest, fine, {**options, "curved": curved and not timed})
        if shape.dimension == 3 and curved and not timed:
            mesh = bent(mesh, shape)
    if isinstance(domain, SpaceTime):
        check_mesh(mesh)
        times = mesh_lines(domain.start, domain.end, count, through[-1], lines)
        rank = periodic_classes(mesh, space_pairs) if space_pairs else None
        mesh = extrude(mesh, times, ("initial", "final"), has_time=True, rank=rank)
    check_mesh(mesh)
    for pair in pairs:
        match_periodic(mesh, *pair)
    return mesh


def _unfolded(
    shape: Shape, size: float, fine: Sequence[tuple[Sequence[float], float]], options: Mapping[str, Any]
) -> Mesh:
    """A mesh of a shape, finer where curved cells would fold over themselves: in gaps that are thin for cells along them."""
    places = list(fine)
    for _ in range(_UNFOLDINGS):
        mesh = mesh_shape(shape, size, fine=places, **options)
        if not mesh.curved or shape.dimension > 2:
            break
        corners = mesh.nodes[mesh.vertices]
        folded = folded_cells(mesh, np.linalg.det(corners[:, 1:] - corners[:, :1]) / 2)
        if not len(folded):
            break
        length = np.linalg.norm(corners[folded] - np.roll(corners[folded], 1, axis=1), axis=2).max(axis=1)
        places += [(x.tolist(), h / 2) for x, h in zip(corners[folded].mean(axis=1), length.tolist(), strict=True)]
    return mesh


def _check_size(domain: Domain, shape: Shape, size: float | None, cells: object) -> float:
    if size is None:
        return shape.extent / _DEFAULT_CELLS[domain.dimension]
    if cells is not None:
        raise PcpinnError(
            f"both size = {size!r} and cells = {cells!r} are given", "give one: cells for a structured mesh"
        )
    return positive(size, "size")


def _check_cells(shape: Shape, cells: Any, grading: object, curvature: object) -> tuple[int, ...]:
    if not isinstance(shape, Interval | Rectangle | Box):
        raise PcpinnError(
            f"cells = {cells!r} asks for a structured mesh, but the shape is a {type(shape).__name__}",
            "use size for shapes other than Interval, Rectangle and Box",
        )
    if grading is not None or curvature is not None:
        raise PcpinnError("grading and curvature have no effect on a structured mesh", "drop them, or use size")
    counts = tuple(cells) if isinstance(cells, Iterable) and not isinstance(cells, str) else (cells,)
    if len(counts) != shape.dimension:
        raise PcpinnError(
            f"cells = {cells!r} has {len(counts)} numbers for {shape.dimension} dimensions in space",
            "give one number of cells per dimension, and steps for time",
        )
    return tuple(_whole(n, "cells") for n in counts)


def _whole(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise PcpinnError(f"{what} holds {value!r}, which is not a whole number above 0", f"give {what} of 1 or more")
    return int(value)


def _check_kinks(domain: Domain, kinks: Sequence[Sequence[float]]) -> list[Sequence[float]]:
    """One list of places per coordinate."""
    if kinks and len(kinks) != domain.dimension:
        raise PcpinnError(
            f"kinks are given for {len(kinks)} axes, but there are {domain.dimension}",
            "give one list per coordinate (time included), separated by semicolons; a list may be empty",
        )
    return list(kinks) or [()] * domain.dimension


def _steps(domain: Domain, shape: Shape, size: float, counts: tuple[int, ...] | None, steps: Any) -> int:
    """Layers in time. Time has another unit than space, so the default counts cells instead of measuring them."""
    if domain is shape:
        return 1
    if steps is not None:
        return _whole(steps, "steps")
    return max(counts) if counts else max(4, int(np.ceil(min(shape.extent / size, _MOST_CELLS))))


def _check_count(domain: Domain, shape: Shape, size: float, counts: tuple[int, ...] | None, steps: int) -> None:
    """Refuse sizes that were surely mistyped: netgen would run for hours and then die."""
    lower, upper = shape.bounds
    per_axis = np.array(counts, dtype=float) if counts else np.maximum(1.0, (upper - lower) / size)
    simplices = {1: 1, 2: 2, 3: 6}[domain.dimension]  # per box of a grid
    estimate = float(np.prod(per_axis)) * steps * simplices
    if estimate > _MOST_CELLS:
        asked = f"cells = {counts}" if counts else f"size = {size:g}"
        raise PcpinnError(
            f"{asked} would give about {estimate:.2g} cells, more than the limit of {_MOST_CELLS:.2g}",
            "mesh coarser; for small details set curvature or grading instead",
        )
