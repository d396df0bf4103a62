"""Nodal elements of high degree on intervals and triangles, with nodes that stay well-conditioned.

Between equally spaced nodes polynomials of degree ten are tens of times as large as at them. Here nodes along edges are those
of Gauss and Lobatto; inside triangles they follow by recursion (Isaac 2020). Shape functions are combinations of orthonormal
polynomials, not of powers, whose rounding errors would show.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import legendre
from skfem.element import ElementH1
from skfem.refdom import RefLine, RefTri

from .elements import ELEMENTS, ElementFamily
from .time_scheme import lobatto_points

_HIGHEST = 12


def triangle_nodes(degree: int) -> np.ndarray:
    """((degree + 1)(degree + 2) / 2, 2): corners, nodes along the edges 01, 12 and 02, nodes inside."""
    lines = [np.zeros(1), *(lobatto_points(m + 1) for m in range(1, degree + 1))]
    along = range(1, degree)
    numbers = [(degree, 0, 0), (0, degree, 0), (0, 0, degree)]
    numbers += [(degree - k, k, 0) for k in along] + [(0, degree - k, k) for k in along]
    numbers += [(degree - k, 0, k) for k in along]
    numbers += [(degree - i - j, i, j) for j in along for i in range(1, degree - j)]
    return np.array([_barycentric(np.array(n), lines)[1:] for n in numbers])


def _barycentric(numbers: np.ndarray, lines: list[np.ndarray]) -> np.ndarray:
    """(3,) coordinates of the node with given whole numbers: those of lower dimension, opposite to each corner, averaged."""
    total, weights = np.zeros(3), 0.0
    degree = int(numbers.sum())
    for corner in range(3):
        others = [k for k in range(3) if k != corner]
        left = degree - int(numbers[corner])
        weight = lines[degree][left]
        total[others] += weight * lines[left][numbers[others]] if left else 0.0
        weights += weight
    return total / weights


class LobattoLine(ElementH1):
    """Nodal element on an interval."""

    refdom = RefLine
    nodal_dofs = 1

    def __init__(self, degree: int) -> None:
        self.maxdeg = degree
        self.interior_dofs = degree - 1
        self.dofnames = ["u"] * degree
        x = lobatto_points(degree + 1)
        nodes = np.concatenate([x[[0, -1]], x[1:-1]])
        self.doflocs = nodes[:, None]
        self._coefficients = np.linalg.inv(legendre.legvander(2 * nodes - 1, degree))  # (polynomials, nodes)
        self._slopes = 2 * legendre.legder(self._coefficients, axis=0)

    def lbasis(self, X: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Value and gradient of shape function i at reference points X (1, ...)."""
        if not 0 <= i < len(self.doflocs):
            self._index_error()
        x = 2 * X[0] - 1
        return legendre.legval(x, self._coefficients[:, i]), legendre.legval(x, self._slopes[:, i])[None]


class LobattoTriangle(ElementH1):
    """Nodal element on a triangle."""

    refdom = RefTri
    nodal_dofs = 1

    def __init__(self, degree: int) -> None:
        self.maxdeg = degree
        self.facet_dofs, self.interior_dofs = degree - 1, (degree - 1) * (degree - 2) // 2
        self.dofnames = ["u"] * (1 + self.facet_dofs + self.interior_dofs)
        self.doflocs = triangle_nodes(degree)
        self._coefficients = np.linalg.inv(orthonormal(degree, self.doflocs.T)[..., 0])
        self._last: tuple[np.ndarray, np.ndarray] | None = None

    def lbasis(self, X: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Value and gradient of shape function i at reference points X (2, ...)."""
        if not 0 <= i < len(self.doflocs):
            self._index_error()
        if self._last is None or not np.array_equal(self._last[0], X):  # all shape functions are asked for one by one
            polynomials = orthonormal(self.maxdeg, X)
            self._last = np.array(X), np.einsum("...pk,pi->ik...", polynomials, self._coefficients)
        shape = self._last[1][i]
        return shape[0], shape[1:]


def orthonormal(degree: int, X: np.ndarray) -> np.ndarray:
    """Dubiner's polynomials on the triangle (0, 0), (1, 0), (0, 1), with their gradients, at X (2, ...): (..., polynomials, 3).

    By recurrences that hold in the corner that other formulas divide by zero in (Karniadakis and Sherwin 2005, section 3.2).
    """
    x, y = _Jet.coordinate(2 * X[0] - 1, 0), _Jet.coordinate(2 * X[1] - 1, 1)
    along, across = (x * 2 + y + 1) * 0.5, ((y * -1 + 1) * 0.5).times((y * -1 + 1) * 0.5)
    first = [x * 0 + 1]
    for p in range(degree):
        grown = along.times(first[p]) * ((2 * p + 1) / (p + 1))
        first.append(grown if p == 0 else grown + across.times(first[p - 1]) * (-p / (p + 1)))
    result = []
    for p in range(degree + 1):
        column, alpha = [first[p]], 2 * p + 1.0
        for q in range(degree - p):
            a = (2 * q + 1 + alpha) * (2 * q + 2 + alpha) / (2 * (q + 1) * (q + 1 + alpha))
            b = alpha**2 * (2 * q + 1 + alpha) / (2 * (q + 1) * (2 * q + alpha) * (q + 1 + alpha))
            c = (q + alpha) * q * (2 * q + 2 + alpha) / ((q + 1) * (q + 1 + alpha) * (2 * q + alpha))
            grown = (y * a + b).times(column[q])
            column.append(grown if q == 0 else grown + column[q - 1] * -c)
        result += [u * (2 * np.sqrt((p + 0.5) * (p + q + 1))) for q, u in enumerate(column)]
    return np.moveaxis(np.stack([np.stack([u.value, 2 * u.dx, 2 * u.dy]) for u in result]), (0, 1), (-2, -1))


class _Jet:
    """A function at points with its two slopes."""

    def __init__(self, value: np.ndarray, dx: np.ndarray, dy: np.ndarray) -> None:
        self.value, self.dx, self.dy = value, dx, dy

    @classmethod
    def coordinate(cls, value: np.ndarray, axis: int) -> _Jet:
        one, zero = np.ones_like(value), np.zeros_like(value)
        return cls(value, zero if axis else one, one if axis else zero)

    def __add__(self, other: _Jet | float) -> _Jet:
        if isinstance(other, _Jet):
            return _Jet(self.value + other.value, self.dx + other.dx, self.dy + other.dy)
        return _Jet(self.value + other, self.dx, self.dy)

    def __mul__(self, factor: float) -> _Jet:
        return _Jet(factor * self.value, factor * self.dx, factor * self.dy)

    def times(self, other: _Jet) -> _Jet:
        """Their product."""
        u, v = self.value, other.value
        return _Jet(u * v, self.dx * v + u * other.dx, self.dy * v + u * other.dy)


def _lobatto(dimension: int, degree: int) -> ElementH1:
    return LobattoLine(degree) if dimension == 1 else LobattoTriangle(degree)


LOBATTO = ELEMENTS.register(ElementFamily("lobatto", _lobatto, {1: _HIGHEST, 2: _HIGHEST}))
