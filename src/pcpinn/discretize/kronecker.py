"""Sums of Kronecker products of small sparse matrices, built and applied without sorting what is already in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

Term = tuple[sp.csr_matrix, sp.csr_matrix]


@dataclass(frozen=True)
class Kronecker:
    """A = sum of kron(time, space) over the terms, before constraints; and which time levels and nodes are prescribed."""

    terms: tuple[Term, ...]
    fixed_layers: np.ndarray
    fixed_nodes: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of time levels and nodes."""
        return len(self.fixed_layers), len(self.fixed_nodes)

    @property
    def fixed(self) -> np.ndarray:
        """(time levels, nodes) which degrees of freedom are prescribed."""
        return self.fixed_layers[:, None] | self.fixed_nodes[None, :]

    def apply(self, u: np.ndarray) -> np.ndarray:
        """A u for u (time levels * nodes,), without the matrix."""
        table = u.reshape(self.shape)
        return sum(B @ (K @ table.T).T for B, K in self.terms).ravel()

    def matrix(self) -> sp.csr_matrix:
        """A."""
        return kronecker_sum(self.terms)

    def matrix_of_free(self) -> sp.csr_matrix:
        """A without the rows and columns of prescribed time levels and nodes, which get a 1 on the diagonal instead."""
        free = [sp.diags((~fixed).astype(float)) for fixed in (self.fixed_layers, self.fixed_nodes)]
        masked = [(sp.csr_matrix(free[0] @ B @ free[0]), sp.csr_matrix(free[1] @ K @ free[1])) for B, K in self.terms]
        return sp.csr_matrix(kronecker_sum(masked) + sp.diags(self.fixed.ravel().astype(float), format="csr"))


def kronecker_sum(terms: Sequence[Term]) -> sp.csr_matrix:
    """The sum of kron(B, K) over the terms (B, K), row by row of the first factors."""
    times, spaces = _on_common_pattern([B for B, _ in terms]), _on_common_pattern([K for _, K in terms])
    outer, inner = times[0], spaces[0]
    n = inner.shape[0]
    values = np.stack([K.data for K in spaces])  # (terms, p)
    coefficients = np.stack([B.data for B in times])  # (terms, t)
    row_of = np.repeat(np.arange(n), np.diff(inner.indptr))
    orders: dict[int, np.ndarray] = {}
    index = np.int32 if max(outer.nnz * inner.nnz, outer.shape[0] * n) < 2**31 else np.int64
    data = np.empty(outer.nnz * inner.nnz)
    indices = np.empty(outer.nnz * inner.nnz, dtype=index)
    counts = np.diff(outer.indptr)
    for row, count in enumerate(counts):
        part = slice(outer.indptr[row], outer.indptr[row + 1])
        if count not in orders:  # entries come block by block and are wanted row by row
            orders[count] = np.argsort(np.tile(row_of, count), kind="stable")
        order, at = orders[count], slice(part.start * inner.nnz, part.stop * inner.nnz)
        data[at] = (coefficients[:, part].T @ values).ravel()[order]
        indices[at] = (outer.indices[part, None].astype(index) * n + inner.indices).ravel()[order]
    indptr = np.concatenate([[0], np.cumsum((counts[:, None] * np.diff(inner.indptr)).ravel())]).astype(index)
    return sp.csr_matrix((data, indices, indptr), shape=(outer.shape[0] * n, outer.shape[1] * n))


def _on_common_pattern(matrices: Sequence[sp.csr_matrix]) -> list[sp.csr_matrix]:
    """The same matrices with the entries of all of them, zeros included."""
    pattern = sp.csr_matrix(sum(_ones(M) for M in matrices))
    pattern.sort_indices()
    offsets = np.arange(1, pattern.nnz + 1, dtype=np.float64)
    numbered = sp.csr_matrix((offsets, pattern.indices, pattern.indptr), shape=pattern.shape)
    result = []
    for M in matrices:
        M = sp.csr_matrix(M)
        place = numbered.multiply(_ones(M)).tocsr()
        place.sort_indices()
        M.sort_indices()
        data = np.zeros(pattern.nnz)
        data[place.data.astype(np.int64) - 1] = M.data
        result.append(sp.csr_matrix((data, pattern.indices, pattern.indptr), shape=pattern.shape))
    return result


def _ones(M: sp.csr_matrix) -> sp.csr_matrix:
    return sp.csr_matrix((np.ones(M.nnz), M.indices, M.indptr), shape=M.shape)
