"""Facets and edges of simplices, and which cells share them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Corners at the ends of each edge, by the dimension of the simplex; a curved triangle keeps its middle nodes in this order.
EDGES: dict[int, list[tuple[int, int]]] = {
    0: [],
    1: [(0, 1)],
    2: [(0, 1), (1, 2), (0, 2)],
    3: [(0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)],
}


@dataclass(frozen=True)
class Facets:
    """The facets of a set of cells, each once.

    Attributes:
        of_cell: (c, d + 1) facet number opposite the k-th smallest vertex of each cell.
        count: (f,) how many cells have the facet.
        nodes: (f, d) vertex numbers, ascending.
    """

    of_cell: np.ndarray
    count: np.ndarray
    nodes: np.ndarray

    @property
    def boundary(self) -> np.ndarray:
        """(b, d) vertices, ascending, of the facets that belong to one cell only."""
        return self.nodes[self.count == 1]


def facets_of(vertices: np.ndarray) -> Facets:
    """Number the facets of cells given by their (c, d + 1) vertices."""
    ordered = np.sort(vertices, axis=1)
    corners = vertices.shape[1]
    every = np.concatenate([np.delete(ordered, k, axis=1) for k in range(corners)])
    _, first, number, count = np.unique(row_keys(every), return_index=True, return_inverse=True, return_counts=True)
    return Facets(number.reshape(corners, -1).T, count, every[first])


def edges_of(*simplices: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Number the edges of several sets of simplices together.

    Args:
        simplices: (k, 1 + dimension) vertex numbers, of any dimensions.

    Returns:
        (e, 2) vertices of each edge, ascending, in lexicographic order; and for each set the (k, edges) numbers of its
        edges in the order of EDGES.
    """
    pairs = [rows[:, EDGES[rows.shape[1] - 1]].reshape(-1, 2) for rows in simplices if rows.shape[1] > 1]
    every = np.sort(np.concatenate(pairs), axis=1)
    _, first, number = np.unique(row_keys(every), return_index=True, return_inverse=True)
    found, start = [], 0
    for rows in simplices:
        shape = (len(rows), len(EDGES[rows.shape[1] - 1]))
        found.append(number[start : start + shape[0] * shape[1]].reshape(shape))
        start += shape[0] * shape[1]
    return every[first], found


def row_keys(rows: np.ndarray) -> np.ndarray:
    """One int64 per row of non-negative numbers, equal if and only if the rows are equal.

    Sorting one number per row is many times faster than sorting rows.
    """
    size = int(rows.max(initial=0)) + 1
    if float(size) ** rows.shape[1] >= 2.0**62:  # too large to pack: number the rows themselves
        return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    keys = rows[:, 0].astype(np.int64)
    for column in rows.T[1:]:
        keys = keys * size + column
    return keys


def rows_in(rows: np.ndarray, among: np.ndarray) -> np.ndarray:
    """(n,) whether each row of numbers, in any order, is a row of `among`."""
    both = np.sort(np.concatenate([rows, among]), axis=1)
    keys = row_keys(both)
    return np.isin(keys[: len(rows)], keys[len(rows) :])
