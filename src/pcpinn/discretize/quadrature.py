"""Quadrature on reference cells of any order: scikit-fem's tables, and products of Gauss rules beyond them."""

from __future__ import annotations

import numpy as np
from scipy.special import roots_jacobi
from skfem.element import Element
from skfem.quadrature import get_quadrature
from skfem.refdom import RefTri

_TABLES = 19  # the highest order that scikit-fem tabulates on triangles


def quadrature_of(element: Element, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (d, q) and weights (q,) in the reference cell of an element, exact for polynomials of this degree."""
    if element.refdom is RefTri and order > _TABLES:
        return _collapsed(order)
    points, weights = get_quadrature(element, order)
    return points, weights


def _collapsed(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss rules on a square whose one side is collapsed to a corner of the triangle; its Jacobian is a Jacobi weight."""
    n = order // 2 + 1
    s, along = roots_jacobi(n, 0.0, 0.0)
    t, across = roots_jacobi(n, 1.0, 0.0)
    s, t = (1 + s) / 2, (1 + t) / 2
    points = np.stack([np.outer(s, 1 - t).ravel(), np.broadcast_to(t, (n, n)).ravel()])
    return points, np.outer(along, across).ravel() / 8
