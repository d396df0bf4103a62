"""Nodal elements on simplices, by name, dimension and degree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import skfem
from numpy.polynomial import Polynomial
from skfem.element import Element, ElementH1
from skfem.refdom import RefLine, RefTet

from ..errors import PcpinnError
from ..recipes import Registry


class LagrangeLine(ElementH1):
    """Nodal element of any degree on an interval, with equally spaced nodes (scikit-fem's own is hierarchical)."""

    refdom = RefLine
    nodal_dofs = 1

    def __init__(self, degree: int) -> None:
        self.maxdeg = degree
        self.interior_dofs = degree - 1
        self.dofnames = ["u"] * degree
        nodes = np.concatenate([[0.0, 1.0], np.arange(1, degree) / degree])
        self.doflocs = nodes[:, None]
        self._shapes = []
        for i, node in enumerate(nodes):
            others = np.delete(nodes, i)
            self._shapes.append(Polynomial.fromroots(others) / np.prod(node - others))

    def lbasis(self, X: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Value and gradient of shape function i at reference points X (1, ...)."""
        if not 0 <= i < len(self._shapes):
            self._index_error()
        return self._shapes[i](X[0]), self._shapes[i].deriv()(X[0])[None]


class CubicTetrahedron(ElementH1):
    """Nodal element of degree three on tetrahedra: corners, two nodes on each edge, one on each face."""

    refdom = RefTet
    nodal_dofs, edge_dofs, facet_dofs = 1, 2, 1
    maxdeg = 3
    dofnames = ["u", "u", "u", "u"]  # noqa: RUF012
    _exponents = np.array([(i, j, k) for i in range(4) for j in range(4 - i) for k in range(4 - i - j)])

    def __init__(self) -> None:
        corners = np.vstack([np.zeros(3), np.eye(3)])
        on_edges = [(2 * corners[a] + corners[b]) / 3 for e in RefTet.edges for a, b in (e, e[::-1])]
        on_faces = [corners[list(face)].mean(axis=0) for face in RefTet.facets]
        self.doflocs = np.vstack([corners, on_edges, on_faces])
        self._coefficients = np.linalg.inv(self._monomials(self.doflocs.T)[0])  # (monomials, nodes)

    def _monomials(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values (..., 20) and gradients (3, ..., 20) at X (3, ...)."""
        powers = [np.stack([x**n for n in range(4)]) for x in X]
        slopes = [np.stack([n * x ** max(n - 1, 0) for n in range(4)]) for x in X]
        parts = [
            [(slopes if axis == own else powers)[own][self._exponents[:, own]] for own in range(3)] for axis in range(3)
        ]
        value = np.prod([powers[own][self._exponents[:, own]] for own in range(3)], axis=0)
        gradient = np.stack([np.prod(part, axis=0) for part in parts])
        return np.moveaxis(value, 0, -1), np.moveaxis(gradient, 1, -1)

    def lbasis(self, X: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Value and gradient of shape function i at reference points X (3, ...)."""
        if not 0 <= i < len(self.doflocs):
            self._index_error()
        value, gradient = self._monomials(X)
        return value @ self._coefficients[:, i], gradient @ self._coefficients[:, i]


_LAGRANGE = {
    (1, 1): skfem.ElementLineP1,
    (1, 2): lambda: LagrangeLine(2),
    (1, 3): lambda: LagrangeLine(3),
    (1, 4): lambda: LagrangeLine(4),
    (2, 1): skfem.ElementTriP1,
    (2, 2): skfem.ElementTriP2,
    (2, 3): skfem.ElementTriP3,
    (2, 4): skfem.ElementTriP4,
    (3, 1): skfem.ElementTetP1,
    (3, 2): skfem.ElementTetP2,
    (3, 3): CubicTetrahedron,
}


def _lagrange(dimension: int, degree: int) -> Element:
    """On intervals (1), triangles (2) or tetrahedra (3)."""
    return _LAGRANGE[dimension, degree]()


@dataclass(frozen=True)
class ElementFamily:
    """Nodal elements of one kind on simplices, of several degrees.

    Attributes:
        name: the key `element` of `pcpinn.Meshing`.
        make: dimension, degree -> an element of scikit-fem for scalar functions, continuous across facets, whose degrees of
            freedom are the values at its `doflocs`.
        highest: the highest degree by dimension; a dimension that is not there has no elements.
    """

    name: str
    make: Callable[[int, int], Element]
    highest: Mapping[int, int]

    def element(self, dimension: int, degree: int) -> Element:
        """That of a degree.

        Raises:
            PcpinnError: when there is none, or it has other degrees of freedom than values at nodes.
        """
        if not 1 <= degree <= self.highest.get(dimension, 0):
            exist = [f"degrees 1 to {k} on {_CELLS[d]}" for d, k in sorted(self.highest.items())]
            raise PcpinnError(
                f"there are no {self.name} elements of degree {degree} in {dimension} dimensions",
                f"there are {', '.join(exist)}",
            )
        element = self.make(dimension, degree)
        if not _is_nodal(element, dimension):
            raise PcpinnError(
                f"the degrees of freedom of element={self.name} are not values at nodes, as networks have them",
                "use element=lagrange",
            )
        return element


_CELLS = {1: "intervals", 2: "triangles", 3: "tetrahedra"}


def _is_nodal(element: Element, dimension: int) -> bool:
    """Whether shape function i is a scalar that is one at node i and zero at the others."""
    nodes = np.asarray(getattr(element, "doflocs", np.nan), dtype=float)  # (b, d)
    shapes = getattr(element, "lbasis", None)  # elements with derivatives as degrees of freedom have no such thing
    if shapes is None or nodes.ndim != 2 or nodes.shape[1] != dimension or not np.isfinite(nodes).all():
        return False
    values = [np.asarray(shapes(nodes.T, i)[0]) for i in range(len(nodes))]
    return all(v.shape in ((), (len(nodes),)) for v in values) and np.allclose(
        [np.broadcast_to(v, len(nodes)) for v in values], np.eye(len(nodes)), atol=1e-8
    )


ELEMENTS: Registry[ElementFamily] = Registry("element", "elements")
LAGRANGE = ELEMENTS.register(ElementFamily("lagrange", _lagrange, {1: 4, 2: 4, 3: 3}))
