"""Halved meshes: valid, of the same size and shape, with the same named boundaries."""

from functools import cache

import numpy as np
import pytest
import skfem
from test_generate import assert_conforming, measure, side_measure

from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.system import linear_system
from pcpinn.mesh.check import check_mesh
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.mesh import Mesh
from pcpinn.mesh.refine import refined
from pcpinn.problem.conditions import Dirichlet
from pcpinn.problem.problem import Problem
from pcpinn.problem.shapes import Ball, Box, Disk, Interval, Rectangle

PLATE = Rectangle((0, 0), (2, 1)) - Disk((0.7, 0.5), 0.2, name="hole")
MESHES = {
    "interval": lambda: generate_mesh(Interval(-1, 2), cells=5),
    "interval, uneven": lambda: Mesh(
        np.array([[0.0], [2.0], [0.3], [9.0]]),
        np.array([[2, 1], [0, 2]]),
        {"left": np.array([[0]]), "right": np.array([[1]])},
    ),
    "rectangle": lambda: generate_mesh(Rectangle((0, 0), (2, 1)), cells=(4, 3)),
    "plate": lambda: generate_mesh(PLATE, size=0.4, curved=False),
    "curved": lambda: generate_mesh(PLATE, size=0.4, curved=True),
    "disk": lambda: generate_mesh(Disk((0, 0), 1.0, name="rim"), size=0.7, curved=True),
    "box": lambda: generate_mesh(Box((0, 0, 0), (1, 2, 3)), cells=(2, 2, 3)),
    "ball": lambda: generate_mesh(Ball((0, 0, 0), 1.0, name="rim"), size=0.8, curved=False),
    "round ball": lambda: generate_mesh(Ball((0, 0, 0), 1.0, name="rim"), size=0.4),
    "line in time": lambda: generate_mesh(Interval(0, 1).over(0, 2), cells=3, steps=4),
    "square in time": lambda: generate_mesh(Rectangle((0, 0), (1, 1)).over(0, 2), cells=(2, 2), steps=3),
}
CURVED = ("curved", "disk", "round ball")


@cache
def pair(name):
    mesh = MESHES[name]()
    return mesh, refined(mesh)


@pytest.mark.parametrize("name", MESHES)
def test_valid_and_of_the_same_size(name):
    coarse, fine = pair(name)
    check_mesh(fine)
    assert_conforming(fine)
    assert len(fine.cells) == 2**coarse.dimension * len(coarse.cells)
    assert fine.cells.shape[1] == coarse.cells.shape[1]
    assert (fine.curved, fine.has_time) == (coarse.curved, coarse.has_time)
    assert measure(fine) == pytest.approx(measure(coarse), rel=1e-12)
    np.testing.assert_array_equal(fine.nodes[: len(coarse.nodes)], coarse.nodes)


@pytest.mark.parametrize("name", MESHES)
def test_boundaries_keep_names_and_places(name):
    coarse, fine = pair(name)
    d = coarse.dimension
    assert fine.boundary_names == coarse.boundary_names
    for side in coarse.boundary_names:
        assert len(fine.boundaries[side]) == 2 ** (d - 1) * len(coarse.boundaries[side])
        if d > 1:
            # areas of curved faces are no integrals of polynomials
            close = 1e-5 if name == "round ball" else 1e-8
            assert side_measure(fine, side) == pytest.approx(side_measure(coarse, side), rel=close)
        ends = [m.nodes[np.unique(m.boundaries[side])] for m in (coarse, fine)]
        for lowest_or_highest in (np.min, np.max):
            if name not in CURVED:
                np.testing.assert_allclose(*(lowest_or_highest(e, axis=0) for e in ends), atol=1e-12)


@pytest.mark.parametrize("name", [n for n in MESHES if n not in CURVED])
def test_straight_children_are_of_one_size_and_lie_in_their_parents(name):
    coarse, fine = pair(name)
    d = coarse.dimension
    volumes = [np.abs(np.linalg.det(np.diff(m.nodes[m.vertices], axis=1))) for m in (coarse, fine)]
    np.testing.assert_allclose(volumes[1], np.tile(volumes[0] / 2**d, 2**d), rtol=1e-9)
    children = fine.nodes[fine.vertices].mean(axis=1).reshape(2**d, -1, d)  # their centres
    edges = np.linalg.inv(np.diff(coarse.nodes[coarse.vertices], axis=1).swapaxes(1, 2))
    start = coarse.nodes[coarse.vertices[:, 0]]
    steps = np.einsum("cij,kcj->kci", edges, children - start)  # along 01, 12, 23: must descend from 1 to 0
    assert np.all(np.diff(np.concatenate([np.ones_like(steps[..., :1]), steps], axis=-1), axis=-1) < 1e-12)
    assert np.all(steps[..., -1] > -1e-12)


@pytest.mark.parametrize("name", [n for n in CURVED if n != "round ball"])
def test_curves_are_kept(name):
    """Every node of a child lies where the parent's quadratic map puts it; neighbours share their middle nodes."""
    coarse, fine = pair(name)
    reference = np.array([[0, 0], [1, 0], [0, 1], [0.5, 0], [0.5, 0.5], [0, 0.5]])
    children = [(0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)]
    count = len(coarse.cells)
    for k, child in enumerate(children):
        a, b, c = reference[list(child)]
        u, v = np.array([a, b, c, (a + b) / 2, (b + c) / 2, (a + c) / 2]).T
        w = 1 - u - v
        shapes = np.stack(
            [w * (2 * w - 1), u * (2 * u - 1), v * (2 * v - 1), 4 * u * w, 4 * u * v, 4 * v * w], axis=1
        )  # textbook shape functions of the quadratic triangle
        mapped = np.einsum("eb,cbd->ced", shapes, coarse.nodes[coarse.cells])
        np.testing.assert_allclose(fine.nodes[fine.cells[k * count : (k + 1) * count]], mapped, atol=1e-13)
    middles = {}
    for cell in fine.cells:
        for (i, j), middle in zip([(0, 1), (1, 2), (0, 2)], cell[3:], strict=True):
            assert middles.setdefault(frozenset((cell[i], cell[j])), middle) == middle
    assert len(set(middles.values())) == len(middles)
    assert len(fine.nodes) == len(np.unique(np.round(fine.nodes, 12), axis=0))


def test_the_rim_of_a_disk_is_no_polygon():
    """Halving does not move the curved boundary: it stays as far from a circle as quadratic arcs are."""
    coarse, fine = pair("disk")
    for mesh in (coarse, fine, refined(fine)):
        basis = skfem.FacetBasis(mesh.skfem, skfem.ElementTriP2(), facets=mesh.facets("rim"), intorder=8)
        radius = np.hypot(*np.asarray(basis.global_coordinates()))
        assert np.abs(radius - 1).max() < 6e-3
    assert abs(measure(fine) - np.pi) < 0.01
    polygon = Mesh(fine.nodes, fine.vertices, fine.boundaries)
    assert measure(fine) - measure(polygon) > 0.02


def test_time_stays_the_last_coordinate():
    coarse, fine = pair("square in time")
    assert np.all(fine.nodes[fine.boundaries["initial"]][..., -1] == 0)
    assert np.all(fine.nodes[fine.boundaries["final"]][..., -1] == 2)
    np.testing.assert_allclose(np.unique(fine.nodes[:, -1]), np.linspace(0, 2, 7), atol=1e-14)
    assert len(np.unique(coarse.nodes[:, -1])) == 4


@pytest.mark.parametrize(("name", "names"), [("disk", ["rim"]), ("rectangle", ["left", "right", "bottom", "top"])])
def test_finite_elements_improve(name, names):
    """-Laplace u = 4 with u = 1 - x^2 - y^2 is met by quadratics up to the curve; degree 1 gains a factor of four."""
    u = lambda x: 1 - (x**2).sum()  # noqa: E731
    errors = []
    for mesh in pair(name):
        problem = Problem(mesh, lambda x, v: v.grad, lambda x, v: -4.0, dict.fromkeys(names, Dirichlet(u)))
        system = linear_system(FiniteElements(problem, mesh, 1))
        basis = skfem.Basis(mesh.skfem, skfem.ElementTriP1(), intorder=6)
        x = np.asarray(basis.global_coordinates())
        found = np.asarray(basis.interpolate(system.solution))
        errors.append(float((basis.dx * (found - (1 - (x**2).sum(axis=0))) ** 2).sum() ** 0.5))
    assert errors[0] > 3 * errors[1]


def test_twice_is_sixteen_triangles():
    coarse, fine = pair("rectangle")
    twice = check_mesh(refined(fine))
    assert len(twice.cells) == 16 * len(coarse.cells)
    assert measure(twice) == pytest.approx(2)


def test_repeated_refinement_gives_three_shapes_of_tetrahedra_at_most():
    corners = np.array([[0.0, 0, 0], [1, 0.1, 0], [0.2, 0.9, 0.1], [0.3, 0.1, 0.7]])
    mesh = Mesh(corners, np.array([[0, 1, 2, 3]]), {"all": np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]])})
    for level in range(1, 4):
        mesh = check_mesh(refined(mesh))
        points = mesh.nodes[mesh.cells]
        lengths = [np.linalg.norm(points[:, i] - points[:, j], axis=1) for i in range(4) for j in range(i)]
        assert len(np.unique(np.round(np.sort(2**level * np.stack(lengths, axis=1), axis=1), 9), axis=0)) <= 3


@pytest.mark.parametrize(("curved", "order"), [(True, 4), (False, 2)])
def test_new_nodes_move_to_the_rim_of_the_domain(curved, order):
    disk = Disk((0.2, 0), 1.5, name="rim")
    mesh = generate_mesh(disk, size=1.0, curved=curved)
    errors = []
    for _ in range(4):
        mesh = check_mesh(refined(mesh, domain=disk))
        errors.append(abs(measure(mesh) - np.pi * 1.5**2))
    assert np.log2(errors[-2] / errors[-1]) == pytest.approx(order, abs=0.1)
