"""Finite differences: second order in every dimension with every condition, the classical stencils, what is refused."""

import numpy as np
import pytest
import torch
from cases import (
    BOXES,
    Manufactured,
    boundary,
    general,
    grid,
    matrix_by_differences,
    normals,
    rates,
    smooth,
    standing_wave,
    wavy,
)

from pcpinn import Dirichlet, Disk, Field, Interval, Mesh, Natural, Neumann, Pin, Problem, Rectangle
from pcpinn.discretize.finite_differences import FiniteDifferences
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.system import linear_system
from pcpinn.errors import PcpinnError
from pcpinn.mesh.generate import generate_mesh

COUNTS = {1: (80, 160), 2: (12, 24), 3: (8, 16)}


def nodal_error(system, case):
    u = case.values(system.discretisation.unknown_nodes)[np.arange(system.size), system.nodes.component_of]
    return system.norm(system.solution - u)


def errors_on(case, sides, counts, **more):
    problem = case.problem(sides, **more)
    return [nodal_error(linear_system(FiniteDifferences(problem, grid(case.domain, n))), case) for n in counts]


@pytest.mark.parametrize("kind", ["dirichlet", "neumann", "robin", "natural", "periodic"])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_second_order(dimension, kind):
    case = general(dimension, *((wavy, True) if kind == "periodic" else ()))
    assert rates(errors_on(case, boundary(case, kind), COUNTS[dimension]))[0] == pytest.approx(2, abs=0.25)


@pytest.mark.parametrize("dimension", [1, 2])
def test_second_order_with_natural_conditions_on_all_sides(dimension):
    """Corners take the fluxes of all their sides."""
    case = general(dimension)
    errors = errors_on(case, boundary(case, "robin", tuple(normals(case.domain))), COUNTS[dimension])
    assert rates(errors)[0] == pytest.approx(2, abs=0.25)


def test_second_order_for_a_tensor_coefficient_and_a_vector():
    """Fluxes across a face that depend on derivatives along it, and two coupled components."""
    D = torch.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=torch.float64)
    case = Manufactured(
        BOXES[2],
        lambda x, u: (1 + x[0]) * u.grad @ D,
        lambda x, u: torch.stack([u.value[0] + u.grad[1, 0], u.value[1] - u.grad[0, 1]]),
        (lambda x: torch.stack([smooth(x), torch.sin(x[0] - 2 * x[1])]),),
        Field("u", components=2),
    )
    assert rates(errors_on(case, boundary(case, "dirichlet"), (12, 24)))[0] == pytest.approx(2, abs=0.25)


def test_second_order_with_a_pin():
    case = Manufactured(BOXES[1], lambda x, u: (1 + 0.5 * x[0]) * u.grad, lambda x, u: 0 * u.value, (smooth,))
    pin = Pin([0.0], float(smooth(torch.zeros(1, dtype=torch.float64))))
    assert rates(errors_on(case, boundary(case, "neumann", ("left", "right")), (20, 40), pins=[pin]))[
        0
    ] == pytest.approx(2, abs=0.25)


def test_waves_in_space_time():
    case, problem = standing_wave()
    meshes = [generate_mesh(case.domain, cells=n, steps=4 * n) for n in (8, 16)]
    errors = [nodal_error(linear_system(FiniteDifferences(problem, mesh)), case) for mesh in meshes]
    assert rates(errors)[0] == pytest.approx(2, abs=0.25)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_classical_stencil(dimension):
    """-Laplace u at an inner node is (2 d u - sum of neighbours) / h^2, the right-hand side is f there."""
    domain = {1: Interval(0, 1), 2: Rectangle((0, 0), (1, 1)), 3: BOXES[3]}[dimension]
    sides = dict.fromkeys(domain.boundary_names, Dirichlet(0.0))
    problem = Problem(domain, lambda x, u: u.grad, lambda x, u: -(x**2).sum(), sides)
    n = 4
    system = linear_system(FiniteDifferences(problem, grid(domain, n)))
    x = system.discretisation.unknown_nodes
    lower, upper = system.discretisation.mesh.bounds
    h = (upper - lower) / n
    centre = int(np.argmin(np.abs(x - (lower + upper) / 2).sum(1)))
    row = system.A[centre].toarray()[0]
    assert row[centre] == pytest.approx((2 / h**2).sum())
    for k in range(dimension):
        for step in (-h[k], h[k]):
            neighbour = int(np.argmin(np.abs(x - x[centre] - step * np.eye(dimension)[k]).sum(1)))
            assert row[neighbour] == pytest.approx(-1 / h[k] ** 2)
    assert np.count_nonzero(row) == 1 + 2 * dimension
    assert system.b[centre] == pytest.approx((x[centre] ** 2).sum())


def test_natural_end_is_the_classical_half_cell():
    """-u'' at an end with u' = g: (u_0 - u_1) / h = h f / 2 - g, divided by h / 2."""
    problem = Problem(
        Interval(0, 1), lambda x, u: u.grad, lambda x, u: -3.0, {"left": Dirichlet(0.0), "right": Neumann(2.0)}
    )
    system = linear_system(FiniteDifferences(problem, grid(Interval(0, 1), 5)))
    h = 0.2
    np.testing.assert_allclose(system.A[5].toarray()[0, 4:], [-2 / h**2, 2 / h**2])
    assert system.b[5] == pytest.approx(3.0 + 2 * 2.0 / h)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_gradients_at_nodes_are_exact_for_quadratics(dimension):
    """Also at the ends, where differences are one-sided."""
    domain, wind = BOXES[dimension], torch.arange(1.0, dimension + 1, dtype=torch.float64)
    sides = dict.fromkeys(domain.boundary_names, Neumann(0))
    fd = FiniteDifferences(Problem(domain, source=lambda x, u: wind @ u.grad, boundary=sides), grid(domain, 3))
    total, w = fd.nodes.sum(1), wind.numpy()
    A = fd.matrix(torch.zeros(fd.size, dtype=torch.float64))
    np.testing.assert_allclose(A @ (total**2 - fd.nodes[:, 0]), 2 * total * w.sum() - w[0], atol=1e-12)


def test_matrix_times_volumes_is_that_of_linear_elements_on_an_interval():
    problem = Problem(Interval(0, 2), lambda x, u: u.grad, None, {"left": Neumann(0), "right": Neumann(0)})
    mesh = grid(Interval(0, 2), 6)
    fd, fe = FiniteDifferences(problem, mesh), FiniteElements(problem, mesh, 1)
    zero = torch.zeros(7, dtype=torch.float64)
    A, B = fd.matrix(zero).toarray() * fd.volumes[:, None], fe.matrix(zero).toarray()
    order = np.argsort(fe.unknown_nodes[:, 0])
    np.testing.assert_allclose(A, B[np.ix_(order, order)], atol=1e-12)


@pytest.mark.parametrize("kind", ["dirichlet", "robin"])
def test_agreement_with_finite_elements(kind):
    case = general(2)
    problem, mesh = case.problem(boundary(case, kind)), grid(case.domain, 16)
    fd, fe = linear_system(FiniteDifferences(problem, mesh)), linear_system(FiniteElements(problem, mesh, 2))
    x = np.random.default_rng(0).uniform(0.05, 0.75, (50, 2))
    difference = fd.discretisation.interpolate(fd.solution, x) - fe.discretisation.interpolate(fe.solution, x)
    assert 1e-7 < np.abs(difference).max() < 2e-3


def test_matrix_is_the_derivative_of_the_residual():
    """Nonlinear inside and on the sides, two fields; and linear problems give R(u) = A u - b."""
    domain = BOXES[2]

    def flux(x, u, w):
        return (1 + w.value**2) * u.grad, torch.exp(0.1 * u.value) * w.grad + 0.1 * u.grad

    def source(x, u, w):
        return u.value**3 * w.value, (u.grad @ u.grad) * torch.cos(w.value)

    sides = {name: {"u": Natural(lambda x, n, u, w: u.value**2 + (w.grad @ n) ** 2)} for name in domain.boundary_names}
    fd = FiniteDifferences(Problem(domain, flux, source, sides, ("u", "w")), grid(domain, 3))
    u = torch.randn(fd.size, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    numeric = matrix_by_differences(fd.residual, u)
    np.testing.assert_allclose(fd.matrix(u).toarray(), numeric, atol=1e-7 * np.abs(numeric).max())


def test_residual_is_differentiable():
    case = general(2)
    fd = FiniteDifferences(case.problem(boundary(case, "robin")), grid(case.domain, 4))
    u = torch.linspace(-1, 1, fd.size, dtype=torch.float64, requires_grad=True)
    r, A = fd.residual(u), fd.matrix(u.detach())
    b = -fd.residual(torch.zeros_like(u)).detach().numpy()
    np.testing.assert_allclose(r.detach(), A @ u.detach().numpy() - b, atol=1e-10)
    (gradient,) = torch.autograd.grad(0.5 * r @ r, u)
    np.testing.assert_allclose(gradient, A.T @ r.detach().numpy(), rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_weights_integrate_linear_functions(dimension):
    case = general(dimension)
    system = linear_system(FiniteDifferences(case.problem(boundary(case, "dirichlet")), grid(case.domain, 4)))
    lower, upper = system.discretisation.mesh.bounds
    x = system.discretisation.unknown_nodes
    assert system.weights.sum() == pytest.approx(np.prod(upper - lower))
    np.testing.assert_allclose(system.weights @ x, np.prod(upper - lower) * (lower + upper) / 2)


def interpolation_error(n, power):
    case = general(2)
    fd = FiniteDifferences(case.problem(boundary(case, "dirichlet")), grid(case.domain, n))
    x = np.random.default_rng(0).uniform(0, 0.8, (30, 2))
    f = lambda p: (p[:, 0] + 2 * p[:, 1]) ** power  # noqa: E731
    return np.abs(fd.interpolate(f(fd.nodes), x)[:, 0] - f(x)).max() / 17


def test_interpolation_is_linear_on_the_coarsest_grid_and_cubic_on_others():
    assert interpolation_error(2, 1) < 1e-14
    assert interpolation_error(6, 3) < 1e-4
    assert interpolation_error(6, 5) > 1e-3


def test_cubic_interpolation_is_exact_for_cubics():
    assert interpolation_error(6, 3) < 1e-12


def test_points_outside_are_moved_to_the_edge():
    case = general(2)
    fd = FiniteDifferences(case.problem(boundary(case, "dirichlet")), grid(case.domain, 5))
    outside = fd.interpolate(fd.nodes[:, 1] ** 2, np.array([[1.1, 0.5], [1.0, 0.5]]))
    assert outside[0] == outside[1]


def ring():
    """A 3 x 3 grid of squares without the middle one: the nodes of a full grid, but not a box."""
    mesh = grid(Rectangle((0, 0), (1, 1)), 3)
    centre = mesh.nodes[mesh.cells].mean(axis=1)
    return Mesh(mesh.nodes, mesh.cells[np.abs(centre - 0.5).max(axis=1) > 1 / 6], mesh.boundaries)


def stretched():
    mesh = grid(Rectangle((0, 0), (1, 1)), 4)
    return Mesh(mesh.nodes**1.5, mesh.cells, mesh.boundaries)


def sheared():
    mesh = grid(Rectangle((0, 0), (1, 1)), 4)
    return Mesh(mesh.nodes @ np.array([[1.0, 0.0], [0.25, 1.0]]), mesh.cells, mesh.boundaries)


@pytest.mark.parametrize(
    "mesh",
    [
        lambda: generate_mesh(Disk((0, 0), 1), size=0.5, curved=False),
        lambda: generate_mesh(Disk((0, 0), 1), size=0.5),
        lambda: generate_mesh(Rectangle((0, 0), (1, 1)), size=0.3),
        lambda: grid(Rectangle((0, 0), (1, 1)), 1),
        stretched,
        sheared,
        pytest.param(ring),
    ],
)
def test_other_meshes_are_refused(mesh):
    mesh = mesh()
    problem = Problem(mesh, lambda x, u: u.grad, boundary=dict.fromkeys(mesh.boundary_names, Dirichlet(0.0)))
    with pytest.raises(PcpinnError, match="uniform grid of a box") as caught:
        FiniteDifferences(problem, mesh)
    assert "fem" in caught.value.remedy
