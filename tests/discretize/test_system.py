"""The linear system over all nodes: rows of constrained degrees of freedom, symmetry, points, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from cases import BOXES, boundary, general, grid, poisson

from pcpinn import Dirichlet, Field, Interval, Natural, Neumann, Periodic, Pin, Problem, Rectangle, Robin
from pcpinn.discretize.finite_differences import FiniteDifferences
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.linear_solves import solve_sparse
from pcpinn.discretize.system import linear_system
from pcpinn.errors import PcpinnError, PcpinnWarning
from pcpinn.mesh.generate import generate_mesh

SQUARE = Rectangle((0, 0), (1, 1))
MIXED = {
    "dirichlet": dict.fromkeys(SQUARE.boundary_names, Dirichlet(lambda x: x[0] + 1)),
    "robin": {"left": Dirichlet(1.0), "right": Robin(2.0, 1.0), "top": Neumann(3.0), "bottom": Neumann(0)},
    "periodic": {
        "left": Periodic("right"),
        "top": Dirichlet(lambda x: torch.sin(2 * torch.pi * x[0])),
        "bottom": Neumann(1.0),
    },
    "torus": {"left": Periodic("right"), "bottom": Periodic("top")},
}
KINDS = {
    "fem1": lambda p, m: FiniteElements(p, m, 1),
    "fem3": lambda p, m: FiniteElements(p, m, 3),
    "fdm": FiniteDifferences,
}


def system_of(sides, kind="fem1", n=4, source=lambda x, u: u.value - 1.0, **more):
    problem = Problem(SQUARE, lambda x, u: (1 + x[0] * (1 - x[0])) * u.grad, source, sides, **more)
    return linear_system(KINDS[kind](problem, grid(SQUARE, n)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sides", MIXED)
def test_rows_of_constrained_unknowns_state_their_condition(kind, sides):
    system = system_of(MIXED[sides], kind)
    found = system.discretisation.constraints
    A = system.A.tolil()
    for i, j, value in zip(found.constrained, found.master, found.value, strict=True):
        assert dict(zip(A.rows[i], A.data[i], strict=True)) == ({i: 1.0} if j < 0 else {i: 1.0, j: -1.0})
        assert system.b[i] == value
    assert abs(system.A[found.free][:, found.constrained]).nnz == 0


@pytest.mark.parametrize("kind", ["fem1", "fem3"])
@pytest.mark.parametrize("sides", MIXED)
def test_elimination_keeps_symmetry(kind, sides):
    """Of the whole matrix without periodic sides, of the free part with them."""
    system = system_of(MIXED[sides], kind)
    free = system.discretisation.constraints.free if sides in ("periodic", "torus") else np.arange(system.size)
    A = system.A[free][:, free]
    assert abs(A - A.T).max() < 1e-13
    assert np.linalg.eigvalsh(A.toarray()).min() > 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sides", MIXED)
def test_solution_equals_a_dense_elimination(kind, sides):
    """Keep only one unknown per class of identified nodes, move prescribed values to the right, solve densely."""
    system = system_of(MIXED[sides], kind)
    disc, found = system.discretisation, system.discretisation.constraints
    zero = torch.zeros(system.size, dtype=torch.float64)
    K, f = disc.matrix(zero).toarray(), -disc.residual(zero).numpy()
    fixed = np.zeros(system.size)
    fixed[found.constrained] = found.value
    spread = np.zeros((system.size, len(found.free)))
    spread[found.free, np.arange(len(found.free))] = 1
    for i, j in zip(found.constrained, found.master, strict=True):
        if j >= 0:
            spread[i, np.flatnonzero(found.free == j)] = 1
    inner = np.linalg.solve(spread.T @ K @ spread, spread.T @ (f - K @ fixed))
    np.testing.assert_allclose(system.solution, spread @ inner + fixed, atol=1e-10)


def test_boundary_nodes_are_seen():
    system = system_of(MIXED["dirichlet"], "fem3")
    assert system.size == system.discretisation.size == len(system.nodes.points)
    x = system.nodes.points
    edge = ((x == 0) | (x == 1)).any(1)
    assert edge.sum() == 4 * 4 * 3
    np.testing.assert_allclose(system.solution[edge], x[edge, 0] + 1)


def test_one_scalar_field_keeps_its_nodes_as_points():
    system = poisson(2, 3, 2)
    np.testing.assert_array_equal(system.nodes.point_of, np.arange(system.size))
    np.testing.assert_array_equal(system.nodes.points, system.discretisation.unknown_nodes)


def test_fields_share_their_points():
    """P2 velocity and P1 pressure: every pressure node is a velocity node, so the points are those of P2."""
    fields = (Field("p", degree=1), Field("v", components=2, degree=2))
    sides = {name: {"p": Dirichlet(0.0), "v": Dirichlet(0.0)} for name in SQUARE.boundary_names}
    problem = Problem(SQUARE, lambda x, p, v: (p.grad, v.grad), None, sides, fields)
    system = linear_system(FiniteElements(problem, generate_mesh(SQUARE, size=0.3), 1))
    sizes = np.bincount(system.nodes.component_of)
    assert sizes[1] == sizes[2] == len(system.nodes.points)
    assert sizes[0] < sizes[1]
    np.testing.assert_allclose(
        system.nodes.points[system.nodes.point_of], system.discretisation.unknown_nodes, atol=1e-12
    )
    assert len(np.unique(np.round(system.nodes.points, 9), axis=0)) == len(system.nodes.points)


def test_norm_is_weighted():
    system = poisson(2, 4)
    u = np.linspace(0, 1, system.size)
    assert system.norm(u) == pytest.approx(np.sqrt(np.sum(system.weights * u * u)))


# Refusals


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("sides", ["neumann", "periodic"])
def test_a_constant_that_nothing_fixes_is_refused_until_pinned(kind, dimension, sides):
    domain = BOXES[dimension]
    conditions = dict.fromkeys(domain.boundary_names, Neumann(0))
    if sides == "periodic":
        conditions["left"] = Periodic("right")
        del conditions["right"]
    problem = Problem(domain, lambda x, u: u.grad, lambda x, u: x[0] - 0.5, conditions)
    with pytest.raises(PcpinnError, match="singular: field 'u' is fixed only up to a constant") as caught:
        linear_system(KINDS[kind](problem, grid(domain, 3)))
    assert "Pin(" in caught.value.remedy
    pinned = Problem(domain, problem.flux, problem.source, conditions, pins=[Pin([0.0] * dimension, 2.0)])
    system = linear_system(KINDS[kind](pinned, grid(domain, 3)))
    corner = np.flatnonzero((system.nodes.points == 0).all(1))
    np.testing.assert_allclose(system.solution[corner], 2.0)


def test_the_field_without_a_level_is_named():
    sides = {name: {"p": Neumann(0), "q": Dirichlet(0.0)} for name in SQUARE.boundary_names}
    problem = Problem(SQUARE, lambda x, q, p: (q.grad, p.grad), None, sides, ("q", "p"))
    with pytest.raises(PcpinnError, match="field 'p' is fixed only up to a constant"):
        linear_system(FiniteElements(problem, grid(SQUARE, 3)))


@pytest.mark.parametrize(
    ("flux", "source"),
    [
        (lambda x, u, p: (u.grad, None), None),
        (lambda x, u, p: (u.grad, None), lambda x, u, p: (p.value, None)),
    ],
)
def test_a_field_without_equation_is_refused(flux, source):
    sides = {name: {"u": Dirichlet(0.0)} for name in SQUARE.boundary_names}
    with pytest.raises(PcpinnError, match="singular"):
        linear_system(FiniteElements(Problem(SQUARE, flux, source, sides, ("u", "p")), grid(SQUARE, 3)))


@pytest.mark.parametrize("kind", KINDS)
def test_nonlinear_is_refused(kind):
    with pytest.raises(PcpinnError, match="nonlinear"):
        system_of(MIXED["robin"], kind, source=lambda x, u: u.value**2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "condition",
    [Natural(lambda x, n, u: -(u.value**3)), Natural(lambda x, n, u: -2 * u.value.detach())],
    ids=["cube", "detached"],
)
def test_conditions_that_are_not_linear_are_refused(kind, condition):
    with pytest.raises(PcpinnError, match=r"nonlinear|not differentiable"):
        system_of(MIXED["robin"] | {"right": condition}, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_conditions_that_are_not_finite_are_refused(kind):
    with pytest.raises(PcpinnError, match="not finite"):
        system_of(MIXED["robin"] | {"right": Neumann(lambda x: 1 / (x[0] - 1))}, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_and_missing_boundaries(kind):
    with pytest.raises(PcpinnError, match="no boundary called 'lfet'"):
        system_of(MIXED["robin"] | {"lfet": Neumann(0)}, kind)
    sides = {name: c for name, c in MIXED["robin"].items() if name != "bottom"}
    with pytest.warns(PcpinnWarning, match="no condition on 'bottom'"):
        silent = system_of(sides, kind)
    assert abs(silent.A - system_of(MIXED["robin"], kind).A).nnz == 0


@pytest.mark.parametrize(
    "A", [sp.csr_matrix((3, 3)), sp.csr_matrix(np.ones((3, 3))), sp.csr_matrix(np.diag([1.0, np.nan, 1.0]))]
)
def test_singular_matrices_are_not_solved(A):
    with pytest.raises(PcpinnError, match="singular"):
        solve_sparse(A, np.ones(3))


def test_problem_checked_on_its_own_boundary():
    """Sample points of finite differences stay off the boundary, where a coefficient may be singular."""
    problem = Problem(
        Interval(0, 1), lambda x, u: u.grad, lambda x, u: u.value / x[0].sqrt(), boundary(general(1), "dirichlet")
    )
    points = FiniteDifferences(problem, grid(Interval(0, 1), 8)).sample_points()
    assert points.min() > 0
    assert points.max() < 1
