"""A coarse cavity flow: its boundary values, and the shipped file."""

import numpy as np

from pcpinn.catalog.makers.maker import distance
from pcpinn.catalog.makers.ns2d_c import points, solve
from pcpinn.catalog.reference_file import shipped_reference


def test_coarse_flow():
    space, z = solve(3, 6, 2)
    lid = np.array([[0.25, 1.0], [0.7, 1.0]])
    np.testing.assert_allclose(space.evaluate(z, lid)[:, :2], [[0.75, 0], [0.84, 0]], atol=1e-3)
    origin = space.evaluate(z, np.zeros((1, 2)))
    np.testing.assert_allclose(origin, 0, atol=1e-12)
    assert distance(space.evaluate(z, points()), shipped_reference("ns2d-c").values) < 5e-3


def test_points():
    x = points()
    assert len(x) == 51**2 - 2
    assert not ((x[:, 1] == 1) & np.isin(x[:, 0], (0, 1))).any()
