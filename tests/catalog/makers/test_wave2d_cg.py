"""The coefficient of wave2d-cg, and its shipped values against another method."""

import numpy as np
from scipy.ndimage import map_coordinates

from pcpinn.catalog.makers.maker import distance
from pcpinn.catalog.makers.wave2d_cg import slowness
from pcpinn.catalog.random_field import two_phases
from pcpinn.catalog.reference_file import shipped_reference


def test_the_coefficient_at_and_between_the_nodes_of_the_field():
    axis = np.linspace(-1, 1, 256)
    table = two_phases(1.0, 12.0)
    np.testing.assert_allclose(1 / slowness(axis, axis), table.T, rtol=1e-9)
    middle = (axis[:-1] + axis[1:]) / 2
    between = (table[1:, 1:] + table[:-1, 1:] + table[1:, :-1] + table[:-1, :-1]) / 4
    np.testing.assert_allclose(1 / slowness(middle, middle), between.T, rtol=1e-9)


def test_shipped_values_against_finite_differences():
    """Leap-frog on the field's own grid, with the coefficient at its nodes; mirrored at the sides."""
    reference = shipped_reference("wave2d-cg")
    values = reference.values.reshape(51, 51, 51)
    x, step, per_output = np.linspace(-1, 1, 256), 1e-3, 100
    h, c = x[1] - x[0], two_phases(1.0, 12.0).T
    u = np.exp(-((x[:, None] + 0.5) ** 2 + x**2) / 0.18)

    def acceleration(u):
        p = np.pad(u, 1, mode="reflect")
        return c * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u) / h**2

    at = np.broadcast_to(np.linspace(0, 255, 51)[:, None], (51, 51))
    before, u = u, u + step**2 / 2 * acceleration(u)
    np.testing.assert_allclose(values[:, :, 0], map_coordinates(before, [at, at.T], mode="mirror"), atol=1e-5)
    for _ in range(5 * per_output - 1):
        before, u = u, 2 * u - before + step**2 * acceleration(u)
    assert distance(map_coordinates(u, [at, at.T], mode="mirror"), values[:, :, 5]) < 1e-2
