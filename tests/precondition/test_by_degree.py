"""Multigrid by degrees on tetrahedra, and conjugate gradients with it."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse.linalg as spla
import torch

from pcpinn import Ball, Box, Dirichlet, Neumann, Periodic, Problem, Rectangle
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.system import linear_system
from pcpinn.errors import PcpinnError
from pcpinn.mesh.generate import generate_mesh
from pcpinn.precondition import AMG
from pcpinn.precondition.by_degree import lower_degrees
from pcpinn.precondition.chebyshev import contraction
from pcpinn.precondition.converged import Converged

CUBE = Box((0, 0, 0), (1, 1, 1))
HOLED = Box((-1, -1, -1), (1, 1, 1), name="outer") - Ball((0, 0, 0), 0.5, name="hole")


@cache
def system(n, degree, reaction=1.0, periodic=False):
    sides = {name: Neumann(0.0) for name in CUBE.boundary_names}
    sides |= {"left": Dirichlet(lambda x: x[0]), "bottom": Dirichlet(lambda x: x[0]), "back": Neumann(1.0)}
    if periodic:
        sides["left"] = Periodic("right")
        del sides["right"]
    problem = Problem(CUBE, lambda x, u: (1 + x[0]) * u.grad, lambda x, u: reaction * u.value - 1.0, sides)
    mesh = generate_mesh(CUBE, cells=(n,) * 3, periodic=problem.periodic_pairs)
    return linear_system(FiniteElements(problem, mesh, degree))


def fitted(found, **options):
    return AMG(coarsening="quick", **options).fitted(found.discretisation, 4.0)


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_lower_degrees_are_prolonged_exactly(degree):
    found = system(2, degree)
    x = found.discretisation.mesh.skfem.p.T  # the last of them are from linear elements, values at vertices
    for P in reversed(lower_degrees(found.discretisation)):
        assert P.shape[0] > P.shape[1]
        x = P @ x
    np.testing.assert_allclose(x, found.discretisation.unknown_nodes, atol=1e-12)


@pytest.mark.parametrize("degree", [3, 4])
def test_quality_does_not_fall_with_the_size_of_cells(degree):
    rates = []
    for n in (2, 4, 6):
        found = system(n, degree)
        amg = fitted(found)
        state = amg.build(found.A)
        assert state.coarsening == "lower degrees"
        rates.append(contraction(state.bounds, 3))
    assert max(rates) < 0.25
    assert rates[-1] < rates[1] + 0.05


def test_curved_cells():
    problem = Problem(
        HOLED, lambda x, u: u.grad, lambda x, u: u.value - 1.0, {"hole": Dirichlet(0.0), "outer": Neumann(0.0)}
    )
    found = linear_system(FiniteElements(problem, generate_mesh(HOLED, size=0.9), 3))
    solver = Converged(found.A, fitted(found))
    b = found.A @ np.sin(np.arange(found.size))
    np.testing.assert_allclose(solver.apply(torch.from_numpy(b)).numpy(), np.sin(np.arange(found.size)), atol=1e-8)


@pytest.mark.parametrize("degree", [2, 4])
def test_converged_is_the_inverse(degree):
    found = system(3, degree)
    solver = Converged(found.A, fitted(found))
    for apply, A in ((solver.apply, found.A), (solver.apply_transpose, found.A.T)):
        r = np.random.default_rng(0).normal(size=found.size)
        expected = spla.spsolve(A.tocsc(), r)
        x = apply(torch.from_numpy(r)).numpy()
        assert np.linalg.norm(x - expected) < 1e-8 * np.linalg.norm(expected)


def test_what_is_left_after_a_solve_is_not_solved_for_again():
    """A second solve for rounding of the first would take as many cycles as the first."""
    found = system(3, 3)
    solver = Converged(found.A, fitted(found))
    b = torch.from_numpy(np.asarray(found.b))
    solver.apply(b)
    inside = torch.zeros_like(b)
    inside[solver._kinds[1]] = 1e-15 * b.norm()
    assert float(solver.apply(inside).abs().max()) == 0.0


def test_short_waves_are_refused():
    found = system(3, 3, reaction=-400.0)
    with pytest.raises(PcpinnError, match=r"positive definite|converge"):
        Converged(found.A, fitted(found)).apply(torch.from_numpy(np.ones(found.size)))


def test_other_problems_have_no_lower_degrees():
    square = Rectangle((0, 0), (1, 1))
    plane = Problem(
        square, lambda x, u: u.grad, lambda x, u: -1.0, dict.fromkeys(square.boundary_names, Dirichlet(0.0))
    )
    assert lower_degrees(FiniteElements(plane, generate_mesh(square, cells=(3, 3)), 3)) == ()
    assert lower_degrees(system(2, 1).discretisation) == ()
    found = system(4, 2, periodic=True)  # copies are left to pyamg
    assert fitted(found).build(found.A).coarsening != "lower degrees"
