"""Rules beyond scikit-fem's tables."""

from math import factorial

import numpy as np
import pytest

from pcpinn.discretize.elements import LAGRANGE
from pcpinn.discretize.quadrature import quadrature_of


@pytest.mark.parametrize(("dimension", "order"), [(2, 8), (2, 21), (3, 7), (3, 10), (3, 14)])
def test_exact_for_polynomials(dimension, order):
    X, w = quadrature_of(LAGRANGE.element(dimension, 2), order)
    assert w.min() > 0
    order -= (
        dimension == 3 and order < 10
    )  # scikit-fem's tables on tetrahedra are exact for one degree less from order 5 on
    random = np.random.default_rng(0)
    for powers in random.multinomial(order, np.ones(dimension) / dimension, size=20):
        exact = np.prod([factorial(p) for p in powers]) / factorial(order + dimension)
        assert w @ np.prod(X ** powers[:, None], axis=0) == pytest.approx(exact, rel=1e-10)
