"""Locally refined meshes: conforming, of bounded angles, periodic where asked, and true to curved sides."""

from functools import cache

import numpy as np
import pytest
import skfem
from test_generate import assert_conforming, measure, side_measure

from pcpinn.errors import PcpinnError
from pcpinn.mesh.bisect import bisected
from pcpinn.mesh.check import check_mesh
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.mesh import Mesh
from pcpinn.mesh.periodic import match_periodic
from pcpinn.mesh.topology import facets_of
from pcpinn.problem.shapes import Ball, Box, Cylinder, Disk, Ellipse, Interval, Polygon, Rectangle

DISK = Disk((0, 0), 1.0, name="rim")
BALL = Ball((0, 0, 0), 1.0, name="rim")
TANK = Cylinder((0, 0, 0), (0, 0, 1), 0.5, name="skin")
PLATE = Rectangle((0, 0), (2, 1)) - Disk((0.7, 0.5), 0.2, name="hole")
KITE = Polygon(((0, 0), (1, 0), (1, 0.4), (0.3, 1)))
STRAIGHT = {
    "interval": lambda: generate_mesh(Interval(-1, 2), cells=5),
    "rectangle": lambda: generate_mesh(Rectangle((0, 0), (2, 1)), cells=(4, 3)),
    "kite": lambda: generate_mesh(KITE, size=0.3),
    "plate": lambda: generate_mesh(PLATE, size=0.4, curved=False),
    "box": lambda: generate_mesh(Box((0, 0, 0), (1, 2, 1)), size=0.6),
    "structured box": lambda: generate_mesh(Box((0, 0, 0), (1, 2, 3)), cells=(2, 2, 3)),
    "square in time": lambda: generate_mesh(Rectangle((0, 0), (1, 1)).over(0, 2), cells=(2, 2), steps=3),
}
CURVED = {
    "curved plate": lambda: generate_mesh(PLATE, size=0.4),
    "disk": lambda: generate_mesh(DISK, size=0.7),
}
STRAIGHT, CURVED = ({name: cache(make) for name, make in kind.items()} for kind in (STRAIGHT, CURVED))
MESHES = STRAIGHT | CURVED


def random_marks(mesh, share, seed=0):
    return np.random.default_rng(seed).random(mesh.cell_count) < share


def smallest_angle(mesh):
    """In degrees, between straight edges."""
    p = mesh.nodes[mesh.vertices]
    a, b = (np.roll(p, -k, axis=1) - p for k in (1, 2))
    cosine = (a * b).sum(axis=2) / np.linalg.norm(a, axis=2) / np.linalg.norm(b, axis=2)
    return float(np.degrees(np.arccos(cosine.max())))


def quality(mesh):
    """(c,) volume over that of the regular tetrahedron with the same mean square edge."""
    p = mesh.nodes[mesh.vertices]
    square = np.mean([((p[:, i] - p[:, j]) ** 2).sum(axis=1) for i in range(4) for j in range(i)], axis=0)
    return np.sqrt(2) * np.abs(np.linalg.det(p[:, 1:] - p[:, :1])) / square**1.5


@pytest.mark.parametrize("name", MESHES)
def test_conforming_with_the_same_boundaries(name):
    coarse = MESHES[name]()
    fine = coarse
    for round_ in range(3):
        before = fine
        fine, parent = bisected(fine, random_marks(fine, 0.2, round_))
        check_mesh(fine)
        assert_conforming(fine)
        np.testing.assert_array_equal(fine.nodes[: len(before.nodes)], before.nodes)
        cut = np.bincount(parent, minlength=before.cell_count)
        assert np.all(cut >= 1)
        assert np.all(cut[random_marks(before, 0.2, round_)] == 2**fine.dimension)
    assert len(fine.cells) > len(coarse.cells)
    assert len(np.unique(np.round(fine.nodes, 9), axis=0)) == len(fine.nodes)
    assert fine.cells.shape[1] == coarse.cells.shape[1]
    assert (fine.has_time, fine.boundary_names) == (coarse.has_time, coarse.boundary_names)
    assert measure(fine) == pytest.approx(measure(coarse), rel=1e-11)
    for side in coarse.boundary_names if coarse.dimension > 1 else ():
        assert side_measure(fine, side) == pytest.approx(side_measure(coarse, side), rel=1e-6)


@pytest.mark.parametrize("name", STRAIGHT)
def test_children_lie_in_their_parents_and_fill_them(name):
    coarse = STRAIGHT[name]()
    fine, parent = bisected(coarse, random_marks(coarse, 0.3))
    start = coarse.nodes[coarse.vertices[:, 0]]
    edges = (coarse.nodes[coarse.vertices[:, 1:]] - start[:, None]).swapaxes(1, 2)
    place = np.linalg.solve(edges[parent], (fine.nodes[fine.vertices].mean(axis=1) - start[parent])[..., None])[..., 0]
    assert place.min() > 0
    assert place.sum(axis=1).max() < 1
    volumes = np.linalg.det(fine.nodes[fine.vertices[:, 1:]] - fine.nodes[fine.vertices[:, :1]])
    np.testing.assert_allclose(
        np.bincount(parent, volumes), np.linalg.det(edges), rtol=1e-10
    )  # and orientation is kept
    cut = np.bincount(parent) > 1
    np.testing.assert_array_equal(fine.vertices[~cut[parent]], coarse.vertices[~cut])


@pytest.mark.parametrize("name", MESHES)
def test_nothing_marked_is_the_same_mesh(name):
    mesh = MESHES[name]()
    for none in (np.zeros(mesh.cell_count, dtype=bool), [], np.array([], dtype=int)):
        same, parent = bisected(mesh, none)
        assert same is mesh
        np.testing.assert_array_equal(parent, np.arange(mesh.cell_count))


def test_numbers_and_bools_mark_alike():
    mesh = STRAIGHT["kite"]()
    a, b = bisected(mesh, [3, 1, 3])[0], bisected(mesh, np.isin(np.arange(mesh.cell_count), [1, 3]))[0]
    np.testing.assert_array_equal(a.nodes, b.nodes)
    np.testing.assert_array_equal(a.cells, b.cells)


@pytest.mark.parametrize("marks", [[-1], [10**6], [0.5], np.ones(3, dtype=bool), [[0]]])
def test_marks_that_are_none(marks):
    with pytest.raises(PcpinnError, match="mark"):
        bisected(STRAIGHT["kite"](), marks)


def test_a_domain_of_other_dimension():
    with pytest.raises(PcpinnError, match="coordinates"):
        bisected(STRAIGHT["kite"](), [0], BALL)


@pytest.mark.parametrize("name", ["rectangle", "kite", "plate"])
def test_angles_stay_bounded_towards_a_corner(name):
    mesh = STRAIGHT[name]()
    before = smallest_angle(mesh)
    for _ in range(20):
        nearest = np.argmin((mesh.nodes[mesh.vertices] ** 2).sum(axis=2).min(axis=1))
        mesh, _ = bisected(mesh, [nearest])
    assert_conforming(mesh)
    assert smallest_angle(mesh) > before / 2 - 1e-9  # what is known of longest edges
    lengths = np.linalg.norm(mesh.nodes[mesh.vertices[:, 1]] - mesh.nodes[mesh.vertices[:, 0]], axis=1)
    assert lengths.min() < 1e-5
    assert mesh.cell_count < 1000


@pytest.mark.parametrize("name", ["box", "structured box"])
def test_tetrahedra_stay_round_towards_a_corner(name):
    mesh = STRAIGHT[name]()
    worst = [quality(mesh).min()]
    for _ in range(9):
        mesh, _ = bisected(mesh, (mesh.nodes[mesh.vertices] ** 2).sum(axis=2).min(axis=1) < 1e-20)
        worst.append(quality(mesh).min())
    assert_conforming(mesh)
    assert worst[6] > 0.3 * worst[0]
    assert worst[9] == pytest.approx(worst[6])  # no new shapes appear


PERIODIC = {
    "line": (Interval(0, 1), {"cells": 4}, [("left", "right")]),
    "rectangle": (Rectangle((0, 0), (2, 1)), {"size": 0.4}, [("left", "right"), ("bottom", "top")]),
    "structured": (Rectangle((0, 0), (1, 1)), {"cells": (3, 3)}, [("left", "right"), ("bottom", "top")]),
    "curved": (PLATE, {"size": 0.4}, [("left", "right")]),
    "box": (Box((0, 0, 0), (1, 1, 1)), {"size": 0.6}, [("left", "right"), ("front", "back"), ("bottom", "top")]),
    "structured box": (Box((0, 0, 0), (1, 1, 1)), {"cells": (1, 2, 2)}, [("left", "right"), ("bottom", "top")]),
}


@pytest.mark.parametrize("name", PERIODIC)
def test_periodic_sides_stay_alike(name):
    shape, how, pairs = PERIODIC[name]
    mesh = generate_mesh(shape, periodic=pairs, **how)
    for round_ in range(4):
        mesh, _ = bisected(mesh, random_marks(mesh, 0.1, round_), shape, pairs)
        check_mesh(mesh)
        assert_conforming(mesh)
        for pair in pairs:
            match_periodic(mesh, *pair)


def rates(mesh, domain, size, rounds):
    """Orders at which the volume converges when all cells are cut, from the last two rounds."""
    errors = []
    for _ in range(rounds):
        mesh, _ = bisected(mesh, np.ones(mesh.cell_count, dtype=bool), domain)
        errors.append(abs(measure(check_mesh(mesh)) - size))
    return np.log2(errors[-2] / errors[-1])


ELLIPSE = Ellipse((0.3, 0), (1.0, 0.6), name="rim")


@pytest.mark.parametrize(
    ("domain", "size", "area"),
    [
        (DISK, 0.7, np.pi),
        (ELLIPSE, 0.4, 0.6 * np.pi),
        (PLATE, 0.4, 2 - 0.04 * np.pi),
        (DISK & Rectangle((0, -2), (2, 2)), 0.8, np.pi / 2),
    ],
    ids=["disk", "ellipse", "plate", "half a disk"],
)
def test_areas_converge_as_curves_do(domain, size, area):
    assert rates(generate_mesh(domain, size=size), domain, area, 4) > 3.5
    assert rates(generate_mesh(domain, size=size, curved=False), domain, area, 4) == pytest.approx(2, abs=0.2)


@pytest.mark.parametrize(
    ("domain", "volume"),
    [(BALL, 4 / 3 * np.pi), (TANK, np.pi / 4), (BALL & Box((-2, -2, 0), (2, 2, 2)), 2 / 3 * np.pi)],
    ids=["ball", "tank", "half a ball"],
)
def test_volumes_converge_at_second_order(domain, volume):
    assert rates(generate_mesh(domain, size=0.9), domain, volume, 3) > 1.8


def test_local_cuts_on_curved_sides_are_valid_and_on_the_side():
    mesh = CURVED["disk"]()
    for round_ in range(5):
        mesh, _ = bisected(mesh, random_marks(mesh, 0.2, round_), DISK)
        check_mesh(mesh)
        assert_conforming(mesh)
    radius = np.linalg.norm(mesh.nodes[np.unique(mesh.boundaries["rim"])], axis=1)
    np.testing.assert_allclose(radius, 1, atol=1e-12)
    basis = skfem.FacetBasis(mesh.skfem, skfem.ElementTriP2(), facets=mesh.facets("rim"), intorder=2)
    assert basis.dx.sum() == pytest.approx(2 * np.pi, rel=1e-3)


def test_flat_ends_of_a_cylinder_stay_flat():
    """Nodes on the rims of its ends lie on the mantle, too, and edges between them must stay straight."""
    mesh = generate_mesh(TANK, size=0.9)
    for _ in range(2):
        mesh, _ = bisected(mesh, random_marks(mesh, 0.5), TANK)
        assert_conforming(check_mesh(mesh))
    facets = facets_of(mesh.vertices).boundary
    level = mesh.nodes[facets][..., 2]
    ends = np.all(np.abs(level) < 1e-12, axis=1) | np.all(np.abs(level - 1) < 1e-12, axis=1)
    radius = np.linalg.norm(mesh.nodes[facets][..., :2], axis=2)
    np.testing.assert_allclose(radius[~ends], 0.5, atol=1e-9)
    assert np.any(radius[ends] < 0.4)
    flat = Mesh(mesh.nodes, mesh.cells, {"ends": facets[ends]})
    assert side_measure(flat, "ends") == pytest.approx(np.pi / 2, rel=0.1)


def test_a_disk_over_time_keeps_its_mantle():
    domain = DISK.over(0, 1)
    mesh = generate_mesh(domain, size=0.8, steps=2)
    mesh, _ = bisected(mesh, np.arange(mesh.cell_count), domain)
    check_mesh(mesh)
    rim = mesh.nodes[np.unique(mesh.boundaries["rim"])]
    np.testing.assert_allclose(np.linalg.norm(rim[:, :2], axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(np.unique(np.round(mesh.nodes[:, 2], 12)), np.linspace(0, 1, 5))
    space, _ = bisected(generate_mesh(DISK, size=0.8), [0, 1], domain)  # the shape alone, for space alone
    check_mesh(space)


def test_projection_is_undone_where_it_would_invert_a_cell():
    """A sliver along a hole: moving the middle of its long edge onto the hole's rim would turn it over."""
    hole = Disk((0, 0), 1.0, name="hole")
    domain = Rectangle((-3, -3), (3, 3)) - hole
    a, b = np.array([-np.sin(0.6), np.cos(0.6)]), np.array([np.sin(0.6), np.cos(0.6)])
    nodes = np.array([a, b, [0.0, np.cos(0.6) + 0.1], [0.0, 2.0]])
    cells = np.array([[0, 1, 2], [0, 2, 3], [2, 1, 3]])
    boundaries = {"hole": np.array([[0, 1]]), "rest": np.array([[0, 3], [1, 3]])}
    mesh, _ = bisected(Mesh(nodes, cells, boundaries), [0], domain)
    check_mesh(mesh)
    assert_conforming(mesh)
    assert measure(mesh) == pytest.approx(measure(Mesh(nodes, cells, boundaries)))
    nodes[2, 1] = 1.3
    moved, _ = bisected(Mesh(nodes, cells, boundaries), [0], domain)
    check_mesh(moved)
    assert np.any(np.all(np.abs(moved.nodes - [0, 1]) < 1e-12, axis=1))
