"""Walls: zero on the sides that they stand for, and there as steep as a distance."""

import numpy as np
import pytest

from pcpinn import Ball, Box, Cylinder, Disk, Ellipse, Interval, Polygon, Rectangle
from pcpinn.problem.walls import walls_of

SHAPES = {
    "interval": Interval(-1, 2),
    "rectangle": Rectangle((0, 1), (2, 2)),
    "box": Box((0, 0, 0), (1, 2, 3)),
    "disk": Disk((1, -1), 0.5),
    "ellipse": Ellipse((1, 0), (2, 0.5)),
    "ball": Ball((1, 0, 2), 0.7),
    "cylinder": Cylinder((0, 1, 0), (1, 1, 0.5), 0.4),
    "polygon": Polygon([(0, 0), (2, 0), (2.5, 1), (0, 1)], names=["a", "b", "c", "d"]),
}


def on_boundary(shape, count=400):
    """Points on the surface of a shape that is star-shaped about the middle of its box: rays, cut by bisection."""
    lower, upper = shape.bounds
    middle, reach = 0.5 * (lower + upper), 2 * np.linalg.norm(upper - lower)
    rays = np.random.default_rng(0).standard_normal((count, shape.dimension))
    rays *= reach / np.linalg.norm(rays, axis=1, keepdims=True)
    inside, outside = np.zeros(count), np.ones(count)
    for _ in range(60):
        half = 0.5 * (inside + outside)
        within = shape.level(middle + half[:, None] * rays) < 0
        inside, outside = np.where(within, half, inside), np.where(within, outside, half)
    return middle + inside[:, None] * rays


@pytest.mark.parametrize("name", SHAPES)
def test_the_boundary_is_where_a_wall_is_zero(name):
    shape = SHAPES[name]
    walls = walls_of(shape)
    x = on_boundary(shape)
    levels = np.abs([wall.level(x) for wall in walls])
    assert levels.min(axis=0).max() < 1e-12
    assert {wall.name for wall, level in zip(walls, levels, strict=True) if level.min() < 1e-12} == set(
        shape.boundary_names
    )


@pytest.mark.parametrize("name", [k for k in SHAPES if k != "ellipse"])
def test_near_a_wall_its_values_are_distances(name):
    shape = SHAPES[name]
    x, h = on_boundary(shape), 1e-6
    for wall in walls_of(shape):
        here = x[np.abs(wall.level(x)) < 1e-12]
        slope = [(wall.level(here + h * e) - wall.level(here - h * e)) / (2 * h) for e in np.eye(shape.dimension)]
        np.testing.assert_allclose(np.linalg.norm(slope, axis=0), 1.0, rtol=1e-7)


def test_time_adds_its_ends():
    walls = {w.name: w for w in walls_of((Interval(0, 1) - Interval(0.4, 0.5)).over(2, 5))}
    assert walls.keys() == {"left", "right", "initial", "final"}
    x = np.array([[0.3, 2.0], [0.3, 5.0]])
    np.testing.assert_allclose(walls["initial"].level(x), [0, 3])
    np.testing.assert_allclose(walls["final"].level(x), [3, 0])
