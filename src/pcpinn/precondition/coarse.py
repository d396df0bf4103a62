"""A coarse space for P in parts: low polynomials on patches of the mesh, joined smoothly.

What parts cannot tell each other in one application, the long waves, is solved for all together in this space. On each patch
there are a constant and the coordinates; they are cut out by a partition of unity smoothed along the matrix's graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..errors import PcpinnError
from .amg import split_unknowns
from .partition import bisected_places

_NODES_PER_PATCH = 24  # fewer would make a coarse space as large as the problem
_WIDEST = 8  # smoothing steps of the edges of patches, if patches are as wide as that
_DEPENDENT = 1e-6  # of a function of a patch, beside those before it


@dataclass(frozen=True)
class CoarseSpace:
    """C = Z (Y^T A Z)^-1 Y^T.

    Attributes:
        Z: (N, m) functions; Y: (N, m) what residuals are tested with, zero where a row is a constraint.
        inverse: (m, m).
    """

    Z: sp.csr_matrix
    Y: sp.csr_matrix
    inverse: np.ndarray


def coarse_space(
    A: sp.csr_matrix, graph: sp.csr_matrix, places: np.ndarray, components: np.ndarray, patches: int
) -> CoarseSpace | None:
    """The coarse space of a matrix (N, N) whose degrees of freedom are at places (N, d); None if it would be empty.

    Args:
        A: with constraints as rows.
        graph: who is next to whom.
        places: of the degrees of freedom; components: (N,) which component each belongs to.
        patches: how many at most.

    Raises:
        PcpinnError: when A is singular on it.
    """
    _, free, tails = split_unknowns(A)
    patches = min(patches, len(free) // (_NODES_PER_PATCH * (int(components.max()) + 1)))
    if patches < 1:
        return None
    Y = _functions(graph, places, components, patches, free)
    Z = Y
    if len(tails):  # copies, as of periodic conditions: their rows say what they are
        rows = A[tails]
        minus = sp.csr_matrix(
            (-1 / A.diagonal()[tails], (tails, np.arange(len(tails)))), shape=(A.shape[0], len(tails))
        )
        Z = sp.csr_matrix(Y + minus @ (rows @ Y))
    matrix = (Y.T @ (A @ Z)).toarray()
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError as error:
        raise _singular(patches) from error
    if not np.isfinite(inverse).all():
        raise _singular(patches)
    return CoarseSpace(Z, Y, inverse)


def _singular(patches: int) -> PcpinnError:
    return PcpinnError(f"the coarse matrix of {patches} patches is singular", "use coarse=0, or another number")


def _functions(
    graph: sp.csr_matrix, places: np.ndarray, components: np.ndarray, patches: int, free: np.ndarray
) -> sp.csr_matrix:
    """(N, m): for each patch and component a constant and the coordinates, zero but at `free`, of length 1."""
    n, d = places.shape
    patch = bisected_places(places, patches)
    W = sp.csr_matrix((np.ones(n), (np.arange(n), patch)), shape=(n, patches))
    mean = sp.csr_matrix(sp.diags(1 / np.asarray(graph.sum(axis=1)).ravel()) @ graph)
    across = (n / patches / max(int(components.max()) + 1, 1)) ** (1 / d)
    for _ in range(min(_WIDEST, max(1, int(across / 2)))):
        W = sp.csr_matrix(mean @ W)
    is_free = np.zeros(n, dtype=bool)
    is_free[free] = True
    W = W.tocoo()
    rows, columns, weight = (a[is_free[W.row]] for a in (W.row, W.col, W.data))
    count = np.bincount(patch, minlength=patches)[:, None]
    centre = np.stack([np.bincount(patch, places[:, a], patches) for a in range(d)], 1) / count
    width = np.stack([np.bincount(patch, (places[:, a] - centre[patch, a]) ** 2, patches) for a in range(d)], 1) / count
    xi = (places[rows] - centre[columns]) / np.sqrt(np.where(width > 0, width, 1.0))[columns]
    kind = columns * (int(components.max()) + 1) + components[rows]  # a patch and a component
    order = np.argsort(kind, kind="stable")
    starts = np.flatnonzero(np.diff(kind[order], prepend=-1))
    blocks, place, used = [], [], 0
    for own in np.split(order, starts[1:]):
        table = weight[own, None] * np.column_stack([np.ones(len(own)), xi[own]])
        table = _independent(table)
        blocks.append((np.repeat(rows[own], table.shape[1]), table.ravel()))
        place.append(np.tile(used + np.arange(table.shape[1]), len(own)))
        used += table.shape[1]
    data = np.concatenate([b[1] for b in blocks])
    at = (np.concatenate([b[0] for b in blocks]), np.concatenate(place))
    return sp.csr_matrix((data, at), shape=(n, used))


def _independent(table: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what the columns span; nearly dependent ones are left out."""
    Q, R = np.linalg.qr(table)
    size = np.abs(np.diag(R))
    return Q[:, size > _DEPENDENT * size.max()] if len(size) else Q
