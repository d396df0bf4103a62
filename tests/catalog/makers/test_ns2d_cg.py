"""A coarse flow over the step: the same flux everywhere, and the shipped file."""

import numpy as np
import pytest

from pcpinn.catalog.makers.maker import distance
from pcpinn.catalog.makers.ns2d_cg import points, solve
from pcpinn.catalog.reference_file import shipped_reference


def test_coarse_flow():
    space, z = solve(3, 3, 2, 1)
    y, w = np.polynomial.legendre.leggauss(20)
    for x, height in ((1.0, 1.0), (2.5, 2.0), (4.0, 2.0)):
        at = np.stack([np.full(20, x), height * (y + 1) / 2], axis=1)
        assert height / 2 * w @ space.evaluate(z, at)[:, 0] == pytest.approx(2 / 3, rel=2e-3)
    assert distance(space.evaluate(z, points()), shipped_reference("ns2d-cg").values) < 5e-3


def test_points():
    x = points()
    assert np.hypot(x[:, 0] - 2, x[:, 1] - 1).min() > 0.02
    assert not ((x[:, 0] < 1.99) & (x[:, 1] > 1.01)).any()
