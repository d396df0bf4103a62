"""A mesh whose cells are cut at the middles of edges: new nodes, children, and named boundaries cut alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..problem.shapes import Domain
from .bend import bent, moved_onto
from .mesh import Mesh
from .onto_walls import curved_edges
from .quadratic import reference_nodes, shape_functions
from .topology import EDGES, edges_of


@dataclass(frozen=True)
class Children:
    """What a set of simplices is cut into.

    Attributes:
        local: (m, 1 + dimension) corners by their numbers in the parent: its corners, then the middles of its edges.
        parent: (m,) number of the simplex that each child is cut from.
    """

    local: np.ndarray
    parent: np.ndarray


@dataclass(frozen=True)
class EdgeTable:
    """The edges of a mesh: (e, 2) ends, (c, edges) numbers by cell, and by facet for each boundary's name."""

    ends: np.ndarray
    of_cell: np.ndarray
    of_facet: dict[str, np.ndarray]


def edge_table(mesh: Mesh) -> EdgeTable:
    """Number the edges of cells and named facets."""
    names = list(mesh.boundaries)
    ends, (of_cell, *of_facets) = edges_of(mesh.vertices, *(np.asarray(mesh.boundaries[n]) for n in names))
    return EdgeTable(ends, of_cell, dict(zip(names, of_facets, strict=True)))


def subdivided(
    mesh: Mesh,
    edges: EdgeTable,
    cut: np.ndarray,
    split: Callable[[np.ndarray, int], Children],
    domain: Domain | None = None,
    classes: np.ndarray | None = None,
) -> tuple[Mesh, np.ndarray]:
    """Cut edges at their middles, and cells and facets as `split` says.

    Args:
        mesh: straight or curved cells. Its nodes keep their numbers, new ones follow.
        edges: its `edge_table`.
        cut: (e,) bool, which edges get a node in their middle.
        split: (numbers of edges (k, edges), dimension) -> the children of k simplices; must cut all edges that are cut.
        domain: new nodes of its curved sides are moved there, unless that spoils cells.
        classes: (e,) equal for edges that are the same in a periodic domain: all of them are moved, or none.

    Returns:
        The mesh, and (m,) the parent of each of its cells.
    """
    d = mesh.dimension
    middle = np.full(len(edges.ends), -1)
    nodes = mesh.nodes
    if mesh.curved:
        middle[edges.of_cell] = mesh.cells[:, d + 1 :]
    else:
        middle[cut] = len(nodes) + np.arange(np.sum(cut))
        nodes = np.vstack([nodes, nodes[edges.ends[cut]].mean(axis=1)])
    children = split(edges.of_cell, d)
    lattice = np.hstack([mesh.vertices, middle[edges.of_cell]])
    cells = lattice[children.parent[:, None], children.local]
    boundaries = {}
    for name, rows in mesh.boundaries.items():
        parts = split(edges.of_facet[name], d - 1)
        boundaries[name] = np.hstack([rows, middle[edges.of_facet[name]]])[parts.parent[:, None], parts.local]
    moving, of_edge = middle[cut], np.flatnonzero(cut)  # nodes that may move to a wall, and their edges
    if mesh.curved:
        cells, nodes, number, edge = _curved(mesh, edges, lattice, children, cells)
        if d == 2:
            moving, of_edge = np.append(moving, number), np.append(of_edge, edge)
    walls = curved_edges(mesh, domain)
    placed = nodes
    if walls is not None:
        # Of tetrahedra corners alone: middles follow them, and those on walls are moved once corners are there. Edges across
        # faces on a wall are none of the parents'.
        checked = cells[:, : d + 1] if d == 3 else cells
        placed = moved_onto(walls, nodes, checked, edges.ends, moving, of_edge, classes)
    if mesh.curved and d == 3:
        placed = placed.copy()
        shift = placed - nodes
        placed[cells[:, d + 1 :]] += shift[cells[:, EDGES[d]]].mean(axis=2)
        return bent(Mesh(placed, cells, boundaries, mesh.has_time), domain), children.parent
    return Mesh(placed, cells, boundaries, mesh.has_time), children.parent


def _curved(
    mesh: Mesh, edges: EdgeTable, lattice: np.ndarray, children: Children, corners: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Middle nodes of the children of curved cells, where the parent's quadratic map puts them.

    Returns:
        (m, b) cells, all nodes, and the numbers of the new nodes on edges of parents with the numbers of these edges.
    """
    d = mesh.dimension
    along, halves, between = _tables(d)
    count = len(EDGES[d])
    start, end = (children.local[:, [e[k] for e in EDGES[d]]] for k in (0, 1))  # (m, edges) in the parent
    whole = along[start, end]  # an edge of the parent that is not cut
    half = halves[start, end]
    pairs = np.sort(corners[:, EDGES[d]], axis=2)
    new = np.flatnonzero(whole.ravel() < 0)
    owner = np.repeat(children.parent, count)
    _, (number,) = edges_of(pairs.reshape(-1, 2)[new]) if len(new) else (None, (np.zeros((0, 1), dtype=np.int64),))
    number = number[:, 0]
    _, first = np.unique(number, return_index=True)
    weights = between[start.ravel()[new[first]], end.ravel()[new[first]]]
    parents = mesh.nodes[lattice[owner[new[first]]]]
    nodes = np.vstack([mesh.nodes, np.einsum("nb,nbd->nd", weights, parents)])
    middles = lattice[owner, d + 1 + whole.ravel()]
    middles[new] = len(mesh.nodes) + number
    outer = half.ravel()[new[first]]
    on = np.flatnonzero(outer >= 0)
    of_edge = edges.of_cell[owner[new[first[on]]], outer[on]]
    return np.hstack([corners, middles.reshape(-1, count)]), nodes, len(mesh.nodes) + on, of_edge


@cache
def _tables(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By the local numbers of two nodes of a quadratic simplex, (b, b) each and (b, b, b).

    The edge that they bound, the edge that they halve (else -1), and the quadratic shape functions half-way between them.
    """
    nodes = reference_nodes(d)
    along, half = np.full((2, len(nodes), len(nodes)), -1)
    for k, (i, j) in enumerate(EDGES[d]):
        m = d + 1 + k
        along[i, j] = along[j, i] = k
        half[[i, j, m, m], [m, m, i, j]] = k
    return along, half, shape_functions((nodes[:, None] + nodes[None]) / 2)
