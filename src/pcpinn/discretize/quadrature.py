"""Quadrature on reference cells of any order: scikit-fem's tables, and products of Gauss rules beyond them."""

from __future__ import annotations

import numpy as np
from scipy.special import roots_jacobi
from skfem.element import Element
from skfem.quadrature import get_quadrature
from skfem.refdom import RefTet, RefTri

_TABLES = {RefTri: 19, RefTet: 9}  # the highest orders that scikit-fem tabulates


def quadrature_of(element: Element, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (d, q) and weights (q,) in the reference cell of an element, exact for polynomials of this degree."""
    if order > _TABLES.get(element.refdom, order):
        return _collapsed(order, element.refdom.dim())
    points, weights = get_quadrature(element, order)
    return points, weights


def _collapsed(order: int, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss rules on a square or cube, collapsed to a corner along its last axes; their Jacobians are Jacobi weights."""
    n = order // 2 + 1
    points, weights = np.zeros((0, 1)), np.ones(1)
    for k in range(dimension):  # of the next dimension: the last simplex shrinks along the new axis
        t, w = roots_jacobi(n, float(k), 0.0)
        t, w = (1 + t) / 2, w / 2 ** (k + 1)
        shrunk = (points[:, :, None] * (1 - t)).reshape(k, n * points.shape[1])
        points = np.vstack([shrunk, np.tile(t, points.shape[1])])
        weights = np.outer(weights, w).ravel()
    return points, weights
