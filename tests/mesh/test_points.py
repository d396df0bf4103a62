import numpy as np
import pytest

from pcpinn import Box, Disk, Interval, Rectangle
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.points import boundary_points, interior_points, spacing_of
from pcpinn.mesh.slab_mesh import SlabMesh

SHAPES = {1: Interval(0, 2), 2: Rectangle((0, 0), (2, 1)), 3: Box((0, 0, 0), (2, 1, 1))}
PLATE = Rectangle((-1, -1), (1, 1), name="outer") - Disk((0.2, 0.1), 0.5, name="hole")


def random(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def plate():
    return generate_mesh(PLATE, size=0.25, curved=True)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_points_fill_a_box_evenly(d):
    mesh = generate_mesh(SHAPES[d], cells=(3,) * d)
    x = interior_points(mesh, 8000, random())
    assert x.shape == (8000, d)
    assert SHAPES[d].contains(x).all()
    sides = np.array([2.0, 1.0, 1.0])[:d]
    np.testing.assert_allclose(x.mean(axis=0), sides / 2, atol=0.03)
    np.testing.assert_allclose(x.var(axis=0), sides**2 / 12, rtol=0.06)


def test_points_fill_curved_cells_evenly(plate):
    x = interior_points(plate, 20_000, random())
    assert PLATE.level(x).max() < 1e-3  # a quadratic arc is not quite the circle
    near = np.linalg.norm(x - [0.2, 0.1], axis=1) < 0.7
    area = 4 - 0.25 * np.pi
    assert near.mean() == pytest.approx(0.24 * np.pi / area, rel=0.05)


def test_points_on_a_circle_with_their_normals(plate):
    points = boundary_points(plate, "hole", 0.01, random())
    assert len(points.x) == pytest.approx(np.pi / 0.01, rel=0.02)
    arm = (points.x - [0.2, 0.1]) / 0.5
    np.testing.assert_allclose(np.linalg.norm(arm, axis=1), 1.0, atol=2e-3)
    np.testing.assert_allclose(points.normals, -arm, atol=0.03)
    np.testing.assert_allclose(np.linalg.norm(points.normals, axis=1), 1.0)
    np.testing.assert_allclose(arm.mean(axis=0), 0.0, atol=0.12)


def test_points_on_the_side_of_a_box():
    mesh = generate_mesh(SHAPES[3], cells=(2, 2, 2))
    points = boundary_points(mesh, "front", 0.05, random())
    assert len(points.x) == 2 * 20 * 20
    assert (points.x[:, 1] == 0).all()
    np.testing.assert_allclose(points.normals, [[0, -1, 0]] * len(points.x), atol=1e-12)
    np.testing.assert_allclose(points.x.mean(axis=0), [1, 0, 0.5], atol=0.06)


def test_ends_of_an_interval():
    mesh = generate_mesh(Interval(1, 3, name="ends"), cells=(4,))
    points = boundary_points(mesh, "ends", 0.1, random())
    order = np.argsort(points.x[:, 0])
    assert points.x[order].tolist() == [[1.0], [3.0]]
    assert points.normals[order].tolist() == [[-1.0], [1.0]]


def test_spacing_makes_boundary_as_dense_as_inside():
    mesh = generate_mesh(SHAPES[2], cells=(3, 3))
    assert spacing_of(mesh, 20_000) == pytest.approx(0.01)
    assert spacing_of(generate_mesh(SHAPES[1], cells=(3,)), 100) == pytest.approx(0.02)


def test_same_seed_same_points(plate):
    assert (interior_points(plate, 50, random(3)) == interior_points(plate, 50, random(3))).all()
    assert (interior_points(plate, 50, random(3)) != interior_points(plate, 50, random(4))).any()


def slabs():
    return SlabMesh(generate_mesh(Disk((1.0, 0.0), 2.0, name="rim"), size=0.7), np.array([1.0, 1.5, 4.0]))


def test_points_over_slabs_of_time():
    mesh = slabs()
    x = interior_points(mesh, 4000, random())
    assert x.shape == (4000, 3)
    r = np.hypot(x[:, 0] - 1, x[:, 1])
    assert r.max() < 2 + 1e-3
    assert (r**2).mean() == pytest.approx(2.0, rel=0.05)
    assert (x[:, 2].min() >= 1, x[:, 2].max() <= 4) == (True, True)
    assert x[:, 2].mean() == pytest.approx(2.5, rel=0.03)
    assert spacing_of(mesh, 1000) == pytest.approx((4 * np.pi * 3 / 1000) ** (1 / 3), rel=1e-3)


def test_boundaries_of_slabs_of_time():
    mesh = slabs()
    rim = boundary_points(mesh, "rim", 0.2, random())
    assert len(rim.x) == pytest.approx(4 * np.pi * 3 / 0.2**2, rel=0.01)
    outward = (rim.x[:, :2] - [1, 0]) / 2
    np.testing.assert_allclose(rim.normals, np.column_stack([outward, np.zeros(len(outward))]), atol=0.05)
    for name, t, n in (("initial", 1.0, -1.0), ("final", 4.0, 1.0)):
        end = boundary_points(mesh, name, 0.2, random())
        assert len(end.x) == pytest.approx(4 * np.pi / 0.2**2, rel=0.01)
        assert (end.x[:, 2] == t).all()
        assert (end.normals == [0, 0, n]).all()
