"""Parts of a mesh: degrees of freedom divided by where they are, and parts that overlap."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def bisected_places(places: np.ndarray, parts: int) -> np.ndarray:
    """Which of `parts` parts each place (N, d) belongs to: (N,), by recursive bisection along the longest side.

    Parts have the same number of different places but for one: what is at one place, such as several fields or time levels at
    a node, stays together. Ties go by order, so the answer is the same on every machine.
    """
    places, which = np.unique(places, axis=0, return_inverse=True)
    result = np.zeros(len(places), dtype=np.int64)
    todo = [(np.arange(len(places)), parts, 0)]
    while todo:
        own, count, first = todo.pop()
        if count == 1:
            result[own] = first
            continue
        axis = int(np.ptp(places[own], axis=0).argmax()) if len(own) else 0
        ordered = own[np.argsort(places[own, axis], kind="stable")]
        less = count // 2
        cut = round(len(own) * less / count)
        todo += [(np.sort(ordered[cut:]), count - less, first + less), (np.sort(ordered[:cut]), less, first)]
    return result[which.ravel()]


def neighbours(A: sp.csr_matrix) -> sp.csr_matrix:
    """(N, N) ones where A or its transpose has an entry, and on the diagonal: who is next to whom."""
    pattern = sp.csr_matrix((np.ones(len(A.data)), A.indices, A.indptr), shape=A.shape)
    both = sp.csr_matrix(pattern + pattern.T + sp.identity(A.shape[0]))
    both.data[:] = 1.0
    return both


def grown(graph: sp.csr_matrix, own: np.ndarray, layers: int) -> np.ndarray:
    """Numbers `own` and all that are at most so many steps away, in order."""
    reached = np.zeros(graph.shape[0], dtype=bool)
    reached[own] = True
    front = own
    for _ in range(layers):
        near = np.unique(graph[front].indices)
        front = near[~reached[near]]
        reached[front] = True
    return np.flatnonzero(reached)
