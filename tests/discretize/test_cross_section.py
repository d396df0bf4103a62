"""The mesh of space under a mesh in space and time."""

import numpy as np
import pytest

from pcpinn import Disk, Interval, Mesh, Rectangle
from pcpinn.discretize.cross_section import cross_section
from pcpinn.discretize.space import ScalarSpace
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.slab_mesh import SlabMesh

HOLED = Rectangle((0, 0), (2, 1)) - Disk((0.7, 0.5), 0.3)


def moved(mesh, change):
    """Nodes x -> change(x, s), s from 0 at the start to 1 at the end."""
    nodes, t = mesh.nodes.copy(), mesh.nodes[:, -1]
    nodes[:, :-1] = change(nodes[:, :-1], ((t - t.min()) / np.ptp(t))[:, None])
    return Mesh(nodes, mesh.cells, {}, True)


def area(mesh):
    return float(np.abs(mesh.skfem.mapping().detDF(np.array([[1 / 3], [1 / 3]]))).sum()) / 2


def test_of_slabs_it_is_their_own():
    space = generate_mesh(HOLED, size=0.3)
    assert cross_section(SlabMesh(space, np.array([0.0, 1.0]))) is space


def test_of_simplices_it_is_what_was_extruded():
    space = generate_mesh(HOLED, size=0.3, curved=False)
    found = cross_section(generate_mesh(HOLED.over(-1.0, 5.0), size=0.3, steps=3))
    assert found is not None
    assert (len(found.nodes), len(found.cells), found.has_time) == (len(space.nodes), len(space.cells), False)
    assert area(found) == pytest.approx(area(space))
    ends = cross_section(generate_mesh(Interval(2, 3).over(0, 1), cells=5, steps=2))
    np.testing.assert_allclose(np.sort(ends.nodes[:, 0]), np.linspace(2, 3, 6))


@pytest.mark.parametrize(
    "change",
    [
        lambda x, s: x * (1 - 0.5 * s),  # shrinks
        lambda x, s: x + s * [1.0, 0.0],  # moves away: its volume stays
        lambda x, s: x + np.sin(np.pi * s) * [0.1, 0.0],  # and comes back
        lambda x, s: x * (1 + np.sin(np.pi * s)),  # swells
    ],
)
def test_a_domain_that_changes_has_none(change):
    mesh = generate_mesh(HOLED.over(0.0, 1.0), size=0.4, steps=4)
    assert cross_section(moved(mesh, lambda x, s: x)) is not None
    assert cross_section(moved(mesh, change)) is None


def test_a_domain_that_shrinks_within_itself_has_none():
    """Every node stands over the start; the volume tells."""
    mesh = generate_mesh(Rectangle((-1, -1), (1, 1)).over(0.0, 1.0), cells=(2, 2), steps=2)
    assert cross_section(moved(mesh, lambda x, s: x * (1 - 0.5 * s))) is None


def test_a_domain_that_begins_in_a_point_has_none():
    cone = Mesh(np.array([[0.0, 0.0], [-1, 1], [1, 1]]), np.array([[0, 1, 2]]), {}, True)
    assert cross_section(cone) is None


@pytest.mark.parametrize("curved", [True, False])
def test_points_outside_of_a_mesh(curved):
    space = ScalarSpace(generate_mesh(HOLED, size=0.3, curved=curved), 1)
    inside = [[0.01, 0.01], [1.99, 0.5], [0.7, 0.85], [2.0, 1.0]]
    outside = [[0.7, 0.5], [0.7, 0.7], [0.45, 0.5], [2.01, 0.5], [-3.0, 9.0]]
    np.testing.assert_array_equal(space.outside(np.array(inside + outside)), [False] * 4 + [True] * 5)
