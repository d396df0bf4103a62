"""Meshes of intervals and of their unions, differences and intersections."""

from __future__ import annotations

import numpy as np

from ..errors import PcpinnError
from ..problem.shapes import Interval, Shape
from .mesh import Mesh


def mesh_line(shape: Shape, size: float) -> Mesh:
    """Cells of at most `size` between the end points that occur in a one-dimensional shape."""
    ends = [
        (value, name)
        for part in shape.primitives
        if isinstance(part, Interval)
        for value, name in zip((part.a, part.b), part.side_names, strict=True)
    ]
    tolerance = 1e-12 * shape.extent
    stops = np.array(sorted(value for value, _ in ends))
    stops = stops[np.concatenate([[True], np.diff(stops) > tolerance])]  # end points that touch become one
    middles = 0.5 * (stops[:-1] + stops[1:])
    kept = np.flatnonzero(shape.level(middles[:, None]) < 0.0)
    if len(kept) == 0:
        raise PcpinnError("the domain is empty: nothing is left of the intervals", "cut away less")
    nodes: list[np.ndarray] = []
    cells: list[np.ndarray] = []
    boundaries: dict[str, list[list[int]]] = {}
    count = 0
    for i in kept:
        pieces = max(1, int(np.ceil((stops[i + 1] - stops[i]) / size * (1.0 - 1e-9))))
        points = np.linspace(stops[i], stops[i + 1], pieces + 1)
        continues = i > 0 and i - 1 in kept
        first = count - 1 if continues else count
        nodes.append(points[1:] if continues else points)
        numbers = first + np.arange(pieces + 1)
        cells.append(np.column_stack([numbers[:-1], numbers[1:]]))
        count = first + pieces + 1
        for is_end, value, number in (
            (not continues, stops[i], numbers[0]),
            (i + 1 not in kept, stops[i + 1], numbers[-1]),
        ):
            if is_end:  # where several intervals end, the one written first gives the name
                name = next(name for end, name in ends if abs(end - value) <= tolerance)
                boundaries.setdefault(name, []).append([int(number)])
    return Mesh(
        np.concatenate(nodes)[:, None],
        np.concatenate(cells),
        {name: np.array(rows) for name, rows in boundaries.items()},
    )
