"""Nodal elements on simplices, by name, dimension and degree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product

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


class LagrangeTetrahedron(ElementH1):
    """Nodal element on tetrahedra, of degree three or four: corners, equally spaced nodes on edges, on faces and inside."""

    refdom = RefTet
    nodal_dofs = 1

    def __init__(self, degree: int) -> None:
        k = self.maxdeg = degree
        self.edge_dofs, self.facet_dofs = k - 1, (k - 1) * (k - 2) // 2
        self.interior_dofs = (k - 1) * (k - 2) * (k - 3) // 6
        self.dofnames = ["u"] * (1 + self.edge_dofs + self.facet_dofs + self.interior_dofs)
        corners = np.vstack([np.zeros(3), np.eye(3)])
        # Cells agree on the order of nodes along edges and on faces, since their corners are in ascending order.
        parts = ([*RefTet.edges], [*RefTet.facets], [range(4)])
        inside = [_within(k, len(own)) @ corners[list(own)] for part in parts for own in part]
        self.doflocs = np.vstack([corners, *inside])
        of = range(k + 1)
        self._exponents = np.array([p for p in product(of, of, of) if sum(p) <= k])
        self._coefficients = np.linalg.inv(self._monomials(self.doflocs.T)[0])  # (monomials, nodes)

    def _monomials(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values (..., m) and gradients (3, ..., m) at X (3, ...)."""
        of = range(self.maxdeg + 1)
        powers = [np.stack([x**n for n in of], axis=-1)[..., self._exponents[:, own]] for own, x in enumerate(X)]
        slopes = [
            np.stack([n * x ** max(n - 1, 0) for n in of], axis=-1)[..., self._exponents[:, own]]
            for own, x in enumerate(X)
        ]
        (a, b, c), (da, db, dc) = powers, slopes
        return a * b * c, np.stack([da * b * c, a * db * c, a * b * dc])

    def tabulate(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values (..., b) and gradients (3, ..., b) of all shape functions at reference points X (3, ...)."""
        value, gradient = self._monomials(X)
        return value @ self._coefficients, gradient @ self._coefficients

    def lbasis(self, X: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Value and gradient of shape function i at reference points X (3, ...)."""
        if not 0 <= i < len(self.doflocs):
            self._index_error()
        value, gradient = self._monomials(X)
        return value @ self._coefficients[:, i], gradient @ self._coefficients[:, i]


def _within(degree: int, corners: int) -> np.ndarray:
    """(n, corners) barycentric coordinates of the equally spaced nodes inside a simplex, those next to its first corner first."""
    inside = [p for p in product(range(1, degree), repeat=corners) if sum(p) == degree]
    return np.array(inside[::-1], dtype=float).reshape(-1, corners) / degree


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
    (3, 3): lambda: LagrangeTetrahedron(3),
    (3, 4): lambda: LagrangeTetrahedron(4),
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
LAGRANGE = ELEMENTS.register(ElementFamily("lagrange", _lagrange, {1: 4, 2: 4, 3: 4}))
