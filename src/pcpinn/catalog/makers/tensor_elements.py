"""Continuous elements of any degree on a grid of rectangles, from products of one-dimensional ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

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
    def nodes(self) -> np.ndarray:
        """(size,) their places."""
        inside = np.arange(self.degree) / self.degree
        return np.append((self.ends[:-1, None] + np.diff(self.ends)[:, None] * inside).ravel(), self.ends[-1])

    @cached_property
    def shapes(self) -> list[Polynomial]:
        """The p + 1 shape functions on [0, 1]."""
        nodes = np.linspace(0, 1, self.degree + 1)
        parts = (Polynomial.fromroots(np.delete(nodes, i)) for i in range(self.degree + 1))
        return [part / part(x) for part, x in zip(parts, nodes, strict=True)]

    @cached_property
    def local(self) -> tuple[np.ndarray, np.ndarray]:
        """Mass and stiffness (p + 1, p + 1) of a cell of length one."""
        x, w = gauss(self.degree + 1)
        phi, slope = self.shape_values(x), self.shape_values(x, derivative=True)
        return (phi * w) @ phi.T, (slope * w) @ slope.T

    def shape_values(self, X: np.ndarray, derivative: bool = False) -> np.ndarray:
        """(p + 1, n) shape functions, or their derivatives, at X (n,) in [0, 1]."""
        return np.stack([(s.deriv() if derivative else s)(X) for s in self.shapes])

    def load(self, f: np.ufunc | object) -> np.ndarray:
        """(size,) integrals of f against the shape functions."""
        x, w = gauss(self.degree + 4)
        h = np.diff(self.ends)
        at = self.ends[:-1, None] + h[:, None] * x
        parts = np.einsum("c,cq,q,bq->cb", h, f(at), w, self.shape_values(x))  # type: ignore[operator]
        result = np.zeros(self.size)
        np.add.at(result, self.cell_nodes, parts)
        return result

    def evaluation(self, x: np.ndarray) -> sp.csr_matrix:
        """(n, size): nodal values to values at points x (n,)."""
        cell = self.cell_of(x)
        rows = np.repeat(np.arange(len(x)), self.degree + 1)
        return sp.csr_matrix(
            (self.at(x, cell).ravel(), (rows, self.cell_nodes[cell].ravel())), shape=(len(x), self.size)
        )

    def cell_of(self, x: np.ndarray, side: Literal["left", "right"] = "right") -> np.ndarray:
        """(n,) the cell that holds each x; at an end between two cells the one on that side of it."""
        shift = 1e-12 * (self.ends[-1] - self.ends[0]) * (1 if side == "right" else -1)
        return np.clip(np.searchsorted(self.ends, x + shift) - 1, 0, len(self.ends) - 2)

    def at(self, x: np.ndarray, cell: np.ndarray) -> np.ndarray:
        """(n, p + 1) the shape functions of given cells at x (n,)."""
        return self.shape_values((x - self.ends[cell]) / np.diff(self.ends)[cell]).T


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


def gauss(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights on [0, 1]."""
    x, w = leggauss(count)
    return (x + 1) / 2, w / 2
