"""The reference of poisson2d-ms: tensor-product elements of high degree, graded towards the interfaces.

The coefficient is constant on 5 x 5 cells, so the matrix is a sum of Kronecker products of one-dimensional matrices, one per
cell. At each crossing of interfaces the solution behaves as r^alpha with alpha down to 0.38; both axes are graded
geometrically towards the interfaces and the ends, so that every crossing and every end of an interface is resolved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from numpy.polynomial import Legendre, Polynomial

from ...solve.reference import Reference
from ..poisson2d_ms import C0, C1, CELLS, LOWER, UPPER
from ..poisson2d_ms import A as COEFFICIENT

POINTS_PER_AXIS = 101
_RATIO = 0.15  # of neighbouring element sizes near an interface


def make(level: int) -> tuple[Reference, dict[str, Any]]:
    """The reference with `level` layers of grading and degree level - 1; its error is the distance to level - 1."""
    axis = np.linspace(LOWER, UPPER, POINTS_PER_AXIS)
    solutions = {n: solve(n, n - 1, axis) for n in (level - 1, level)}
    fine, coarse = solutions[level], solutions[level - 1]
    difference = float(np.linalg.norm(fine.values - coarse.values) / np.linalg.norm(fine.values))
    points = np.stack([g.ravel() for g in np.meshgrid(axis, axis, indexing="ij")], axis=1)
    made = {
        "method": "tensor-product elements of high degree, geometrically graded towards the interfaces, direct solve",
        "level": level,
        "degrees": [coarse.degree, fine.degree],
        "unknowns": [coarse.unknowns, fine.unknowns],
        "smallest_elements": [coarse.smallest, fine.smallest],
        "difference": difference,
    }
    note = f"elements of degree {fine.degree} graded to {fine.smallest:.0e}, {fine.unknowns} unknowns"
    return Reference(points, fine.values.reshape(-1, 1), kind="certified", error=difference, note=note), made


@dataclass(frozen=True)
class GridSolution:
    """Values on the grid axis x axis, and the size of what was solved."""

    values: np.ndarray
    degree: int
    unknowns: int
    smallest: float


def solve(layers: int, degree: int, axis: np.ndarray) -> GridSolution:
    """Solve with so many graded layers on either side of each interface."""
    elements = _elements(layers)
    line = _Line(elements, degree)
    pieces = [line.matrices(i) for i in range(CELLS)]
    ends = [line.end(0), line.end(-1)]
    A = sp.csc_matrix((line.size**2, line.size**2))
    b = np.zeros(line.size**2)
    width = (UPPER - LOWER) / CELLS
    for i, (Kx, Mx) in enumerate(pieces):
        start = LOWER + width * i
        waves_x = _loads(line, i, start, width)
        for j, (Ky, My) in enumerate(pieces):
            a = COEFFICIENT[i, j]
            A += a * (sp.kron(Kx, My) + sp.kron(Mx, Ky))
            if i in (0, CELLS - 1):  # the boundary term a u v on the sides x = -10 and x = 10, and likewise in y
                A += a * sp.kron(ends[i > 0], My)
            if j in (0, CELLS - 1):
                A += a * sp.kron(Mx, ends[j > 0])
            waves_y = _loads(line, j, LOWER + width * j, width)
            b += C0[i, j] * np.kron(waves_x[0], waves_y[0]) + C1[i, j] * np.kron(waves_x[1], waves_y[1])
    factors = spla.splu(A.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    u = factors.solve(b)
    u += factors.solve(b - A @ u)
    E = line.values_at(axis)
    return GridSolution(E @ u.reshape(line.size, line.size) @ E.T, degree, line.size**2, float(np.diff(elements).min()))


def _elements(layers: int) -> np.ndarray:
    """Ends of the elements along an axis: each cell graded towards both of its ends."""
    half = np.concatenate([[0.0], 0.5 * _RATIO ** np.arange(layers, -1, -1.0)])
    unit = np.concatenate([half, 1 - half[-2::-1]])
    width = (UPPER - LOWER) / CELLS
    return np.concatenate([LOWER + width * (i + unit[: None if i == CELLS - 1 else -1]) for i in range(CELLS)])


def _loads(line: _Line, cell: int, start: float, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Integrals of the shape functions over a cell, plain and times sin(pi X)."""
    return line.load(cell, np.ones_like), line.load(cell, lambda x: np.sin(np.pi * (x - start) / width))


class _Line:
    """Continuous elements of one degree on an interval, split into CELLS groups of equally many elements."""

    def __init__(self, ends: np.ndarray, degree: int) -> None:
        self.ends, self.degree = ends, degree
        self.size = degree * (len(ends) - 1) + 1
        inner = np.real(Legendre.basis(degree).deriv().roots())
        nodes = np.concatenate([[-1.0], np.sort(inner), [1.0]])
        self._shapes = [Polynomial.fromroots(np.delete(nodes, k)) for k in range(degree + 1)]
        self._shapes = [s / s(x) for s, x in zip(self._shapes, nodes, strict=True)]
        self._quadrature = np.polynomial.legendre.leggauss(degree + 4)

    def matrices(self, cell: int) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Stiffness and mass over one cell, (size, size)."""
        x, w = self._quadrature
        value = np.array([s(x) for s in self._shapes])
        slope = np.array([s.deriv()(x) for s in self._shapes])
        stiffness, mass = (slope * w) @ slope.T, (value * w) @ value.T
        numbers, half = self._numbers(cell)
        rows = np.broadcast_to(numbers[:, :, None], (*numbers.shape, self.degree + 1)).ravel()
        columns = np.broadcast_to(numbers[:, None, :], (len(numbers), self.degree + 1, self.degree + 1)).ravel()
        shape = (self.size, self.size)
        K, M = (stiffness / half[:, None, None]).ravel(), (mass * half[:, None, None]).ravel()
        return sp.csr_matrix((K, (rows, columns)), shape), sp.csr_matrix((M, (rows, columns)), shape)

    def end(self, which: int) -> sp.csr_matrix:
        """The product of u and v at the first (0) or last (-1) point."""
        at = which % self.size
        return sp.csr_matrix(([1.0], ([at], [at])), (self.size, self.size))

    def load(self, cell: int, f: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Integrals of f times the shape functions over one cell, (size,)."""
        x, w = self._quadrature
        numbers, half = self._numbers(cell)
        left = self.ends[numbers[:, 0] // self.degree]
        points = left[:, None] + half[:, None] * (1 + x)
        value = np.array([s(x) for s in self._shapes])
        result = np.zeros(self.size)
        np.add.at(result, numbers, half[:, None] * ((f(points) * w) @ value.T))
        return result

    def values_at(self, x: np.ndarray) -> sp.csr_matrix:
        """(points, size): shape functions at points."""
        element = np.clip(np.searchsorted(self.ends, x, side="right") - 1, 0, len(self.ends) - 2)
        left, right = self.ends[element], self.ends[element + 1]
        local = 2 * (x - left) / (right - left) - 1
        columns = element[:, None] * self.degree + np.arange(self.degree + 1)
        value = np.array([s(local) for s in self._shapes]).T
        rows = np.broadcast_to(np.arange(len(x))[:, None], columns.shape)
        return sp.csr_matrix((value.ravel(), (rows.ravel(), columns.ravel())), (len(x), self.size))

    def _numbers(self, cell: int) -> tuple[np.ndarray, np.ndarray]:
        """Unknowns (elements of the cell, degree + 1) and half the elements' lengths."""
        count = (len(self.ends) - 1) // CELLS
        element = np.arange(cell * count, (cell + 1) * count)
        return element[:, None] * self.degree + np.arange(self.degree + 1), 0.5 * np.diff(self.ends)[element]
