"""Nodal Lagrange elements on simplices, by dimension and degree."""

from __future__ import annotations

import numpy as np
import skfem
from numpy.polynomial import Polynomial
from skfem.element import Element, ElementH1
from skfem.refdom import RefLine

from ..errors import PcpinnError


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


_ELEMENTS = {
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
}


def lagrange_element(dimension: int, degree: int) -> Element:
    """The Lagrange element of a degree on intervals (1), triangles (2) or tetrahedra (3)."""
    try:
        return _ELEMENTS[dimension, degree]()
    except KeyError:
        raise PcpinnError(
            f"there are no elements of degree {degree} in {dimension} dimensions",
            "degrees 1 to 4 exist on intervals and triangles, 1 and 2 on tetrahedra",
        ) from None
