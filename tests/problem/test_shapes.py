"""Shapes: what is inside, how they combine, which names they have, and what is refused."""

import math

import numpy as np
import pytest

from pcpinn.errors import PcpinnError
from pcpinn.problem.shapes import Ball, Box, Cylinder, Disk, Ellipse, Interval, Polygon, Rectangle, SpaceTime

SQUARE = Rectangle((0, 0), (1, 1))
ELL = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]


@pytest.mark.parametrize(
    ("shape", "measure"),
    [
        (Interval(-1, 2), 3.0),
        (Rectangle((0, 1), (2, 4)), 6.0),
        (Disk((1, 2), 0.5), math.pi / 4),
        (Ellipse((1, -1), (2, 0.5)), math.pi),
        (Polygon(ELL), 3.0),
        (Polygon(ELL[::-1]), 3.0),
        (Box((0, 0, 0), (1, 2, 3)), 6.0),
        (Ball((1, 0, 0), 2), 32 * math.pi / 3),
        (Cylinder((0, 0, 1), (1, 2, 2), 0.5), 0.75 * math.pi),
        (SQUARE - [Disk((0.3, 0.3), 0.2), Disk((0.7, 0.7), 0.2)], 1 - 0.08 * math.pi),
        (SQUARE & Disk((0, 0), 1), math.pi / 4),
        (SQUARE | Rectangle((0.5, 0), (2, 1)), 2.0),
        ((SQUARE - Disk((0.5, 0.5), 0.25)).over(1, 3), 2 - math.pi / 8),
    ],
)
def test_contains_and_bounds_give_the_known_measure(shape, measure):
    lower, upper = shape.bounds
    points = np.random.default_rng(0).uniform(lower, upper, (40_000, shape.dimension))
    inside = shape.contains(points)
    assert inside.mean() * np.prod(upper - lower) == pytest.approx(measure, rel=0.03)
    beyond = lower + (upper - lower) * np.array([1.5] + [0.5] * (shape.dimension - 1))
    assert not shape.contains(beyond[None])[0]


def test_bounds_are_tight_for_a_tilted_cylinder():
    lower, upper = Cylinder((0, 0, 0), (3, 0, 4), 1).bounds
    np.testing.assert_allclose(lower, [-0.8, -1, -0.6])
    np.testing.assert_allclose(upper, [3.8, 1, 4.6])


def test_boundary_points_count_as_inside_also_at_holes():
    angle = np.linspace(0, 2 * np.pi, 50)
    circle = np.column_stack([0.5 + 0.2 * np.cos(angle), 0.5 + 0.2 * np.sin(angle)])
    domain = SQUARE - Disk((0.5, 0.5), 0.2)
    assert domain.contains(circle).all()
    assert domain.contains([[0, 0], [1, 1], [0.5, 0]]).all()
    assert not domain.contains([[0.5, 0.5]]).any()


def test_names():
    assert Interval(0, 1).boundary_names == ("left", "right")
    assert SQUARE.boundary_names == ("bottom", "left", "right", "top")
    assert Box((0, 0, 0), (1, 1, 1)).boundary_names == ("back", "bottom", "front", "left", "right", "top")
    for shape in (Disk((0, 0), 1), Ellipse((0, 0), (1, 2)), Ball((0, 0, 0), 1), Polygon(ELL)):
        assert shape.boundary_names == ("boundary",)
    assert Rectangle((0, 0), (1, 1), name="wall").boundary_names == ("wall",)
    assert Polygon(ELL, names="wall").boundary_names == ("wall",)
    assert Polygon(ELL, names=list("abcdea")).boundary_names == tuple("abcde")
    assert (SQUARE - Disk((0, 0), 1, name="hole")).boundary_names == ("bottom", "hole", "left", "right", "top")
    assert Interval(0, 1).over(0, 1).boundary_names == ("final", "initial", "left", "right")


def test_shapes_are_data():
    a = SQUARE - [Disk((0.5, 0.5), 0.1)]
    b = Rectangle([0.0, 0.0], np.ones(2)) - Disk(np.array([0.5, 0.5]), 0.1)
    assert a == b
    assert hash(a) == hash(b)
    assert (SQUARE - []) is SQUARE
    assert SQUARE.over(0, 2) == SpaceTime(SQUARE, 0, 2)
    assert SQUARE.over(0, 2).dimension == 3


def test_chains_stay_flat():
    holes = [Disk((i, 0), 0.1) for i in range(3000)]
    domain = Rectangle((-1, -1), (3000, 1))
    for hole in holes:
        domain = domain - hole
    assert len(domain.removed) == 3000
    assert not domain.contains([[1500.0, 0.0]])[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Interval(1, 1), "from 1 to 1 is empty"),
        (lambda: Interval(0, math.inf), "inf, which is not finite"),
        (lambda: Interval("a", 1), "'a', which is not a number"),
        (lambda: Interval(0, 1, name=""), "name of Interval is ''"),
        (lambda: Rectangle((0, 1), (1, 0)), "from y = 1 to y = 0"),
        (lambda: Rectangle((0, 0, 0), (1, 1)), "must be 2 numbers"),
        (lambda: Rectangle(0, (1, 1)), "is 0, but it must be 2 numbers"),
        (lambda: Rectangle((0, math.nan), (1, 1)), "nan, which is not finite"),
        (lambda: Disk((0, 0), 0), "radius of the disk is 0"),
        (lambda: Disk((0, 0), 1, name=3), "name of Disk is 3"),
        (lambda: Ellipse((0, 0), (1, -1)), "semi-axis is -1"),
        (lambda: Polygon([(0, 0), (1, 0)]), "has 2 points"),
        (lambda: Polygon(3), "points are 3"),
        (lambda: Polygon([(0, 0), (1, 0), (2, 0)]), "no area"),
        (lambda: Polygon([(0, 0), (1, 0), (1, 1), (0, 0)]), "points 3 and 0 of the polygon coincide"),
        (lambda: Polygon([(0, 0), (1, 1), (1, 0), (0, 1)]), "edges 0 and 2 of the polygon cross"),
        (lambda: Polygon([(0, 0), (2, 0), (1, 0), (1, 1)]), "edges 0 and 1 of the polygon cross"),
        (lambda: Polygon(ELL, names=["a", "b"]), "6 edges but 2 edge names"),
        (lambda: Polygon(ELL, names=5), "edge names are 5"),
        (lambda: Box((0, 0, 0), (1, 1, 0)), "from z = 0 to z = 0"),
        (lambda: Ball((0, 0, 0), -2), "radius of the ball is -2"),
        (lambda: Cylinder((0, 0, 0), (0, 0, 0), 1), "no length"),
        (lambda: Cylinder((0, 0, 0), (0, 0, 1), 0), "radius of the cylinder is 0"),
        (lambda: SQUARE + Interval(0, 1), "Rectangle has 2 dimensions and Interval has 1"),
        (lambda: SQUARE - [Disk((0, 0), 1), 3], "is 3, which is not a shape"),
        (lambda: SQUARE - SQUARE.over(0, 1), "not a shape in space"),
        (lambda: SQUARE & Rectangle((2, 2), (3, 3)), "no area in common"),
        (lambda: SQUARE.over(1, 1), "from 1 to 1 is empty"),
        (lambda: SpaceTime(SQUARE.over(0, 1), 0, 1), "needs a shape in space"),
        (lambda: Disk((0, 0), 1, name="initial").over(0, 1), "'initial', the name of an end of time"),
        (lambda: SQUARE.contains([1, 2]), "shape \\(2,\\)"),
        (lambda: SQUARE.contains(["a"]), "not an array of numbers"),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(PcpinnError, match=message) as caught:
        make()
    assert caught.value.remedy
