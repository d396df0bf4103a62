"""The wave equation m u_tt = Laplace u with zero Neumann conditions on a square, exactly in time.

Elements have Gauss-Lobatto nodes, so that the mass matrix is diagonal; its entries are exact integrals of m against the
shape functions. From one time of output to the next, u(t + s) = 2 cos(s sqrt(L)) u(t) - u(t - s) with L = M^-1 K, and the
cosine is a Chebyshev series, which costs about as much as leap-frog at its largest step and has no error of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.polynomial import Polynomial
from numpy.polynomial.legendre import legder, legroots, legval
from scipy.special import jv

from .tensor_elements import gauss

_SAFETY = 1.1  # times the largest eigenvalue that power iteration has found
_GAUSS = 10


@dataclass(frozen=True)
class LobattoLine:
    """`cells` equal cells from a to b with polynomials of a degree, and their values at Gauss-Lobatto nodes."""

    a: float
    b: float
    cells: int
    degree: int

    @property
    def h(self) -> float:
        """Length of a cell."""
        return (self.b - self.a) / self.cells

    @cached_property
    def rule(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and weights of a cell, on [0, 1]."""
        p = np.eye(self.degree + 1)[-1]
        x = np.concatenate([[-1.0], np.sort(legroots(legder(p)).real), [1.0]])
        return (x + 1) / 2, 1 / (self.degree * (self.degree + 1) * legval(x, p) ** 2)

    @cached_property
    def shapes(self) -> list[Polynomial]:
        """The shape functions on [0, 1]."""
        nodes = self.rule[0]
        parts = [Polynomial.fromroots(np.delete(nodes, i)) for i in range(self.degree + 1)]
        return [part / part(x) for part, x in zip(parts, nodes, strict=True)]

    @cached_property
    def cell_nodes(self) -> np.ndarray:
        """(cells, degree + 1) numbers of the nodes."""
        return np.arange(self.cells)[:, None] * self.degree + np.arange(self.degree + 1)

    @cached_property
    def nodes(self) -> np.ndarray:
        """Their places."""
        inner = self.a + self.h * (np.arange(self.cells)[:, None] + self.rule[0][:-1])
        return np.append(inner.ravel(), self.b)

    @cached_property
    def mass(self) -> np.ndarray:
        """Diagonal of the lumped mass matrix."""
        return np.bincount(self.cell_nodes.ravel(), np.tile(self.h * self.rule[1], self.cells))

    @cached_property
    def stiffness(self) -> sp.csr_matrix:
        """Integrals of u' v', exact."""
        x, w = self.rule
        slope = np.stack([s.deriv()(x) for s in self.shapes])
        local = (slope * w) @ slope.T / self.h
        rows, columns = np.broadcast_arrays(self.cell_nodes[:, :, None], self.cell_nodes[:, None, :])
        return sp.csr_matrix((np.tile(local.ravel(), self.cells), (rows.ravel(), columns.ravel())))

    @cached_property
    def quadrature(self) -> tuple[np.ndarray, sp.csr_matrix]:
        """Gauss points of all cells, and the matrix from values there to integrals against the shape functions."""
        x, w = gauss(_GAUSS)
        local = self.h * w * np.stack([s(x) for s in self.shapes])
        points = self.a + self.h * (np.arange(self.cells)[:, None] + x)
        columns = np.arange(self.cells * _GAUSS).reshape(self.cells, _GAUSS)
        i, j = np.broadcast_arrays(self.cell_nodes[:, :, None], columns[:, None, :])
        return points.ravel(), sp.csr_matrix((np.tile(local.ravel(), self.cells), (i.ravel(), j.ravel())))

    def evaluation(self, x: np.ndarray) -> sp.csr_matrix:
        """(n, nodes): nodal values to values at x (n,)."""
        at = (x - self.a) / self.h
        cell = np.clip(np.floor(at).astype(int), 0, self.cells - 1)
        values = np.stack([s(at - cell) for s in self.shapes], axis=1)
        rows = np.repeat(np.arange(len(x)), self.degree + 1)
        shape = (len(x), len(self.nodes))
        return sp.csr_matrix((values.ravel(), (rows, self.cell_nodes[cell].ravel())), shape=shape)


def wave(
    line: LobattoLine, density: Callable[[np.ndarray, np.ndarray], np.ndarray], u: np.ndarray, s: float
) -> Iterator[np.ndarray]:
    """u (nodes in x, nodes in y) at 0, s, 2 s, ..., from rest; density takes axes x and y to m (len(x), len(y))."""
    points, integrate = line.quadrature
    m = integrate @ (integrate @ density(points, points).T).T
    if m.min() <= 0:
        raise ArithmeticError("the lumped mass is not positive")
    K, along_x, along_y = line.stiffness, line.mass / m, line.mass[:, None] / m

    def L(u: np.ndarray) -> np.ndarray:
        result: np.ndarray = K @ u
        result *= along_x
        across = np.ascontiguousarray((K @ np.ascontiguousarray(u.T)).T)
        across *= along_y
        result += across
        return result

    largest = _SAFETY * _largest_eigenvalue(L, u.shape)
    series = _cosine_series(s * np.sqrt(largest))
    before, now = u, _chebyshev(L, largest, series, u)
    yield before
    while np.abs(now).max() < 1e3 * np.abs(u).max():
        yield now
        before, now = now, 2 * _chebyshev(L, largest, series, now) - before
    raise ArithmeticError("the wave grows without bound")


def _largest_eigenvalue(L: Callable[[np.ndarray], np.ndarray], shape: tuple[int, ...]) -> float:
    """By power iteration, from below."""
    v = np.random.default_rng(0).normal(size=shape)
    result = 0.0
    for _ in range(60):
        v = L(v / np.linalg.norm(v))
        result = max(result, float(np.linalg.norm(v)))
    return result


def _cosine_series(z: float) -> np.ndarray:
    """c with cos(z r) = sum of c_k T_k(2 r^2 - 1) for r in [0, 1]: Bessel functions of even order."""
    k = np.arange(int(z / 2 + 4 * z ** (1 / 3)) + 30)
    c = 2 * (-1.0) ** k * jv(2 * k, z)
    c[0] /= 2
    return c[: np.flatnonzero(np.abs(c) > 1e-14).max() + 1]


def _chebyshev(L: Callable[[np.ndarray], np.ndarray], largest: float, series: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The sum of c_k T_k(2 L / largest - 1) u."""
    before, now = u, (2 / largest) * L(u) - u
    result = series[0] * before + series[1] * now
    for c in series[2:]:
        after = L(now)
        after *= 4 / largest
        after -= 2 * now
        after -= before
        before, now = now, after
        result += c * now
    return result
