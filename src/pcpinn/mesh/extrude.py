"""Tensor-product meshes: pull a mesh along one more coordinate and cut the prisms into simplices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .mesh import Mesh


def extrude(
    mesh: Mesh, levels: np.ndarray, names: tuple[str, str], *, has_time: bool = False, rank: np.ndarray | None = None
) -> Mesh:
    """Pull a straight mesh of d dimensions through the ascending (m + 1,) values `levels` of a further coordinate.

    Args:
        mesh: d = 1 or 2; its boundary names stay on the sides.
        levels: values of the new, last coordinate.
        names: of the facets at the first and at the last level.
        has_time: whether the new coordinate is time.
        rank: (n,) a number per node that sets the direction of the cuts; by default the node's own number. Any ranks
            without ties inside a cell give a conforming mesh; equal ranks on two sides give both the same cuts.
    """
    count, layers = len(mesh.nodes), len(levels) - 1
    nodes = np.column_stack([np.tile(mesh.nodes, (layers + 1, 1)), np.repeat(levels, count)])
    rank = np.arange(count) if rank is None else np.lexsort((np.arange(count), rank)).argsort()
    boundaries = {name: _prisms(np.asarray(rows), rank, count, layers) for name, rows in mesh.boundaries.items()}
    for name, cells in zip(names, (mesh.vertices, mesh.vertices + layers * count), strict=True):
        boundaries[name] = np.concatenate([boundaries[name], cells]) if name in boundaries else cells
    return Mesh(nodes, _prisms(mesh.vertices, rank, count, layers), boundaries, has_time)


def tensor_mesh(axes: Sequence[np.ndarray], names: Sequence[str]) -> Mesh:
    """Simplices of the grid with the ascending values `axes` of x, y, z. `names`: lower x, upper x, lower y, ..."""
    x = np.asarray(axes[0])
    points = np.arange(len(x))
    ends: dict[str, list[list[int]]] = {}
    for name, end in zip(names[:2], (0, len(x) - 1), strict=True):
        ends.setdefault(name, []).append([end])
    mesh = Mesh(
        x[:, None], np.column_stack([points[:-1], points[1:]]), {name: np.array(rows) for name, rows in ends.items()}
    )
    for k, values in enumerate(axes[1:], start=1):
        mesh = extrude(mesh, np.asarray(values), (names[2 * k], names[2 * k + 1]))
    return mesh


def _prisms(simplices: np.ndarray, rank: np.ndarray, count: int, layers: int) -> np.ndarray:
    """(c, k) simplices -> (layers * c * k, k + 1) simplices between consecutive levels.

    With the corners of the bottom a0 < a1 < ... in rank and the tops b0, b1, ... above them, the pieces are
    a0 ... ai bi ... for every i. Prisms that share a side cut it the same way, because they agree on the ranks.
    """
    bottom = np.take_along_axis(simplices, np.argsort(rank[simplices], axis=1), axis=1)
    top = bottom + count
    corners = bottom.shape[1]
    layer = np.concatenate([np.hstack([bottom[:, : i + 1], top[:, i:]]) for i in range(corners)])
    return (layer[None] + count * np.arange(layers)[:, None, None]).reshape(-1, corners + 1)
