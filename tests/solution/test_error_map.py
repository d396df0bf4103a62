"""Errors at scattered points as a surface."""

import numpy as np
import pytest
from formulas import plate_slabs, square_simplices

from pcpinn.mesh.generate import generate_mesh
from pcpinn.problem.shapes import Rectangle
from pcpinn.solution.error_map import error_surface
from pcpinn.solution.picture import subdivided


def inside_plate(n=600):
    x = np.random.default_rng(0).uniform(-1, 1, (n, 2))
    return x[np.hypot(*x.T) > 0.5]


def area(surface):
    x = surface.places[surface.shape.triangles]
    a, b = x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]
    return 0.5 * np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum()


def test_no_triangle_crosses_a_hole():
    x = inside_plate()
    mesh = plate_slabs().space
    surface = error_surface(mesh, x, 2 + x[:, 0], subdivided(mesh))
    assert area(surface) == pytest.approx(4 - np.pi / 4, rel=1e-3)
    assert not surface.over_time
    inside = np.abs(surface.places).max(axis=1) < 0.9
    np.testing.assert_allclose(surface.values[inside], 2 + surface.places[inside, 0], rtol=1e-9)
    assert np.isfinite(surface.values).all()


def test_the_worst_of_all_times_is_seen():
    places = inside_plate(300)
    times = np.linspace(0, 1, 4)
    x = np.concatenate([np.column_stack([places, np.full(len(places), t)]) for t in times])
    surface = error_surface(plate_slabs(), x, x[:, 0] + 2 * x[:, 2], None)
    assert surface.over_time
    assert len(surface.values) == len(places)
    np.testing.assert_allclose(surface.values, surface.places[:, 0] + 2)


def test_few_points_make_no_surface():
    mesh = generate_mesh(Rectangle((0, 0), (1, 1)), cells=(2, 2))
    for x in ([[0.1, 0.1], [0.5, 0.5]], [[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]]):
        surface = error_surface(mesh, np.array(x), np.ones(len(x)), subdivided(mesh))
        assert surface.shape is None
        assert len(surface.values) == len(x)


def test_axes_of_different_lengths():
    mesh = square_simplices()  # (0, 1) x (0, 2), from 1 to 3 in time
    x = np.random.default_rng(1).uniform([0, 0, 1], [1, 2, 3], (400, 3))
    assert area(error_surface(mesh, x, np.ones(len(x)), None)) > 0.85 * 2
