"""Refuse meshes that cannot carry a finite-element space, before anything is computed on them."""

from __future__ import annotations

from math import factorial

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from ..errors import PcpinnError
from .check_curved import check_curved
from .mesh import Mesh
from .topology import Facets, facets_of, rows_in

_FLAT = 1e-13  # volume over (longest edge)^d below which a cell counts as flat; round-off is about 1e-16
_SHAPES = {1: (2,), 2: (3, 6), 3: (4, 10)}
_REPAIR = "repair or regenerate the mesh in the program that made it"


def check_mesh(mesh: Mesh) -> Mesh:
    """Return the mesh unchanged, or raise PcpinnError with the first thing that is wrong with it."""
    _check_arrays(mesh)
    volume = _signed_volumes(mesh)
    facets = facets_of(mesh.vertices)
    _check_sides(mesh, facets, volume)
    if mesh.curved:
        check_curved(mesh, volume)
    _check_connected(mesh, facets)
    _check_boundaries(mesh, facets)
    return mesh


def _check_arrays(mesh: Mesh) -> None:
    nodes, cells = mesh.nodes, mesh.cells
    if nodes.ndim != 2 or nodes.shape[1] not in _SHAPES:
        raise PcpinnError(f"the mesh's nodes have shape {nodes.shape}", "give nodes as an (n, d) array, d = 1, 2 or 3")
    if len(nodes) == 0 or cells.size == 0:
        raise PcpinnError(f"the mesh is empty: {len(nodes)} nodes, {len(cells)} cells", "give a mesh with cells")
    allowed = _SHAPES[nodes.shape[1]]
    if cells.ndim != 2 or cells.shape[1] not in allowed or cells.dtype.kind not in "iu":
        wanted = " or ".join(f"(c, {n})" for n in allowed)
        raise PcpinnError(
            f"the mesh's cells have shape {cells.shape} and type {cells.dtype}",
            f"give node numbers as an integer array of shape {wanted} in {nodes.shape[1]}D",
        )
    if nodes.dtype.kind != "f" or not np.all(np.isfinite(nodes)):
        bad = np.flatnonzero(~np.isfinite(nodes.astype(np.float64)).all(axis=1))
        where = f"node {bad[0]} is {nodes[bad[0]].tolist()}" if len(bad) else f"their type is {nodes.dtype}"
        raise PcpinnError(f"the mesh's coordinates are not all finite floats: {where}", _REPAIR)
    _check_range("the cells", cells, len(nodes))
    for name, rows in mesh.boundaries.items():
        rows = np.asarray(rows)
        if rows.size == 0:
            raise PcpinnError(
                f"the boundary {name!r} has no facets",
                "remove the name, or choose shapes or groups that leave a part of the boundary with that name",
            )
        if rows.ndim != 2 or rows.shape[1] != nodes.shape[1] or rows.dtype.kind not in "iu":
            raise PcpinnError(
                f"the facets of boundary {name!r} have shape {rows.shape} and type {rows.dtype}",
                f"give their node numbers as an integer array of shape (f, {nodes.shape[1]})",
            )
        _check_range(f"the facets of boundary {name!r}", rows, len(nodes))


def _check_range(what: str, numbers: np.ndarray, count: int) -> None:
    low, high = int(numbers.min()), int(numbers.max())
    if low < 0 or high >= count:
        raise PcpinnError(
            f"{what} use node {low if low < 0 else high}, but the mesh has nodes 0 to {count - 1}", _REPAIR
        )


def _signed_volumes(mesh: Mesh) -> np.ndarray:
    """(c,) volume, with the sign of the stored order of corners; refuses flat cells."""
    corners = mesh.nodes[mesh.vertices]
    edges = corners[:, 1:] - corners[:, :1]
    dimension = mesh.dimension
    volume = np.linalg.det(edges) / factorial(dimension)
    longest = np.sqrt(np.sum(edges**2, axis=2).max(axis=1))
    flat = np.flatnonzero(np.abs(volume) <= _FLAT * longest**dimension)
    if len(flat):
        c = int(flat[0])
        raise PcpinnError(
            f"{len(flat)} of {len(volume)} cells have no volume; the first is cell {c} at {_place(mesh, c)} "
            f"with nodes {mesh.vertices[c].tolist()}",
            "remove degenerate cells and merge duplicated nodes where the mesh was made",
        )
    return volume


def _check_sides(mesh: Mesh, facets: Facets, volume: np.ndarray) -> None:
    """Every facet has at most two cells, and these lie on opposite sides of it."""
    if facets.count.max() > 2:
        worst = int(np.argmax(facets.count))
        raise PcpinnError(
            f"{np.sum(facets.count > 2)} facets belong to more than two cells; the one with nodes "
            f"{facets.nodes[worst].tolist()} belongs to {facets.count[worst]}",
            "remove cells that overlap or are listed twice",
        )
    # The sign of the volume once the corners are ascending. The corner opposite facet k is then the k-th one, and
    # moving it to the end, behind the facet's own ascending corners, costs d - k swaps.
    orientation = np.sign(volume) * _permutation_sign(mesh.vertices)
    dimension = mesh.dimension
    side = orientation[:, None] * (-1.0) ** (dimension - np.arange(dimension + 1))
    total = np.bincount(facets.of_cell.ravel(), weights=side.ravel(), minlength=len(facets.count))
    wrong = (facets.count == 2) & (total != 0)
    if np.any(wrong):
        cells = np.flatnonzero(wrong[facets.of_cell].any(axis=1))
        raise PcpinnError(
            f"the mesh is tangled: at {np.sum(wrong)} facets both cells lie on the same side; "
            f"cell {cells[0]} at {_place(mesh, int(cells[0]))} is one of {len(cells)} cells involved",
            "untangle the mesh where it was made: move the nodes of inverted cells back, or mesh finer",
        )


def _permutation_sign(vertices: np.ndarray) -> np.ndarray:
    """(c,) +1 or -1: whether sorting each row takes an even or an odd number of swaps."""
    sign = np.ones(len(vertices))
    for i in range(vertices.shape[1]):
        for j in range(i + 1, vertices.shape[1]):
            sign[vertices[:, i] > vertices[:, j]] *= -1.0
    return sign


def _check_connected(mesh: Mesh, facets: Facets) -> None:
    """All cells can be reached from one another through facets."""
    cells = len(mesh.cells)
    owner = np.repeat(np.arange(cells), facets.of_cell.shape[1])
    by_facet = np.argsort(facets.of_cell.ravel(), kind="stable")
    owner, number = owner[by_facet], facets.of_cell.ravel()[by_facet]
    shared = np.flatnonzero(number[1:] == number[:-1])
    pairs = coo_matrix((np.ones(len(shared)), (owner[shared], owner[shared + 1])), shape=(cells, cells))
    pieces, label = connected_components(pairs, directed=False)
    if pieces > 1:
        sizes = np.sort(np.bincount(label))[::-1]
        shown = ", ".join(str(s) for s in sizes[:5]) + (", ..." if pieces > 5 else "")
        raise PcpinnError(
            f"the mesh falls into {pieces} pieces that share no facets, of {shown} cells",
            "join the pieces (shapes must overlap or share a side; in a mesh file merge duplicated nodes), "
            "or solve each piece as its own problem",
        )


def _check_boundaries(mesh: Mesh, facets: Facets) -> None:
    outer = facets.boundary
    for name, rows in mesh.boundaries.items():
        inside = ~rows_in(np.asarray(rows), outer)
        if np.any(inside):
            raise PcpinnError(
                f"{np.sum(inside)} of {len(rows)} facets called {name!r} are not on the boundary of the mesh; "
                f"the first has nodes {np.asarray(rows)[inside][0].tolist()}",
                "name only outer facets, and export the group together with the cells it bounds",
            )


def _place(mesh: Mesh, cell: int) -> str:
    centre = mesh.nodes[mesh.vertices[cell]].mean(axis=0)
    return "(" + ", ".join(f"{x:.4g}" for x in centre) + ")"
