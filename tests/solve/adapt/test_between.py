"""What a function does between the nodes of a mesh."""

import numpy as np
import pytest

from pcpinn.discretize.space import Space
from pcpinn.mesh.generate import generate_mesh
from pcpinn.problem.problem import Field
from pcpinn.problem.shapes import Interval
from pcpinn.solve.adapt.between import between_nodes

SPACE = Space(generate_mesh(Interval(0, 1), cells=4), (Field("u"), Field("v")), 2, 12)


def test_a_polynomial_of_the_elements_degree_is_its_own_interpolant():
    found = between_nodes(SPACE, lambda x: np.hstack([x**2, 1 - x]))
    assert found.shape == (4, 2)
    np.testing.assert_allclose(found, 0, atol=1e-28)


def test_what_vanishes_at_the_nodes_is_seen_in_its_cell_and_field():
    def bumps(x):  # nodes are multiples of 1/8; in cell 2 alone it is not zero between them
        inside = (x > 0.5) & (x < 0.75)
        return np.hstack([0 * x, np.where(inside, np.sin(8 * np.pi * x), 0.0)])

    found = between_nodes(SPACE, bumps)
    assert found[2, 1] == pytest.approx(0.125, rel=1e-3)  # half of the cell's length
    found[2, 1] = 0
    np.testing.assert_allclose(found, 0, atol=1e-28)
