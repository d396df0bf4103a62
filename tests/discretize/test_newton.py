"""The one Newton loop, on equations that scipy solves as well."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from over_time import convection
from scipy.optimize import root

from pcpinn.discretize.discrete_equation import AssembledMatrix
from pcpinn.discretize.newton import direct, natural_damping, newton, sizes_in_words
from pcpinn.discretize.step_scheme import Layers, step_scheme
from pcpinn.discretize.window import MarchSpace, Window
from pcpinn.errors import PcpinnError
from pcpinn.mesh.generate import generate_mesh

N = 12
LAPLACE = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(N, N), format="csr") * N**2


class Bent:
    """strength * u^3 + L u = 1, the first value held to 0.3; a full step of it is always taken."""

    def __init__(self, strength=30.0):
        self.strength, self.linearised = strength, 0

    def norm(self, u):
        return float(np.linalg.norm(u))

    def sizes(self, u):
        return np.array([np.linalg.norm(u)])

    def residual(self, u):
        F = self.strength * u**3 + LAPLACE @ u - 1.0
        F[0] = u[0] - 0.3
        return F

    def linearise(self, u):
        self.linearised += 1
        A = (sp.diags(3 * self.strength * u**2) + LAPLACE).tolil()
        A[0] = 0.0
        A[0, 0] = 1.0
        return AssembledMatrix(A.tocsr())

    def moved(self, u, correction, factor):
        result = u - factor * correction
        result[0] = u[0] - correction[0]
        return result


def expected(equation):
    return root(equation.residual, np.full(N, 0.1), jac=lambda u: equation.linearise(u).A.toarray(), tol=1e-14).x


def test_the_root_that_scipy_finds_with_its_corrections_on_record():
    equation = Bent()
    u = expected(equation)
    equation.linearised = 0
    found = newton(equation, np.full(N, 0.1), direct)
    np.testing.assert_allclose(found.u, u, atol=1e-12)
    assert found.converged
    assert equation.linearised == len(found.corrections) - 1 <= 7  # the last is by the matrix before
    assert found.corrections[-1] <= 1e-10
    late = [c for c in found.corrections if 1e-7 < c < 1e-1]
    assert all(b < 20 * a**1.7 for a, b in pairwise(late))


def test_far_away_damping_gets_there():
    equation = Bent(1e6)
    start = np.full(N, 1e-4)
    start[0] = 0.3
    solve = direct(equation.linearise(start))
    assert natural_damping(equation, start, solve(equation.residual(start)), solve).factor < 1
    found = newton(equation, start, direct)
    assert found.converged
    np.testing.assert_allclose(equation.residual(found.u), 0, atol=1e-6)


def test_one_inverse_serves_several_steps():
    equation = Bent()
    u = expected(equation)
    at_hand = direct(equation.linearise(u * 1.05))
    equation.linearised = 0
    found = newton(equation, u * 1.02, direct, damped=False, at_hand=at_hand, refresh=50)
    assert found.converged
    assert equation.linearised == 0
    assert len(found.corrections) > 3  # linear convergence, not quadratic
    np.testing.assert_allclose(found.u, u, atol=1e-10)
    newton(equation, u * 1.02, direct, tolerance=0.0, steps=4, at_hand=at_hand, refresh=2)
    assert equation.linearised == 2


def test_held_values_take_the_whole_step():
    equation = Bent()
    u = equation.moved(np.ones(N), np.full(N, 0.5), 0.5)
    assert u[0] == 0.5
    assert (u[1:] == 0.75).all()


def test_failures_are_told():
    equation = Bent()
    few = newton(equation, np.full(N, 5.0), direct, steps=2)
    assert not few.converged
    assert len(few.corrections) == 2
    lost = newton(equation, np.full(N, 0.1), lambda A: lambda r: 1e6 * np.ones(N) + 0 * r, damped=False, steps=9)
    assert not lost.converged
    undefined = newton(equation, np.full(N, np.nan), lambda A: lambda r: r)
    assert not undefined.converged
    assert len(undefined.corrections) == 1
    backwards = newton(equation, np.full(N, 0.1), lambda A: lambda r: -r)
    assert not backwards.converged
    with pytest.raises(PcpinnError, match="singular"):
        direct(AssembledMatrix(sp.csr_matrix((3, 3))))


def test_windows_of_a_march_are_such_equations():
    problem = convection()
    space = MarchSpace(
        problem, generate_mesh(problem.domain.shape, cells=(6,), periodic=problem.periodic_pairs), (0, 1), 2
    )
    scheme = step_scheme("radau", 2)
    window = Window(space, Layers(scheme, np.array([0.0, 0.1])), space.initial_values()[None])
    assert window.weights.shape == window.nodes.point_of.shape == (2 * space.size,)
    assert window.nodes.component_of.max() == 2 * space.components - 1

    def invert(matrix):
        inverse = np.linalg.inv(matrix.to_scipy().toarray())
        return lambda R: torch.from_numpy(inverse @ R.numpy().ravel()).reshape(R.shape)

    start = window.known[-1:].repeat(2, 1)
    found = newton(window, start, invert)
    assert found.converged
    flat = root(lambda u: window.residual(torch.from_numpy(u).reshape(2, -1)).numpy().ravel(), start.numpy().ravel(),
                method="krylov", tol=1e-9)  # fmt: skip
    np.testing.assert_allclose(found.u.numpy().ravel(), flat.x, atol=1e-6)


def test_sizes_in_words():
    assert sizes_in_words([1.0, 0.5]) == "1.0e+00, 5.0e-01"
    assert sizes_in_words([1.0] * 11).startswith("... 1.0e+00")
