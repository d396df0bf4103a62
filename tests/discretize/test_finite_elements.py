"""Finite elements: rates of convergence, scikit-fem's own matrices, derivatives, every condition, every mesh."""

from dataclasses import replace

import numpy as np
import pytest
import skfem
import torch
from cases import (
    BOXES,
    Manufactured,
    boundary,
    general,
    grid,
    l2_error,
    matrix_by_differences,
    normals,
    rates,
    smooth,
    solve_directly,
    standing_wave,
    wavy,
)
from scipy.spatial import cKDTree
from skfem.helpers import ddot, div, dot, grad

from pcpinn import Dirichlet, Disk, Field, Initial, Interval, Mesh, Natural, Neumann, Periodic, Pin, Problem, Robin
from pcpinn.discretize.batches import cell_batches
from pcpinn.discretize.elements import LAGRANGE
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.system import linear_system
from pcpinn.errors import PcpinnError
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.refine import refined
from pcpinn.problem.shapes import Ball, Box, Rectangle

# (dimension, degree) -> cells along a side of two meshes, one twice as fine as the other
ELEMENTS = {
    (1, 1): (16, 32),
    (1, 2): (8, 16),
    (1, 3): (8, 16),
    (1, 4): (4, 8),
    (2, 1): (12, 24),
    (2, 2): (6, 12),
    (2, 3): (4, 8),
    (2, 4): (3, 6),
    (3, 1): (5, 10),
    (3, 2): (3, 6),
    (3, 3): (2, 4),
    (3, 4): (2, 4),
}


def errors_on(case, sides, degree, counts, pins=(), **options):
    problem = case.problem(sides, pins=pins)
    meshes = (grid(case.domain, n, periodic=problem.periodic_pairs, **options) for n in counts)
    return [l2_error(solve_directly(problem, mesh, degree), case) for mesh in meshes]


@pytest.mark.parametrize(("dimension", "degree"), ELEMENTS)
def test_every_element_converges_with_its_order(dimension, degree):
    case = general(dimension)
    errors = errors_on(case, boundary(case, "dirichlet"), degree, ELEMENTS[dimension, degree])
    assert rates(errors)[0] == pytest.approx(degree + 1, abs=0.25)


@pytest.mark.parametrize("kind", ["neumann", "robin", "natural", "periodic"])
@pytest.mark.parametrize(("dimension", "degree"), [(1, 3), (2, 1), (2, 2), (3, 2)])
def test_every_condition_keeps_the_order(kind, dimension, degree):
    case = general(dimension, *((wavy, True) if kind == "periodic" else ()))
    counts = ELEMENTS[dimension, degree]
    counts = (4, 8) if (dimension, degree, kind) == (3, 2, "periodic") else counts  # a whole wave needs more cells
    errors = errors_on(case, boundary(case, kind), degree, counts)
    assert rates(errors)[0] == pytest.approx(degree + 1, abs=0.25)


@pytest.mark.parametrize(("dimension", "degree"), [(1, 2), (2, 1), (2, 2)])
def test_a_pin_fixes_the_constant_of_a_pure_neumann_problem(dimension, degree):
    case = Manufactured(BOXES[dimension], lambda x, u: (1 + 0.5 * x[0]) * u.grad, lambda x, u: 0.0 * u.value, (smooth,))
    corner = torch.zeros(dimension, dtype=torch.float64)
    sides = boundary(case, "neumann", tuple(normals(case.domain)))
    errors = errors_on(
        case, sides, degree, ELEMENTS[dimension, degree], pins=[Pin(corner.tolist(), float(smooth(corner)))]
    )
    assert rates(errors)[0] == pytest.approx(degree + 1, abs=0.25)


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("ends", ["dirichlet", "periodic"])
def test_waves_in_space_time(degree, ends):
    """u_tt = u_xx + f, by value and rate at the start and nothing at the end."""
    case, problem = standing_wave()
    if ends == "periodic":
        kept = {name: c for name, c in problem.boundary.items() if name not in ("left", "right")}
        problem = replace(problem, boundary={"left": Periodic("right"), **kept})
    errors = [
        l2_error(
            solve_directly(
                problem, generate_mesh(case.domain, cells=n, steps=4 * n, periodic=problem.periodic_pairs), degree
            ),
            case,
        )
        for n in ((8, 16) if degree == 1 else (4, 8))
    ]
    assert rates(errors)[0] == pytest.approx(degree + 1, abs=0.25)


@pytest.mark.parametrize("form", ["density", "source"])
def test_damped_waves(form):
    """u_tt + 3 u_t = u_xx + f; damping in the density, where the start has to know it, or in the source."""

    def exact(p):
        return torch.sin(torch.pi * p[0]) * torch.exp(-p[1])

    def f(x, t):  # u_tt + 3 u_t - u_xx
        return (1 - 3 + torch.pi**2) * torch.sin(torch.pi * x[0]) * torch.exp(-t)

    damping = (lambda x, u: u.dt + 3 * u.value) if form == "density" else (lambda x, u: u.dt)
    problem = Problem(
        Interval(0, 1).over(0, 1),
        density=damping,
        flux=lambda x, u: u.grad,
        source=lambda x, t, u: (0.0 if form == "density" else 3 * u.dt) - f(x, t),
        boundary={
            "left": Dirichlet(0.0),
            "right": Dirichlet(0.0),
            "initial": Initial(lambda x: torch.sin(torch.pi * x[0]), rate=lambda x: -torch.sin(torch.pi * x[0])),
        },
    )
    case = Manufactured(problem.domain, None, None, (exact,))
    meshes = [generate_mesh(problem.domain, cells=n, steps=4 * n) for n in (4, 8)]
    errors = [l2_error(solve_directly(problem, mesh, 2), case) for mesh in meshes]
    assert rates(errors)[0] == pytest.approx(3, abs=0.3)


@pytest.mark.parametrize("kind", ["dirichlet", "robin"])
@pytest.mark.parametrize(("curved", "rate"), [(True, 3), (False, 2)])
def test_only_curved_cells_keep_the_order_on_a_disk(kind, curved, rate):
    """u = 0 or the flux is prescribed on the true circle, which straight cells miss by h^2."""

    def exact(x):
        return (1 - x @ x) * torch.exp(0.5 * x[0]) if kind == "dirichlet" else smooth(x)

    case = Manufactured(Disk((0, 0), 1), lambda x, u: (1.5 + 0.5 * x[1]) * u.grad, lambda x, u: u.value, (exact,))

    def robin(x):
        on_circle = x / x.norm()
        return case.fluxes(on_circle)[0] @ on_circle + 2 * exact(on_circle)

    problem = case.problem({"boundary": Dirichlet(0.0) if kind == "dirichlet" else Robin(2.0, robin)})
    errors = []
    for size in (0.4, 0.2, 0.1):
        mesh = generate_mesh(case.domain, size=size, curvature=0.1, curved=curved)
        errors.append(l2_error(solve_directly(problem, mesh, 2), case))
    assert np.log2(errors[0] / errors[2]) / 2 == pytest.approx(rate, abs=0.25)


@pytest.mark.parametrize(("degree", "curved", "rate"), [(2, True, 3), (3, True, 4), (3, False, 2)])
def test_only_curved_tetrahedra_keep_the_order_around_a_void(degree, curved, rate):
    """The flux is prescribed on the true sphere; finer meshes are refined ones, with nodes moved there."""
    hole = Ball((0, 0, 0), 0.6, name="hole")
    case = Manufactured(
        Box((-1, -1, -1), (1, 1, 1), name="outer") - hole,
        lambda x, u: (1.5 + 0.5 * x[1]) * u.grad,
        lambda x, u: u.value,
        (lambda x: torch.cos(x[0] + 0.5 * x[1]) + x[2] ** 2,),
    )

    def flux(x):
        on_sphere = x / x.norm()
        return -case.fluxes(0.6 * on_sphere)[0] @ on_sphere

    problem = case.problem({"outer": Dirichlet(case.exact[0]), "hole": Neumann(flux)})
    mesh, errors = generate_mesh(case.domain, size=1.0, curved=curved), []
    for _ in range(2):
        errors.append(l2_error(solve_directly(problem, mesh, degree), case))
        mesh = refined(mesh, case.domain)
    found = rates(errors)[0]
    assert found > rate - 0.8 if curved else found < rate + 0.2
    assert errors[-1] < (4e-4 if degree == 2 else 2e-5) or not curved


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_curved_cells_of_any_degree(degree):
    case = general(2, domain=Disk((0.5, 0.5), 0.5))
    problem = case.problem({"boundary": Dirichlet(smooth)})
    errors = [
        l2_error(solve_directly(problem, generate_mesh(case.domain, size=h, curvature=0.1), degree), case)
        for h in (0.3, 0.15)
    ]
    assert rates(errors)[0] > degree + 0.5


def second(x):
    return torch.sin(x[0] - 2 * x[1]) + x[0] * x[1]


def coupled_vector():
    """An elastic plate with a reaction: both components in both equations."""

    def flux(x, u):
        strain = (u.grad + u.grad.T) / 2
        return 2 * (1 + x[0]) * strain + 0.7 * torch.eye(2, dtype=x.dtype) * strain.trace()

    def source(x, u):
        return torch.stack([u.value[1] + u.grad[0, 1], 2 * u.value[0] - x[0] * u.value[1]])

    return Manufactured(
        BOXES[2], flux, source, (lambda x: torch.stack([smooth(x), second(x)]),), Field("u", components=2)
    )


def mixed_degrees():
    """A scalar of degree 1 and a vector of degree 2, coupled by values and gradients."""

    def flux(x, p, v):
        return p.grad + 0.3 * v.value, (1 + x[1]) * v.grad

    def source(x, p, v):
        return p.value + v.grad.trace(), p.grad + v.value

    return Manufactured(
        BOXES[2], flux, source, (second, lambda x: torch.stack([smooth(x), x[0] * smooth(x)])),
        (Field("p", degree=1), Field("v", components=2, degree=2)),
    )  # fmt: skip


def test_coupled_vector_field():
    case = coupled_vector()
    sides = {
        name: case.condition("neumann" if name == "top" else "dirichlet", n) for name, n in normals(case.domain).items()
    }
    errors = errors_on(case, sides, 2, (5, 10))
    assert rates(errors)[0] == pytest.approx(3, abs=0.25)


def test_fields_of_different_degree():
    case = mixed_degrees()
    sides = {
        name: {
            "p": case.condition("dirichlet", n, 0),
            "v": case.condition("robin" if name == "right" else "dirichlet", n, 1),
        }
        for name, n in normals(case.domain).items()
    }
    problem = case.problem(sides)
    parts = []
    for n in (6, 12):
        system = solve_directly(problem, grid(case.domain, n), 4)
        error = (
            system.solution
            - case.values(system.discretisation.unknown_nodes)[np.arange(system.size), system.nodes.component_of]
        )
        parts.append([np.sqrt(np.mean(error[system.nodes.component_of == k] ** 2)) for k in range(3)])
        assert {s.degree for s in system.discretisation.space.scalar} == {1, 2}
    assert rates(parts)[0, 0] == pytest.approx(2, abs=0.25)
    assert np.all(rates(parts)[0] > 1.75)


def test_dirichlet_on_one_component_only():
    case = coupled_vector()
    whole = {name: case.condition("dirichlet", n) for name, n in normals(case.domain).items()}
    sliding = {"u": Dirichlet([smooth, None])}
    system = solve_directly(case.problem(whole | {"top": sliding}), grid(case.domain, 4), 2)
    x, y = system.discretisation.unknown_nodes.T
    top = np.isclose(y, 0.8) & (x > 1e-9) & (x < 1 - 1e-9)
    fixed = np.isin(np.arange(system.size), system.discretisation.constraints.constrained)
    assert fixed[top & (system.nodes.component_of == 0)].all()
    assert not fixed[top & (system.nodes.component_of == 1)].any()


# Matrices


def skfem_element(dimension, degree):
    return skfem.ElementLineP2() if (dimension, degree) == (1, 2) else LAGRANGE.element(dimension, degree)


def assert_same(A, rows, columns, expected):
    """A[rows][:, columns] equals the expected block."""
    block = A[rows][:, columns]
    assert abs(block - expected).max() <= 1e-12 * abs(expected).max()


@pytest.mark.parametrize(("dimension", "degree"), [key for key in ELEMENTS if key not in {(1, 3), (1, 4)}])
@pytest.mark.parametrize("form", ["laplace", "mass", "convection"])
def test_matrices_equal_those_of_scikit_fem(dimension, degree, form):
    mesh = grid(BOXES[dimension], 3)
    basis = skfem.Basis(mesh.skfem, skfem_element(dimension, degree), intorder=2 * degree + 1)
    wind = np.arange(1.0, dimension + 1)
    expected = {
        "laplace": skfem.BilinearForm(lambda u, v, w: dot(grad(u), grad(v))),
        "mass": skfem.BilinearForm(lambda u, v, w: u * v),
        "convection": skfem.BilinearForm(lambda u, v, w: sum(wind[i] * grad(u)[i] for i in range(dimension)) * v),
    }[form].assemble(basis)
    flux, source = {
        "laplace": (lambda x, u: u.grad, None),
        "mass": (None, lambda x, u: u.value),
        "convection": (None, lambda x, u: torch.from_numpy(wind) @ u.grad),
    }[form]
    sides = dict.fromkeys(BOXES[dimension].boundary_names, Neumann(0))
    fe = FiniteElements(Problem(BOXES[dimension], flux, source, sides), mesh, degree)
    A = fe.matrix(torch.zeros(fe.size, dtype=torch.float64))
    distance, at = cKDTree(fe.unknown_nodes).query(basis.doflocs.T)
    assert distance.max() < 1e-12
    assert_same(A, at, at, expected)


@pytest.mark.parametrize("curved", [True, False])
def test_curved_matrices_equal_those_of_scikit_fem(curved):
    mesh = generate_mesh(Disk((0, 0), 1), size=0.5, curved=curved)
    fe = FiniteElements(
        Problem(Disk((0, 0), 1), lambda x, u: u.grad, lambda x, u: 3 * u.value, {"boundary": Robin(2.0)}), mesh, 2
    )
    order = fe.space.quadrature_order
    inside = skfem.Basis(mesh.skfem, skfem.ElementTriP2(), intorder=order)
    rim = skfem.FacetBasis(mesh.skfem, skfem.ElementTriP2(), intorder=order)
    expected = skfem.BilinearForm(lambda u, v, w: dot(grad(u), grad(v)) + 3 * u * v).assemble(inside)
    expected = expected + skfem.BilinearForm(lambda u, v, w: 2 * u * v).assemble(rim)
    assert_same(fe.matrix(torch.zeros(fe.size, dtype=torch.float64)), slice(None), slice(None), expected)


@pytest.mark.parametrize(("dimension", "degree"), ELEMENTS)
def test_energies_of_polynomials_are_exact(dimension, degree):
    """u = (x + y / 2 ...)^p and v = x^(p - 1) belong to the space, so their energies are integrals by hand."""
    domain = {1: Interval(0, 1), 2: Rectangle((0, 0), (1, 1)), 3: BOXES[3]}[dimension]
    sides = dict.fromkeys(domain.boundary_names, Neumann(0))
    fe = FiniteElements(Problem(domain, lambda x, u: u.grad, None, sides), grid(domain, 2), degree)
    A = fe.matrix(torch.zeros(fe.size, dtype=torch.float64))
    power = fe.unknown_nodes[:, 0] ** degree
    lower, upper = fe.mesh.bounds
    area = np.prod((upper - lower)[1:])
    assert power @ A @ power == pytest.approx(area * degree**2 / (2 * degree - 1), rel=1e-12)
    assert power @ A @ fe.unknown_nodes[:, 0] == pytest.approx(area, rel=1e-12)
    assert np.abs(A @ np.ones(fe.size)).max() < 1e-11


def test_taylor_hood_stokes_equals_scikit_fem():
    domain = Rectangle((0, 0), (1, 0.8))
    mesh = grid(domain, 4)

    def flux(x, v, p):
        return 0.3 * v.grad - p.value * torch.eye(2, dtype=x.dtype), None

    fields = (Field("v", components=2, degree=2), Field("p", degree=1))
    sides = {name: {"v": Dirichlet([0.0, 0.0])} for name in domain.boundary_names}
    problem = Problem(domain, flux, lambda x, v, p: (None, v.grad.trace()), sides, fields)
    fe = FiniteElements(problem, mesh, 1)
    A = fe.matrix(torch.zeros(fe.size, dtype=torch.float64))

    velocity = skfem.Basis(mesh.skfem, skfem.ElementVector(skfem.ElementTriP2()), intorder=4)
    pressure = velocity.with_element(skfem.ElementTriP1())
    viscous = skfem.BilinearForm(lambda u, v, w: 0.3 * ddot(grad(u), grad(v))).assemble(velocity)
    divergence = skfem.BilinearForm(lambda u, q, w: div(u) * q).assemble(velocity, pressure)
    first = skfem.LinearForm(lambda v, w: v[0] ** 2).assemble(velocity) > 0
    places = np.column_stack([velocity.doflocs.T, np.where(first, 0, 1)])
    ours = np.column_stack([fe.unknown_nodes, fe.unknown_components])
    at_v, at_p = (
        cKDTree(ours).query(q)[1] for q in (places, np.column_stack([pressure.doflocs.T, np.full(pressure.N, 2)]))
    )
    assert len(np.unique(np.concatenate([at_v, at_p]))) == fe.size == velocity.N + pressure.N
    assert_same(A, at_v, at_v, viscous)
    assert_same(A, at_p, at_v, divergence)
    assert_same(A, at_v, at_p, -divergence.T)
    assert A[at_p][:, at_p].nnz == 0


# Residuals and their derivatives


@pytest.mark.parametrize("kind", ["scalar", "vector", "mixed"])
def test_residual_of_a_linear_problem(kind):
    """R(u) = A u - b, and half the gradient of |R|^2 is A^T R."""
    case = {"scalar": general(2), "vector": coupled_vector(), "mixed": mixed_degrees()}[kind]
    sides = {
        name: {f: case.condition("natural" if name == "top" else "robin", n, k) for k, f in enumerate(("p", "v"))}
        if kind == "mixed"
        else case.condition("robin", n)
        for name, n in normals(case.domain).items()
    }
    fe = FiniteElements(case.problem(sides), grid(case.domain, 3), 2)
    zero = torch.zeros(fe.size, dtype=torch.float64)
    A, b = fe.matrix(zero), -fe.residual(zero).numpy()
    u = torch.randn(fe.size, dtype=torch.float64, generator=torch.Generator().manual_seed(1), requires_grad=True)
    r = fe.residual(u)
    np.testing.assert_allclose(r.detach(), A @ u.detach().numpy() - b, atol=1e-12)
    (gradient,) = torch.autograd.grad(0.5 * r @ r, u)
    np.testing.assert_allclose(gradient, A.T @ r.detach().numpy(), atol=1e-11)


@pytest.mark.parametrize("dimension", [1, 2])
def test_matrix_of_a_nonlinear_problem(dimension):
    """Two coupled fields, nonlinear inside and on a side: the matrix is the derivative of the residual."""
    domain = BOXES[dimension]

    def flux(x, u, w):
        return (1 + u.value**2) * u.grad + torch.sin(w.value) * w.grad, torch.exp(0.1 * u.value) * w.grad

    def source(x, u, w):
        return u.value**3 * w.value, (u.grad @ u.grad) * torch.cos(w.value)

    sides = {
        name: {"u": Natural(lambda x, n, u, w: u.value**2 * w.value + (w.grad @ n) ** 2)}
        for name in domain.boundary_names
    }
    fe = FiniteElements(
        Problem(domain, flux, source, sides, (Field("u", degree=2), Field("w", degree=1))), grid(domain, 2)
    )
    u = torch.randn(fe.size, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    numeric = matrix_by_differences(fe.residual, u)
    np.testing.assert_allclose(fe.matrix(u).toarray(), numeric, atol=1e-7 * np.abs(numeric).max())


def test_cells_in_chunks_give_the_same(monkeypatch):
    case = general(2)
    problem = case.problem(boundary(case, "robin"))
    fe = FiniteElements(problem, grid(case.domain, 5), 2)
    u = torch.linspace(0, 1, fe.size, dtype=torch.float64)
    A, r = fe.matrix(u), fe.residual(u)
    monkeypatch.setattr("pcpinn.discretize.batches._CHUNK_ENTRIES", 1000)
    assert len(list(cell_batches(fe.space))) > 3
    assert abs(fe.matrix(u) - A).max() < 1e-12
    torch.testing.assert_close(fe.residual(u), r)


@pytest.mark.parametrize(("dimension", "degree"), ELEMENTS)
def test_weights_are_the_rescaled_diagonal_of_the_mass_matrix(dimension, degree):
    domain = BOXES[dimension]
    problem = Problem(domain, source=lambda x, u: u.value, boundary=dict.fromkeys(domain.boundary_names, Neumann(0)))
    fe = FiniteElements(problem, grid(domain, 2), degree)
    basis = skfem.Basis(fe.mesh.skfem, fe.space.scalar[0].element, intorder=2 * degree)
    diagonal = skfem.BilinearForm(lambda u, v, w: u * v).assemble(basis).diagonal()
    ratio = fe.weights / diagonal
    np.testing.assert_allclose(ratio, ratio[0])
    assert fe.weights.sum() == pytest.approx(np.prod(fe.mesh.bounds[1] - fe.mesh.bounds[0]))


# Meshes of every origin


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_unstructured_mesh_with_periodic_sides(degree):
    domain = Rectangle((0, 0), (1, 1)) - Disk((0.8, 0.4), 0.15, name="hole")
    case = general(2, wavy, periodic=True, domain=domain)
    hole = Natural(lambda x, n, u: case.fluxes(x)[0] @ n)
    sides = {"left": Periodic("right"), "top": Dirichlet(wavy), "bottom": Dirichlet(wavy), "hole": hole}
    problem = case.problem(sides)
    errors = []
    for size in (0.2, 0.1):
        system = solve_directly(problem, generate_mesh(domain, size=size, periodic=problem.periodic_pairs), degree)
        errors.append(l2_error(system, case))
        x = system.discretisation.unknown_nodes
        left, right = (np.flatnonzero(np.isclose(x[:, 0], side)) for side in (0, 1))
        assert len(left) == len(right) > 5
        values = [system.solution[side][np.argsort(x[side, 1])] for side in (left, right)]
        np.testing.assert_allclose(*values, atol=1e-12)
    assert rates(errors)[0] > degree + 0.5


def shuffled(mesh, seed):
    """The same mesh with nodes and cells in random order, cells turned at random, and a node that nothing uses."""
    rng = np.random.default_rng(seed)
    number = rng.permutation(len(mesh.nodes) + 1)[:-1]
    nodes = np.full((len(mesh.nodes) + 1, mesh.dimension), 7.0)
    nodes[number] = mesh.nodes
    cells = rng.permuted(number[rng.permutation(mesh.cells)], axis=1)
    return Mesh(nodes, cells, {name: rng.permuted(number[rows], axis=1) for name, rows in mesh.boundaries.items()})


@pytest.mark.parametrize(("dimension", "degree"), ELEMENTS)
def test_a_users_mesh_in_any_order(dimension, degree):
    case = general(dimension)
    sides = boundary(case, "neumann") | {"left": case.condition("natural", normals(case.domain)["left"])}
    structured = grid(case.domain, 3)
    mesh = shuffled(structured, degree)
    expected = solve_directly(case.problem(sides), structured, degree)
    problem = case.problem(sides)
    system = linear_system(FiniteElements(Problem(mesh, problem.flux, problem.source, problem.boundary), mesh, degree))
    assert system.size == expected.size
    distance, at = cKDTree(expected.discretisation.unknown_nodes).query(system.discretisation.unknown_nodes)
    assert distance.max() < 1e-12
    np.testing.assert_allclose(system.solution, expected.solution[at], atol=1e-11)


@pytest.mark.parametrize(("dimension", "degree"), [(3, 5), (2, 5), (1, 0)])
def test_missing_elements_are_refused(dimension, degree):
    with pytest.raises(PcpinnError, match=f"degree {degree} in {dimension} dimensions"):
        LAGRANGE.element(dimension, degree)
