"""What a function that is right at points of quadrature does between these and the walls."""

import numpy as np
import pytest

import pcpinn as pc
from pcpinn.discretize.beside_walls import beside_walls
from pcpinn.discretize.space import Space
from pcpinn.mesh.generate import generate_mesh


@pytest.mark.parametrize("domain", [pc.Interval(0, 1), pc.Rectangle((0, 0), (1, 1)), pc.Box((0, 0, 0), (1, 1, 1))])
def test_a_strip_that_no_point_of_quadrature_sees_is_seen(domain):
    """A function that is 1 at the wall x = 0 and falls to 0 before the first points: the integral of its square is w / 3."""
    mesh = generate_mesh(domain, cells=(4,) * domain.dimension)
    space = Space(mesh, [pc.Field("u")], 2, 7)
    width = 0.9 * float(space.quadrature.x[..., 0].min())
    strip = lambda x: np.maximum(0, 1 - x[:, :1] / width)  # noqa: E731
    assert not strip(space.quadrature.x.reshape(-1, mesh.dimension)).any()
    (found,) = beside_walls(space, strip, [np.zeros(space.size)])
    assert width / 3 < found[0] < 3 * width


def test_what_agrees_at_walls_adds_nothing():
    """A polynomial and its own nodal values, on a curved mesh."""
    space = Space(generate_mesh(pc.Disk((0, 0), 1.0), size=0.4), [pc.Field("u")], 3, 6)
    linear = lambda x: x[:, :1] - 2 * x[:, 1:]  # noqa: E731
    u = linear(space.scalar[0].nodes)[:, 0]
    same, other = beside_walls(space, linear, [u, u + 1])
    assert same[0] < 1e-20
    assert 0 < other[0] < 0.2
