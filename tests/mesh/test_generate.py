"""Generated meshes: measures, names, conformity, curved sides, periodic sides, time, and what is refused."""

import math
import sys

import numpy as np
import pytest
import skfem

from pcpinn.errors import PcpinnError
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.topology import facets_of
from pcpinn.problem.shapes import Ball, Box, Cylinder, Disk, Ellipse, Interval, Polygon, Rectangle

SQUARE = Rectangle((0, 0), (1, 1))
CUBE = Box((0, 0, 0), (1, 1, 1))
P1 = {1: skfem.ElementLineP1, 2: skfem.ElementTriP1, 3: skfem.ElementTetP1}


def measure(mesh):
    return skfem.Basis(mesh.skfem, P1[mesh.dimension](), intorder=4).dx.sum()


def side_measure(mesh, name):
    return skfem.FacetBasis(mesh.skfem, P1[mesh.dimension](), facets=mesh.facets(name), intorder=8).dx.sum()


def counts(mesh):
    return {name: len(rows) for name, rows in mesh.boundaries.items()}


def assert_conforming(mesh):
    """Interior facets belong to two cells, and the named facets are the rest, each once."""
    facets = facets_of(mesh.vertices)
    assert set(facets.count) <= {1, 2}
    named = np.sort(np.concatenate(list(mesh.boundaries.values())), axis=1)
    assert len(np.unique(named, axis=0)) == len(named) == np.sum(facets.count == 1)


@pytest.mark.parametrize("gap", [0.03, 0.01, 0.001])
def test_thin_gaps_between_round_walls_are_meshed_without_folds(gap):
    """Cells along a gap that is thinner than the arcs of their sides would fold over themselves."""
    mesh = generate_mesh(Disk((0, 0), 1.0, name="a") - Disk((0.3, 0), 0.7 - gap, name="b"), size=0.25)
    assert_conforming(mesh)
    assert measure(mesh) == pytest.approx(math.pi * (1 - (0.7 - gap) ** 2), rel=2e-3)
    assert mesh.cell_count < 300


def test_structured_interval():
    mesh = generate_mesh(Interval(-1, 2), cells=6)
    np.testing.assert_allclose(mesh.nodes[:, 0], np.linspace(-1, 2, 7))
    assert mesh.nodes[mesh.boundaries["left"][0, 0], 0] == -1
    assert mesh.nodes[mesh.boundaries["right"][0, 0], 0] == 2


def test_structured_rectangle_and_box():
    mesh = generate_mesh(Rectangle((0, 0), (2, 1)), cells=(4, 3))
    assert len(mesh.cells) == 2 * 4 * 3
    assert counts(mesh) == {"left": 3, "right": 3, "bottom": 4, "top": 4}
    assert measure(mesh) == pytest.approx(2)
    assert_conforming(mesh)
    mesh = generate_mesh(Box((0, 0, 0), (1, 2, 3)), cells=(2, 3, 4))
    assert len(mesh.cells) == 6 * 2 * 3 * 4
    assert counts(mesh) == {"left": 24, "right": 24, "front": 16, "back": 16, "bottom": 12, "top": 12}
    assert measure(mesh) == pytest.approx(6)
    assert side_measure(mesh, "front") == pytest.approx(3)
    assert np.all(mesh.nodes[mesh.boundaries["back"]][..., 1] == 2)
    assert_conforming(mesh)


def test_one_name_collects_all_sides():
    assert counts(generate_mesh(Box((0, 0, 0), (1, 1, 1), name="wall"), cells=(2, 2, 2))) == {"wall": 48}
    assert counts(generate_mesh(Interval(0, 1, name="end"), cells=2)) == {"end": 2}


def test_booleans_of_intervals():
    domain = (Interval(0, 1) + Interval(1, 2, name="inner") + Interval(1.5, 4)) - Interval(3, 9, name="cut")
    mesh = generate_mesh(domain, size=0.3)
    assert measure(mesh) == pytest.approx(3)
    assert {name: mesh.nodes[rows[0, 0], 0] for name, rows in mesh.boundaries.items()} == {"left": 0.0, "cut": 3.0}
    assert np.diff(np.sort(mesh.nodes[:, 0])).max() <= 0.3
    assert_conforming(mesh)


@pytest.mark.parametrize(
    ("domain", "area", "names"),
    [
        (SQUARE, 1, {"left", "right", "bottom", "top"}),
        (Polygon([(0, 0), (0, 2), (1, 2), (1, 1), (2, 1), (2, 0)], names=list("abcdef")), 3, set("abcdef")),
        (SQUARE - [Disk((0.3, 0.3), 0.1, "a"), Disk((0.7, 0.6), 0.2, "b")], 1 - 0.05 * math.pi, None),
        (SQUARE + Rectangle((1, 0), (2, 1), name="more"), 2, {"left", "bottom", "top", "more"}),
        (SQUARE & Disk((1, 1), 0.5), math.pi / 16, {"right", "top", "boundary"}),
        (Ellipse((1, 2), (0.5, 2)), math.pi, {"boundary"}),
        (Disk((0, 0), 1) - Rectangle((0, 0), (1, 1)), 0.75 * math.pi, {"boundary", "left", "bottom"}),
    ],
)
def test_planar_shapes(domain, area, names):
    mesh = generate_mesh(domain, size=0.15)
    assert measure(mesh) == pytest.approx(area, rel=1e-4)
    assert set(mesh.boundaries) == (set(domain.boundary_names) if names is None else names)
    assert_conforming(mesh)


def test_sides_keep_their_names_where_shapes_share_a_line():
    mesh = generate_mesh(SQUARE + Rectangle((1, 0), (3, 1), name="more"), size=0.3)
    assert side_measure(mesh, "bottom") == pytest.approx(1)
    assert side_measure(mesh, "more") == pytest.approx(5)
    polygon = Polygon([(0, 0), (3, 0), (0, 4)], names=["three", "five", "four"])
    mesh = generate_mesh(polygon, size=1)
    assert [side_measure(mesh, name) for name in ("three", "four", "five")] == pytest.approx([3, 4, 5])


def test_curved_sides_converge_with_fourth_order():
    errors = []
    for size in (0.4, 0.2, 0.1):
        mesh = generate_mesh(Disk((1, 0), 1), size=size, curvature=0.1)
        errors.append(abs(measure(mesh) - math.pi))
        on_circle = mesh.boundaries["boundary"]
        assert mesh.curved
        facets = np.sort(
            np.stack([mesh.cells[:, [0, 1]], mesh.cells[:, [1, 2]], mesh.cells[:, [0, 2]]], axis=1), axis=2
        )
        outer = (facets[:, :, None, :] == np.sort(on_circle, axis=1)).all(axis=3).any(axis=2)
        assert outer.sum() == len(on_circle)
        middles = mesh.nodes[mesh.cells[:, 3:][outer]]
        np.testing.assert_allclose(np.linalg.norm(middles - [1, 0], axis=1), 1, atol=1e-13)
    assert np.all(np.log2(np.array(errors[:-1]) / errors[1:]) > 3.5)
    assert side_measure(mesh, "boundary") == pytest.approx(2 * math.pi, rel=1e-6)


def test_straight_when_asked_or_when_nothing_is_curved():
    assert not generate_mesh(SQUARE, size=0.5).curved
    straight = generate_mesh(Disk((0, 0), 1), size=0.3, curved=False)
    assert not straight.curved
    assert measure(straight) < math.pi - 1e-3


def test_meshes_get_finer_towards_corners():
    corner = np.array([1.0, 1.0])
    plain, graded = (generate_mesh(SQUARE, 0.2, corners=c, corner_size=1e-3) for c in ([], [corner]))
    edges = [m.nodes[m.cells[:, [0, 1]]] for m in (plain, graded)]
    near = [np.linalg.norm(e[:, 0] - e[:, 1], axis=1)[np.linalg.norm(e[:, 0] - corner, axis=1) < 0.01] for e in edges]
    assert near[0].min(initial=1.0) > 0.05
    assert 1e-4 < near[1].min() < 2e-3
    assert len(graded.cells) < 5 * len(plain.cells)
    with pytest.raises(PcpinnError, match="not points"):
        generate_mesh(SQUARE, 0.2, corners=[(1.0, 1.0, 1.0)])


def test_curvature_and_grading_refine():
    hole = SQUARE - Disk((0.5, 0.5), 0.05, name="hole")
    few, many = (len(generate_mesh(hole, 0.2, curvature=c).boundaries["hole"]) for c in (1, 6))
    assert many > 2 * few
    slow, fast = (len(generate_mesh(hole, 0.2, curvature=6, grading=g).cells) for g in (0.1, 0.9))
    assert slow > 1.3 * fast


@pytest.mark.parametrize(
    ("domain", "volume", "names"),
    [
        (Ball((1, 1, 1), 1), 4 * math.pi / 3, {"boundary"}),
        (Cylinder((0, 0, 0), (0, 1, 1), 0.5, name="pipe"), math.sqrt(2) * math.pi / 4, {"pipe"}),
        (CUBE - Ball((1, 1, 1), 0.5), 1 - math.pi / 48, {*CUBE.boundary_names, "boundary"}),
        (CUBE + Box((1, 0, 0), (2, 1, 1), name="more"), 2, {*CUBE.boundary_names, "more"} - {"right"}),
    ],
)
def test_solid_shapes(domain, volume, names):
    mesh = generate_mesh(domain, size=0.25)
    assert measure(mesh) == pytest.approx(volume, rel=0.06)
    assert set(mesh.boundaries) == names
    assert_conforming(mesh)


def test_names_on_the_sides_of_a_solid():
    mesh = generate_mesh(CUBE + Box((1, 0, 0), (2, 1, 1), name="more"), size=0.5)
    assert side_measure(mesh, "more") == pytest.approx(5)
    for name, axis, value in (("left", 0, 0), ("front", 1, 0), ("back", 1, 1), ("bottom", 2, 0), ("top", 2, 1)):
        assert np.all(mesh.nodes[mesh.boundaries[name]][..., axis] == value)
        assert side_measure(mesh, name) == pytest.approx(1)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_any_unit_of_length(scale):
    domain = Rectangle((scale, 0), (2 * scale, scale)) - Disk((1.5 * scale, 0.5 * scale), 0.1 * scale)
    mesh = generate_mesh(domain)
    assert measure(mesh) / scale**2 == pytest.approx(1 - 0.01 * math.pi, rel=1e-4)
    assert np.all(mesh.nodes[mesh.boundaries["right"]][..., 0] == 2 * scale)


def test_space_time_grids():
    mesh = generate_mesh(Interval(0, 2).over(1, 4), cells=4, steps=6)
    assert mesh.has_time
    assert len(mesh.cells) == 48
    assert counts(mesh) == {"left": 6, "right": 6, "initial": 4, "final": 4}
    assert measure(mesh) == pytest.approx(6)
    mesh = generate_mesh(SQUARE.over(0, 2), cells=(2, 3), steps=4)
    assert len(mesh.cells) == 6 * 24
    assert counts(mesh) == {"left": 24, "right": 24, "bottom": 16, "top": 16, "initial": 12, "final": 12}
    assert measure(mesh) == pytest.approx(2)
    assert np.all(mesh.nodes[mesh.boundaries["final"]][..., 2] == 2)
    assert_conforming(mesh)


def test_space_time_of_any_shape():
    mesh = generate_mesh((SQUARE - Disk((0.5, 0.5), 0.2, name="hole")).over(0, 2), size=0.2, steps=3)
    flat = generate_mesh(SQUARE - Disk((0.5, 0.5), 0.2, name="hole"), size=0.2, curved=False)
    assert mesh.has_time
    assert len(mesh.cells) == 9 * len(flat.cells)
    assert measure(mesh) == pytest.approx(2 * measure(flat))
    assert side_measure(mesh, "hole") == pytest.approx(2 * side_measure(flat, "hole"))
    assert side_measure(mesh, "initial") == pytest.approx(measure(flat))
    assert_conforming(mesh)


def test_space_time_of_combined_intervals():
    mesh = generate_mesh((Interval(0, 2) - Interval(1, 3)).over(0, 10), size=0.1)
    assert measure(mesh) == pytest.approx(10)
    assert_conforming(mesh)
    assert len(np.unique(mesh.nodes[:, 1])) == 21  # as many layers as cells of that size along the base, [0, 2]


def test_missing_netgen_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "netgen.occ", None)
    with pytest.raises(PcpinnError, match="pip install netgen-mesher"):
        generate_mesh(Disk((0, 0), 1))


@pytest.mark.parametrize(
    ("domain", "options", "message"),
    [
        (3, {}, "domain is 3"),
        (SQUARE, {"size": 0}, "size is 0"),
        (SQUARE, {"size": "fine"}, "size is 'fine'"),
        (SQUARE, {"size": math.nan}, "size is nan"),
        (SQUARE, {"size": 1e-7}, "about 2e\\+14 cells"),
        (SQUARE, {"cells": (10**5, 10**5)}, "about 2e\\+10 cells"),
        (SQUARE, {"size": 0.1, "cells": (2, 2)}, "both size"),
        (SQUARE, {"cells": (2,)}, "1 numbers for 2 dimensions"),
        (SQUARE, {"cells": (2, 0)}, "cells holds 0"),
        (SQUARE, {"cells": (2, 2.5)}, "cells holds 2.5"),
        (SQUARE, {"cells": "ab"}, "1 numbers for 2"),
        (SQUARE, {"cells": (2, 2), "grading": 0.3}, "no effect"),
        (SQUARE, {"grading": 2}, "grading is 2"),
        (SQUARE, {"curvature": -1}, "curvature is -1"),
        (Disk((0, 0), 1), {"size": 10, "curvature": 0.1}, "could not mesh the whole domain"),
        (SQUARE, {"steps": 3}, "has no time"),
        (SQUARE.over(0, 1), {"steps": 0}, "steps holds 0"),
        (Disk((0, 0), 1), {"cells": (2, 2)}, "the shape is a Disk"),
        (CUBE.over(0, 1), {}, "4 coordinates"),
        (SQUARE - Rectangle((-1, -1), (2, 2)), {}, "domain is empty"),
        (Interval(0, 1) - Interval(-1, 2), {}, "domain is empty"),
        (SQUARE + Rectangle((2, 0), (3, 1)), {}, "2 pieces"),
        (SQUARE + Rectangle((1, 1), (2, 2)), {}, "2 pieces"),
        (Interval(0, 3) - Interval(1, 2), {}, "2 pieces"),
        (SQUARE, {"periodic": ["left"]}, "'left', which is not a pair"),
        (SQUARE, {"periodic": 5}, "5, which is not a pair"),
        (SQUARE, {"periodic": [("left", "left")]}, "two different"),
        (SQUARE, {"periodic": [("left", "rihgt")]}, "'rihgt' does not exist"),
        (SQUARE, {"periodic": [("left", "right"), ("left", "top")]}, "two periodic pairs"),
        (SQUARE, {"periodic": [("left", "top")]}, "not shifted copies"),
        (SQUARE - Disk((0, 0.5), 0.2), {"periodic": [("left", "right")]}, "not shifted copies"),
        (SQUARE - Rectangle((-1, -1), (0.5, 2), name="cut"), {"periodic": [("left", "right")]}, "nothing is left"),
    ],
)
def test_bad_input_is_refused(domain, options, message):
    with pytest.raises(PcpinnError, match=message) as caught:
        generate_mesh(domain, **options)
    assert caught.value.remedy
