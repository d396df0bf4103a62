"""Spaces: nodes, shape functions, and finding points in cells."""

import numpy as np
import pytest
import torch
from cases import BOXES, grid

from pcpinn import Ball, Box, Disk, Field, Interval, Rectangle
from pcpinn.discretize import space as space_module
from pcpinn.discretize.batches import facet_batch
from pcpinn.discretize.space import ScalarSpace, Space
from pcpinn.mesh.generate import generate_mesh

DEGREES = [(d, k) for d in (1, 2, 3) for k in (1, 2, 3, 4)]
SQUARE_WITH_HOLE = Rectangle((0, 0), (1, 1)) - Disk((0.5, 0.5), 0.2, name="hole")


def mesh_of(kind):
    return {
        "line": lambda: grid(BOXES[1], 5),
        "square": lambda: grid(BOXES[2], 4),
        "cube": lambda: grid(BOXES[3], 2),
        "unstructured": lambda: generate_mesh(SQUARE_WITH_HOLE, size=0.25, curved=False),
        "slender": lambda: generate_mesh(Interval(0, 1).over(0, 1), cells=6, steps=24),
    }[kind]()


def random_points(mesh, count=200, seed=0):
    """Uniform in random cells."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(mesh.dimension + 1), count)
    cells = rng.integers(len(mesh.cells), size=count)
    return np.einsum("nk,nkd->nd", weights, mesh.nodes[mesh.vertices[cells]]), cells


def polynomial(x, degree):
    return (x @ np.arange(1.0, x.shape[1] + 1) - 0.7) ** degree + x[:, 0]


@pytest.mark.parametrize(
    ("kind", "degree"),
    [
        (kind, k)
        for kind, d in (("line", 1), ("square", 2), ("unstructured", 2), ("cube", 3))
        for n, k in DEGREES
        if n == d
    ],
)
def test_interpolation_reproduces_polynomials(kind, degree):
    mesh = mesh_of(kind)
    space = ScalarSpace(mesh, degree)
    x, _ = random_points(mesh)
    np.testing.assert_allclose(space.interpolate(polynomial(space.nodes, degree), x), polynomial(x, degree), atol=1e-12)
    assert np.abs(space.interpolate(polynomial(space.nodes, degree + 1), x) - polynomial(x, degree + 1)).max() > 1e-6


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_interpolation_on_curved_cells(degree):
    """The map of the cells is quadratic: elements of degree 2 k hold polynomials of degree k."""
    mesh = generate_mesh(Disk((0, 0), 1), size=0.5)
    assert mesh.curved
    space = ScalarSpace(mesh, degree)
    angle, radius = np.random.default_rng(0).uniform(size=(2, 200))
    x = np.sqrt(radius)[:, None] * np.column_stack([np.cos(2 * np.pi * angle), np.sin(2 * np.pi * angle)])
    kept = degree // 2
    got = space.interpolate(polynomial(space.nodes, kept), x)
    np.testing.assert_allclose(got, polynomial(x, kept) if kept else 1 + x[:, 0], atol=1e-10 if kept else 0.1)


@pytest.mark.parametrize("kind", ["line", "square", "cube", "unstructured", "slender"])
def test_points_are_found_in_their_cells(kind):
    mesh = mesh_of(kind)
    space = ScalarSpace(mesh, 1)
    x, cells = random_points(mesh, 300)
    found, X = space.locate(x)
    assert X.min() > -1e-9
    assert X.sum(axis=0).max() < 1 + 1e-9
    np.testing.assert_array_equal(found, cells)


@pytest.mark.parametrize("aspect", [20, 100])
def test_points_are_found_in_very_slender_cells(aspect):
    mesh = generate_mesh(Interval(0, 1).over(0, 1), cells=4, steps=4 * aspect)
    x, cells = random_points(mesh, 1000)
    np.testing.assert_array_equal(ScalarSpace(mesh, 1).locate(x)[0], cells)


def test_points_are_found_beside_fine_cells():
    """A large cell next to many small ones, as around a small hole."""
    domain = Rectangle((0, 0), (1, 1)) - Disk((0.5, 0.5), 0.01, name="hole")
    mesh = generate_mesh(domain, size=0.3, curvature=40, grading=0.9, curved=False)
    x, cells = random_points(mesh, 1000)
    np.testing.assert_array_equal(ScalarSpace(mesh, 1).locate(x)[0], cells)


@pytest.mark.parametrize(("dimension", "degree"), DEGREES)
def test_points_slightly_outside_take_the_nearest_cell(dimension, degree):
    mesh = grid(BOXES[dimension], 3)
    space = ScalarSpace(mesh, degree)
    lower, upper = mesh.bounds
    x = np.random.default_rng(0).uniform(lower, upper, (60, dimension))
    side = np.where(np.arange(60) % 2, lower[0] - 1e-6, upper[0] + 1e-6)
    x[:, 0] = side
    values = space.interpolate(polynomial(space.nodes, degree), x)
    np.testing.assert_allclose(values, polynomial(x, degree), atol=1e-9)


def test_nodes_are_where_their_values_are_taken():
    for dimension, degree in DEGREES:
        space = ScalarSpace(grid(BOXES[dimension], 2), degree)
        values = np.random.default_rng(0).normal(size=space.size)
        np.testing.assert_allclose(space.interpolate(values, space.nodes), values, atol=1e-9)


@pytest.mark.parametrize(("dimension", "degree"), DEGREES)
def test_shape_functions_sum_to_one_and_have_true_gradients(dimension, degree):
    space = ScalarSpace(grid(BOXES[dimension], 2), degree)
    X = np.random.default_rng(0).dirichlet(np.ones(dimension + 1), 6).T[:dimension]
    phi, dphi = space.tabulate(X)
    assert phi.shape == (6, space.cell_nodes.shape[1])
    assert dphi.shape == (*phi.shape, dimension)
    np.testing.assert_allclose(phi.sum(-1), 1, atol=1e-13)
    for k in range(dimension):
        e = 1e-6 * np.eye(dimension)[:, k : k + 1]
        numeric = (space.tabulate(X + e)[0] - space.tabulate(X - e)[0]) / 2e-6
        np.testing.assert_allclose(dphi[..., k], numeric, atol=1e-7)


@pytest.mark.parametrize(("dimension", "degree"), DEGREES)
def test_nodes_on_a_side(dimension, degree):
    mesh = grid(BOXES[dimension], 2)
    space = ScalarSpace(mesh, degree)
    np.testing.assert_array_equal(
        space.boundary_nodes(mesh.facets("right")), np.flatnonzero(np.isclose(space.nodes[:, 0], 1))
    )
    assert np.sum(np.isclose(space.nodes[:, 0], 1)) == (2 * degree + 1) ** (dimension - 1)


def test_product_space_numbers_component_by_component():
    fields = (Field("v", components=2, degree=2), Field("p", degree=1), Field("q"))
    space = Space(grid(BOXES[2], 2), fields, degree=3)
    assert [s.degree for s in space.scalar] == [2, 2, 1, 3]
    np.testing.assert_array_equal(np.bincount(space.unknown_components), [25, 25, 9, 49])
    u = np.choose(space.unknown_components, [space.unknown_nodes[:, 0] * (k + 1.0) for k in range(4)])
    x = np.array([[0.3, 0.4], [0.9, 0.1]])
    np.testing.assert_allclose(space.interpolate(u, x), x[:, :1] * [1, 2, 3, 4], atol=1e-12)


@pytest.mark.parametrize("order", [None, 1, 4])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_quadrature_integrates_polynomials_of_its_order(dimension, order):
    space = Space(grid(BOXES[dimension], 2), (Field("u"),), 2, order)
    rule, lower, upper = space.quadrature, *space.mesh.bounds
    power = order or (5 if dimension < 3 else 4)  # scikit-fem's rule of order 5 on tetrahedra is exact to degree 4 only
    total = (rule.dx * rule.x[..., 0] ** power).sum()
    assert total == pytest.approx(np.prod((upper - lower)[1:]) / (power + 1), rel=1e-12)
    np.testing.assert_allclose(rule.dx.sum(), np.prod(upper - lower))


def test_faces_of_curved_tetrahedra():
    """Gauss's theorem for the position: the flux of x through the boundary is three times the volume, in every cell's map."""
    domain = Box((-1, -1, -1), (1, 1, 1), name="outer") - Ball((0.1, 0, 0), 0.5, name="hole")
    mesh = generate_mesh(domain, size=1.0)
    assert mesh.curved
    space = Space(mesh, (Field("u"),), 3, 7)
    batches = {name: facet_batch(space, mesh.facets(name)) for name in ("outer", "hole")}
    through = sum(float((b.dx * (b.x * b.normals).sum(dim=2)).sum()) for b in batches.values())
    assert through == pytest.approx(3 * space.quadrature.dx.sum(), rel=1e-12)
    hole = batches["hole"]
    assert float(hole.dx.sum()) == pytest.approx(4 * np.pi * 0.25, rel=3e-3)
    inward = (hole.normals * (torch.tensor([0.1, 0, 0]) - hole.x)).sum(dim=2) / 0.5
    assert float(inward.min()) > 0.97
    # values and gradients of a linear function
    u = torch.from_numpy(space.unknown_nodes @ [1.0, -2.0, 3.0])
    state = hole.state(u).reshape(*hole.dx.shape, 4)
    assert torch.allclose(state[..., 0], hole.x @ torch.tensor([1.0, -2.0, 3.0], dtype=hole.x.dtype), atol=1e-12)
    assert torch.allclose(
        state[..., 1:], torch.tensor([1.0, -2.0, 3.0], dtype=hole.x.dtype).expand_as(hole.x), atol=1e-10
    )


def test_points_in_curved_tetrahedra_are_found():
    ball = Ball((0, 0, 0), 1.0)
    space = ScalarSpace(generate_mesh(ball, size=0.5), 2)
    random = np.random.default_rng(0)
    X = random.dirichlet(np.ones(4), size=2000)[:, 1:].T
    cells = random.integers(space.mesh.cell_count, size=2000).astype(np.int32)
    x = space.mesh.skfem.mapping().F(X[:, :, None], cells)[:, :, 0].T
    found, at = space.locate(x)
    back = space.mesh.skfem.mapping().F(at[:, :, None], found.astype(np.int32))[:, :, 0].T
    np.testing.assert_allclose(back, x, atol=1e-9)
    assert np.minimum(at.min(axis=0), 1 - at.sum(axis=0)).min() > -0.01
    u = space.nodes @ [1.0, 2.0, -1.0]
    beyond = x / np.linalg.norm(x, axis=1, keepdims=True)  # on the sphere: outside of some cells by a little
    wrong = np.abs(space.interpolate(u, beyond) - beyond @ [1.0, 2.0, -1.0])
    assert np.mean(wrong < 1e-9) > 0.8
    assert wrong.max() < 0.25  # beside cells that could not be bent


def test_points_beside_a_curved_wall_are_looked_for_in_few_cells(monkeypatch):
    """Where no cell fits, those further and further away were tried one after the other."""
    mesh = generate_mesh(Disk((0, 0), 1.0), size=0.08)
    angle = np.linspace(0, 6, 50)
    x = (1 + 1e-7) * np.column_stack([np.cos(angle), np.sin(angle)])
    calls, own = [], space_module._inverse_map
    monkeypatch.setattr(space_module, "_inverse_map", lambda *given: calls.append(1) or own(*given))
    cells, X = ScalarSpace(mesh, 2).locate(x)
    back = mesh.skfem.mapping().F(X[:, :, None], cells.astype(np.int32))[:, :, 0].T
    assert len(calls) <= 25
    np.testing.assert_allclose(back, x, atol=1e-9)
    assert np.minimum(X.min(axis=0), 1 - X.sum(axis=0)).min() > -1e-4


def test_points_of_slender_cells_are_found_among_all():
    """Of cells 200 times as long as wide those with the nearest centroids are others."""
    mesh = generate_mesh(Rectangle((0, 0), (1, 1)), cells=(3, 600))
    x, _ = random_points(mesh)
    found, X = ScalarSpace(mesh, 1).locate(x)
    back = mesh.skfem.mapping().F(X[:, :, None], found.astype(np.int32))[:, :, 0].T
    np.testing.assert_allclose(back, x, atol=1e-12)
    assert np.minimum(X.min(axis=0), 1 - X.sum(axis=0)).min() > -1e-9
