"""Continuous elements of any degree on a grid of rectangles, from products of one-dimensional ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.polynomial import Polynomial
from numpy.polynomial.legendre import leggauss


@dataclass(frozen=True)
class Line:
    """Elements of a degree p on the intervals between ascending `ends` (c + 1,), with c p + 1 nodes."""

    ends: np.ndarray
    degree: int

    @property
    def size(self) -> int:
        """Number of nodes."""
        return (len(self.ends) - 1) * self.degree + 1

    @cached_property
    def cell_nodes(self) -> np.ndarray:
        """(c, p + 1) numbers of the nodes of each cell."""
        return np.arange(len(self.ends) - 1)[:, None] * self.degree + np.arange(self.degree + 1)

    @cached_property
    def shapes(self) -> list[Polynomial]:
        """The p + 1 shape functions on [0, 1]."""
        nodes = np.linspace(0, 1, self.degree + 1)
        parts = (Polynomial.fromroots(np.delete(nodes, i)) for i in range(self.degree + 1))
        return [part / part(x) for part, x in zip(parts, nodes, strict=True)]

    @cached_property
    def local(self) -> tuple[np.ndarray, np.ndarray]:
        """Mass and stiffness (p + 1, p + 1) of a cell of length one."""
        x, w = _gauss(self.degree + 1)
        phi = np.stack([s(x) for s in self.shapes])
        slope = np.stack([s.deriv()(x) for s in self.shapes])
        return (phi * w) @ phi.T, (slope * w) @ slope.T

    def load(self, f: np.ufunc | object) -> np.ndarray:
        """(size,) integrals of f against the shape functions."""
        x, w = _gauss(self.degree + 4)
        h = np.diff(self.ends)
        at = self.ends[:-1, None] + h[:, None] * x
        parts = np.einsum("c,cq,q,bq->cb", h, f(at), w, np.stack([s(x) for s in self.shapes]))  # type: ignore[operator]
        result = np.zeros(self.size)
        np.add.at(result, self.cell_nodes, parts)
        return result

    def evaluation(self, x: np.ndarray) -> sp.csr_matrix:
        """(n, size): nodal values to values at points x (n,)."""
        cell = np.clip(np.searchsorted(self.ends, x, side="right") - 1, 0, len(self.ends) - 2)
        X = (x - self.ends[cell]) / np.diff(self.ends)[cell]
        phi = np.stack([s(X) for s in self.shapes], axis=1)
        rows = np.repeat(np.arange(len(x)), self.degree + 1)
        return sp.csr_matrix((phi.ravel(), (rows, self.cell_nodes[cell].ravel())), shape=(len(x), self.size))


def diffusion(x: Line, y: Line, a: np.ndarray) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Mass and stiffness matrices of u -> -div(a grad u) with a (cells in x, cells in y); node numbers: x first."""
    (Mx, Kx), (My, Ky) = x.local, y.local
    hx, hy = np.diff(x.ends), np.diff(y.ends)
    nodes = (x.cell_nodes[:, None, :, None] * y.size + y.cell_nodes[None, :, None, :]).reshape(len(hx) * len(hy), -1)
    shape = (x.size * y.size,) * 2
    rows, columns = np.broadcast_arrays(nodes[:, :, None], nodes[:, None, :])
    where = rows.ravel().astype(np.int32), columns.ravel().astype(np.int32)

    def assemble(weights_and_parts: list[tuple[np.ndarray, np.ndarray]]) -> sp.csr_matrix:
        local = sum(weight.reshape(-1, 1, 1) * part for weight, part in weights_and_parts)
        return sp.csr_matrix((np.ravel(local), where), shape=shape)

    K = assemble([(a * hy / hx[:, None], np.kron(Kx, My)), (a * hx[:, None] / hy, np.kron(Mx, Ky))])
    return assemble([(hx[:, None] * hy, np.kron(Mx, My))]), K


def _gauss(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights on [0, 1]."""
    x, w = leggauss(count)
    return (x + 1) / 2, w / 2
