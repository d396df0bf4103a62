"""Algebraic multigrid: exactly symmetric, good for diffusion, and refused where it does not belong."""

import sys
from functools import cache, partial

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from cases import poisson as convection

from pcpinn import Box, Dirichlet, Neumann, Periodic, Problem, Rectangle, Robin
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.system import linear_system
from pcpinn.errors import PcpinnError
from pcpinn.mesh.generate import generate_mesh
from pcpinn.precondition import AMG, PreconditionedResidual, estimate_quality
from pcpinn.precondition.amg import ritz_values, split_unknowns
from pcpinn.precondition.chebyshev import chebyshev, contraction

SQUARE, CUBE = Rectangle((0, 0), (1, 1)), Box((0, 0, 0), (1, 1, 1))
F64 = torch.float64


def diffusion(domain, n, degree, boundary=None, coefficient=lambda x: 1.0, reaction=0.0):
    sides = {name: Dirichlet(lambda x: x[0]) for name in domain.boundary_names} | (boundary or {})
    sides = {name: c for name, c in sides.items() if c is not None}
    problem = Problem(domain, lambda x, u: coefficient(x) * u.grad, lambda x, u: reaction * u.value - 1.0, sides)
    return linear_system(FiniteElements(problem, generate_mesh(domain, cells=(n,) * domain.dimension), degree))


@cache
def systems(name):
    return {
        "dirichlet": lambda: diffusion(SQUARE, 40, 1),
        "robin": lambda: diffusion(SQUARE, 20, 2, {"left": Robin(1.0, 0.0), "right": Neumann(1.0)}),
        "periodic": lambda: diffusion(SQUARE, 40, 1, {"left": Periodic("right"), "right": None}),
        "jumps": lambda: diffusion(SQUARE, 40, 1, coefficient=lambda x: torch.where(x[0] > 0.5, 100.0, 1.0)),
        "cube": lambda: diffusion(CUBE, 10, 2),
        "small": lambda: diffusion(SQUARE, 6, 1, {"left": Periodic("right"), "right": None}),
    }[name]()


NAMES = ["dirichlet", "robin", "periodic", "jumps", "cube", "small"]


def quality(system, p):
    state = p.build(system.A)
    return estimate_quality(system.A, partial(p.apply, state), system.discretisation.unknown_nodes, system.weights)


@pytest.mark.parametrize("cycles", [1, 3])
@pytest.mark.parametrize("name", NAMES)
def test_transpose_is_the_adjoint(name, cycles):
    system, p = systems(name), AMG(cycles)
    state = p.build(system.A)
    x, y = np.random.default_rng(0).normal(size=(2, system.size))
    Px, Py = p.apply(state, x), p.apply_transpose(state, y)
    assert abs(Px @ y - x @ Py) <= 1e-12 * np.linalg.norm(Px) * np.linalg.norm(y)
    # ... and linear, on several columns as on one
    both = p.apply(state, np.column_stack([x, y]))
    np.testing.assert_allclose(both[:, 0], Px, atol=1e-12 * abs(Px).max())


@pytest.mark.parametrize("name", NAMES)
def test_is_close_to_the_inverse(name):
    found = quality(systems(name), AMG())
    assert found.smooth < 0.05
    assert found.largest < 0.2


def test_more_cycles_are_closer():
    errors = [quality(systems("robin"), AMG(c)).smooth for c in (1, 2, 3, 5)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-3


@pytest.mark.parametrize("degree", [1, 2])
def test_twenty_thousand_unknowns(degree):
    """The work and the quality do not depend on the size."""
    assert quality(diffusion(SQUARE, 140 // degree, degree), AMG(3)).smooth < 0.05


def test_iterating_solves_the_system():
    """P^-1 as an iteration converges to the direct solution at the rate that it announces."""
    system, p = systems("jumps"), AMG(2)
    state, u = p.build(system.A), np.zeros(system.size)
    for _ in range(12):
        u = u + p.apply(state, system.b - system.A @ u)
    np.testing.assert_allclose(u, system.solution, atol=1e-9)
    assert 0 < p.describe(state)["contraction"] < 0.2


def test_constrained_unknowns_are_exact():
    """Prescribed values and periodic copies come out exactly, whatever the multigrid makes of the rest."""
    system, p = systems("periodic"), AMG(1)
    heads, free, tails = split_unknowns(system.A)
    assert len(heads)
    assert len(tails)
    assert len(heads) + len(free) + len(tails) == system.size
    v = np.random.default_rng(0).normal(size=system.size)
    error = v - p.apply(p.build(system.A), system.A @ v)
    np.testing.assert_allclose(error[heads], 0, atol=1e-12)
    masters = system.A[tails].tocoo()
    masters = masters.col[masters.data < 0]
    np.testing.assert_allclose(error[tails], error[masters], atol=1e-12)


def test_columns_of_prescribed_values_need_not_be_eliminated():
    """Rows e_i whose columns are still in use."""
    system = systems("small")
    A = system.A.tolil()
    heads, free, _ = split_unknowns(system.A)
    A[free[0], heads[0]], A[free[3], heads[2]] = -0.7, 0.4
    A = A.tocsr()
    p = AMG()
    state = p.build(A)  # small enough to be solved exactly
    r = np.random.default_rng(0).normal(size=(system.size, 2))
    np.testing.assert_allclose(A @ p.apply(state, r), r, atol=1e-10)
    np.testing.assert_allclose(A.T @ p.apply_transpose(state, r), r, atol=1e-10)


def test_tensors_and_arrays_agree():
    system, p = systems("robin"), AMG()
    state = p.build(system.A)
    r = np.random.default_rng(0).normal(size=(system.size, 3))
    single = p.on_device(state, torch.float32, "cpu")
    for mine, other in ((single.apply, p.apply), (single.apply_transpose, p.apply_transpose)):
        exact = other(state, r)
        x = mine(torch.from_numpy(r).float())
        assert x.dtype == torch.float32
        np.testing.assert_allclose(x.numpy(), exact, atol=1e-4 * abs(exact).max())
    assert p.on_device(state, F64, "cpu") is state.solver


@pytest.mark.parametrize("dense", [True, False])
def test_operator(dense):
    system = systems("small")
    op = PreconditionedResidual(system.A, system.b, AMG(2), system.weights, dense)
    u = torch.randn(system.size, dtype=F64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    assert torch.autograd.gradcheck(op, (u,), eps=1e-5, atol=1e-5)
    assert float(op(torch.from_numpy(system.solution)).norm()) < 1e-11
    facts = op.describe()
    assert facts["name"] == "amg"
    assert {"cycles", "levels", "coarsening", "contraction", "fill"} <= facts.keys()


def test_the_same_each_time_and_no_trace_in_the_random_numbers():
    system, p = systems("dirichlet"), AMG()
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = (p.apply(p.build(system.A), system.b) for _ in range(2))
    assert np.array_equal(first, second)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: convection(2, 6, 2).A, "symmetric matrix, and this one's asymmetry"),
        (lambda: sp.csr_matrix([[0.0, 1.0], [1.0, 2.0]]), "diagonal has zeros"),
        (lambda: sp.csr_matrix([[-1.0, 0.5], [0.5, -2.0]]), "diagonal is not positive"),
        (lambda: sp.csr_matrix([[1.0, 2.0], [2.0, 1.0]]), "coarse matrix has eigenvalues"),
        (lambda: diffusion(SQUARE, 30, 1, reaction=-300.0).A, "positive definite"),
    ],
)
def test_other_matrices_are_refused(make, message):
    with pytest.raises(PcpinnError, match=message) as caught:
        AMG().build(make())
    assert "preconditioner=auto-ilu" in caught.value.remedy


def test_without_pyamg_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyamg", None)
    with pytest.raises(PcpinnError, match="needs the package pyamg") as caught:
        AMG().build(systems("dirichlet").A)
    assert "pip install 'pyamg>=5'" in caught.value.remedy


@pytest.mark.parametrize("settings", [{"cycles": 0}, {"smoother_steps": 0}])
def test_nonsense_is_refused(settings):
    with pytest.raises(PcpinnError, match="must be positive"):
        AMG(**settings)


def test_only_constraints():
    A = sp.csr_matrix(np.diag([1.0, 2.0]))
    np.testing.assert_allclose(AMG().apply(AMG().build(A), np.array([3.0, 4.0])), [3, 2])


def test_ritz_values_are_those_of_the_matrix():
    d = np.linspace(0.5, 3, 12)
    A = sp.csr_matrix(sp.diags_array(d))
    assert ritz_values(A, lambda r: r, 12) == pytest.approx((0.5, 3.0), rel=1e-6)
    assert ritz_values(-A, lambda r: r, 12)[0] == -np.inf


def test_chebyshev_damps_as_announced():
    d = torch.linspace(0.5, 3, 500, dtype=F64)
    for steps in (1, 2, 5):
        error = 1 - d * chebyshev(lambda v: d * v, lambda r: r, torch.ones(500, dtype=F64), None, (0.5, 3.0), steps)
        assert float(error.abs().max()) == pytest.approx(contraction((0.5, 3.0), steps), rel=1e-3)
        again = chebyshev(
            lambda v: d * v, lambda r: r, torch.ones(500, dtype=F64), torch.zeros(500, dtype=F64), (0.5, 3.0), steps
        )
        torch.testing.assert_close(1 - d * again, error)
