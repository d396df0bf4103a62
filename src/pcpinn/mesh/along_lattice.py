"""Meshes of rectangles whose cells keep to some edges of a lattice of lines: fine along these, coarse elsewhere.

Cells are bisected in a plane where all lines of the lattice are one apart, so that halves of halves end on lines; then nodes are
put where the lines are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..problem.shapes import Rectangle
from .bisect import bisected
from .generate import generate_mesh
from .mesh import Mesh

_INSIDE = 1e-6  # of a cell: what is further from its sides is inside
_ROUNDS = 20
_FREE = 1.15  # so many times more cells are taken for smaller ones elsewhere


def mesh_along(shape: Rectangle, lines: Sequence[np.ndarray], edges: np.ndarray, cells: int, most: float) -> Mesh:
    """A mesh with no chosen edge of the lattice inside a cell, or with as few of them as is affordable.

    Args:
        shape: what is meshed.
        lines: along each axis the coordinates of the lattice's lines, sorted, with the ends of the shape.
        edges: (m, 2) middles of the chosen edges, in places of lines: 3 and 4.5 is on line 3, halfway between lines 4 and 5.
        cells: about so many along the longer side far from the edges; more where these cost next to nothing.
        most: cells that are affordable.
    """
    counts = np.array([len(line) - 1 for line in lines])
    halvings = int(np.floor(np.log2(max(counts.max() / cells, 1.0))))
    halvings = max(0, min(halvings, int(np.floor(np.log2(max(counts.min() / 2, 1.0))))))
    result = _bisected(shape, lines, edges, halvings, most)
    while halvings:
        halvings -= 1
        finer = _bisected(shape, lines, edges, halvings, _FREE * result.cell_count)
        if finer.cell_count > min(most, _FREE * result.cell_count):
            break
        result = finer
    return result


def _bisected(shape: Rectangle, lines: Sequence[np.ndarray], edges: np.ndarray, halvings: int, most: float) -> Mesh:
    """From squares of 2^halvings lines; a mesh with more cells than `most` is given only where it is the first."""
    even = [_even(line, 2**halvings) for line in lines]
    sizes = [len(line) - 1 for line, _ in even]
    at = np.column_stack([np.interp(edges[:, k], *even[k][1]) for k in range(2)])
    flat = replace(shape, lower=(0.0, 0.0), upper=(float(sizes[0]), float(sizes[1])))
    mesh = generate_mesh(flat, cells=[n // 2**halvings for n in sizes])
    for _ in range(_ROUNDS):
        wanted = _holding(mesh, at) if len(at) else np.zeros(0)
        if not wanted.any():
            break
        finer, _ = bisected(mesh, wanted)
        if finer.cell_count > most:
            break
        mesh = finer
    nodes = np.column_stack(
        [np.interp(mesh.nodes[:, k], np.arange(len(line)), line) for k, (line, _) in enumerate(even)]
    )
    return Mesh(nodes, mesh.cells, mesh.boundaries)


def _even(line: np.ndarray, multiple: int) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Lines whose number of gaps is a multiple, some gaps halved; and the places of the old lines, before and now."""
    gaps = len(line) - 1
    halved = np.floor((np.arange(-gaps % multiple) + 0.5) * gaps / max(-gaps % multiple, 1)).astype(int)
    middles = (line[halved] + line[halved + 1]) / 2
    every = np.sort(np.concatenate([line, middles]))
    return every, (np.arange(len(line), dtype=float), np.searchsorted(every, line).astype(float))


def _holding(mesh: Mesh, at: np.ndarray) -> np.ndarray:
    """(c,) bool: triangles with one of the points (m, 2) inside, not on their sides."""
    found = mesh.skfem.element_finder()(*at.T)
    corners = mesh.nodes[mesh.vertices[found]]
    sides = corners[:, 1:] - corners[:, :1]
    weights = np.linalg.solve(sides.transpose(0, 2, 1), (at - corners[:, 0])[..., None])[..., 0]
    inside = np.minimum(weights.min(axis=1), 1 - weights.sum(axis=1)) > _INSIDE
    result = np.zeros(mesh.cell_count, dtype=bool)
    result[found[inside]] = True
    return result
