"""Residual with constraints, linearisations, damping, and the discrete solution of nonlinear problems."""

import numpy as np
import pytest
import torch
from cases import Manufactured, grid

from pcpinn import Dirichlet, Initial, Interval, Natural, Periodic, Problem, Rectangle
from pcpinn.discretize.discrete_equation import DiscreteEquation
from pcpinn.discretize.discretisation import check_functions
from pcpinn.discretize.finite_differences import FiniteDifferences
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.linear_solves import Factors
from pcpinn.discretize.newton import direct, natural_damping
from pcpinn.discretize.nonlinear import NotSolved, first_linearisation, linearised_system, solve_newton
from pcpinn.discretize.slabs import TimeSlabs
from pcpinn.discretize.system import linear_system
from pcpinn.errors import PcpinnError
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.slab_mesh import SlabMesh

SQUARE = Rectangle((0, 0), (1, 1))
SIDES = SQUARE.boundary_names
QUASILINEAR = Manufactured(
    SQUARE,
    flux=lambda x, u: (1 + u.value**2) * u.grad,
    source=lambda x, u: 0 * u.value,
    exact=(lambda x: torch.sin(torch.pi * x[0]) * torch.cos(x[1]),),
)


def quasilinear():
    return QUASILINEAR.problem(dict.fromkeys(SIDES, Dirichlet(QUASILINEAR.exact[0])))


def mixed():
    """Dirichlet, periodic and a nonlinear natural condition."""
    radiation = Natural(lambda x, n, u: 1 - u.value**4)
    sides = {"left": Periodic("right"), "bottom": Dirichlet(lambda x: 1.0 + 0 * x[0]), "top": radiation}
    return Problem(SQUARE, lambda x, u: (1 + u.value**2) * u.grad, lambda x, u: u.value**3 - x[0], sides)


KINDS = {"fem": lambda p, m: FiniteElements(p, m, 2), "fdm": FiniteDifferences}


@pytest.mark.parametrize("kind", KINDS)
def test_the_matrix_is_the_derivative_of_the_residual(kind):
    disc = KINDS[kind](mixed(), grid(SQUARE, 4))
    random = np.random.default_rng(0)
    u, v = random.normal(size=(2, disc.size))
    equation = DiscreteEquation(disc)
    system, matrix = linearised_system(equation, u), equation.linearise(u)
    step = 1e-6
    difference = (equation.residual(u + step * v) - equation.residual(u - step * v)) / (2 * step)
    np.testing.assert_allclose(matrix.apply(v), difference, rtol=1e-5, atol=1e-6 * np.abs(difference).max())
    assert matrix.apply(v) @ u == pytest.approx(matrix.apply_transpose(u) @ v)
    np.testing.assert_array_equal(matrix.to_scipy().toarray(), system.A.toarray())
    np.testing.assert_allclose(system.A @ u - system.b, equation.residual(u), atol=1e-9)


def test_a_linear_problem_is_its_own_linearisation():
    problem = Problem(SQUARE, lambda x, u: u.grad, lambda x, u: u.value - 1.0, dict.fromkeys(SIDES, Dirichlet(2.0)))
    disc = FiniteElements(problem, grid(SQUARE, 4), 2)
    assert check_functions(disc)
    assert not check_functions(FiniteElements(mixed(), grid(SQUARE, 4), 2))
    linear = linear_system(disc)
    u = np.random.default_rng(0).normal(size=disc.size)
    equation = DiscreteEquation(disc)
    system = linearised_system(equation, u)
    np.testing.assert_allclose(system.A.toarray(), linear.A.toarray(), atol=1e-12)
    np.testing.assert_allclose(system.b, linear.b, atol=1e-10)
    np.testing.assert_allclose(solve_newton(equation, u), linear.solution, atol=1e-10)


def test_quadratic_convergence():
    disc = FiniteElements(quasilinear(), grid(SQUARE, 6), 2)
    equation = DiscreteEquation(disc)
    system, sizes = first_linearisation(equation), []
    for _ in range(7):
        correction = Factors(system.A).apply(system.residual)
        sizes.append(system.norm(correction))
        system = linearised_system(equation, system.at - correction)
    e = np.log(sizes[2:6])
    orders = np.diff(e)[1:] / np.diff(e)[:-1]
    assert 1.7 < orders[0] < 2.5
    assert sizes[-1] < 1e-12
    np.testing.assert_allclose(system.at, solve_newton(equation), atol=1e-9)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_order_of_the_discrete_solution(degree):
    x = np.random.default_rng(0).uniform(size=(200, 2))
    exact = np.sin(np.pi * x[:, 0]) * np.cos(x[:, 1])
    errors = []
    for n in (4, 8):
        disc = FiniteElements(quasilinear(), grid(SQUARE, n), degree)
        errors.append(np.linalg.norm(disc.interpolate(solve_newton(DiscreteEquation(disc)), x)[:, 0] - exact))
    assert np.log2(errors[0] / errors[1]) > degree + 0.6


def steep(strength):
    """-u'' + strength (exp(u) - 1) = 10 strength: Newton's first full steps overshoot by far."""
    return Problem(
        Interval(0, 1),
        lambda x, u: u.grad,
        lambda x, u: strength * (torch.exp(u.value) - 1) - 10 * strength,
        {"left": Dirichlet(0.0), "right": Dirichlet(0.0)},
    )


def test_damping_where_full_steps_diverge():
    disc = FiniteElements(steep(1000.0), generate_mesh(Interval(0, 1), cells=20), 2)
    equation = DiscreteEquation(disc)
    first = first_linearisation(equation)
    first = Factors(first.A).apply(-first.residual)

    def damping(u):
        solve = direct(equation.linearise(u))
        return natural_damping(equation, u, solve(equation.residual(u)), solve).factor

    assert damping(-2.0 * first) < 1  # exp is flat there, so the full step goes far too high
    assert damping(0.05 * first) <= 1
    u = solve_newton(equation, -2.0 * first)
    np.testing.assert_allclose(u, solve_newton(equation), atol=1e-7)
    assert np.abs(equation.residual(u)).max() < 1e-6


def test_damped_systems_meet_conditions_in_full():
    disc = FiniteElements(mixed(), grid(SQUARE, 4), 1)
    system = linearised_system(DiscreteEquation(disc), np.random.default_rng(0).normal(size=disc.size))
    half = system.damped(0.5)
    free, fixed = disc.constraints.free, disc.constraints.constrained
    np.testing.assert_allclose((system.A @ system.at - half.b)[free], 0.5 * system.residual[free], atol=1e-10)
    np.testing.assert_array_equal(half.b[fixed], system.b[fixed])


def test_what_has_no_solution_is_said():
    """u'' + 50 exp(u) = 0 has none (Bratu's problem beyond its fold at 3.51)."""
    problem = Problem(Interval(0, 1), lambda x, u: u.grad, lambda x, u: -50 * torch.exp(u.value),
                      {"left": Dirichlet(0.0), "right": Dirichlet(0.0)})  # fmt: skip
    with pytest.raises(PcpinnError, match="did not converge"):
        solve_newton(DiscreteEquation(FiniteElements(problem, generate_mesh(Interval(0, 1), cells=10), 2)))


def test_a_linear_problem_whose_matrix_is_all_but_singular_is_said_to_be_one():
    """0.0125 u'' = x u' with two layers: what is between them hangs on exp(-40), far less than rounding."""
    problem = Problem(Interval(-1, 1), lambda x, u: 0.0125 * u.grad, lambda x, u: x[0] * u.grad[0],
                      {"left": Dirichlet(1.0), "right": Dirichlet(2.0)})  # fmt: skip
    with pytest.raises(NotSolved, match="all but singular: solving it again changes") as stop:
        solve_newton(DiscreteEquation(FiniteElements(problem, generate_mesh(Interval(-1, 1), cells=80), 3)))
    assert stop.value.sensitive


def test_slabs_of_time():
    """u_t = u_xx / pi^2 - u^3 + f with u = sin(pi x) exp(-t): all of space-time at once."""

    def exact(x, t):
        return torch.sin(torch.pi * x[0]) * torch.exp(-t)

    problem = Problem(
        Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: u.grad / torch.pi**2,
        source=lambda x, t, u: u.value**3 - exact(x, t) ** 3,
        boundary={"left": Dirichlet(0.0), "right": Dirichlet(0.0), "initial": Initial(exact)},
    )
    x = np.random.default_rng(0).uniform(size=(200, 2))
    errors = []
    for n in (2, 4):
        mesh = SlabMesh(generate_mesh(Interval(0, 1), cells=2 * n), np.linspace(0, 1, n + 1))
        disc = TimeSlabs(problem, mesh, "radau", 2, 3)
        found = disc.interpolate(solve_newton(DiscreteEquation(disc)), x)[:, 0]
        errors.append(np.linalg.norm(found - np.sin(np.pi * x[:, 0]) * np.exp(-x[:, 1])) / np.sqrt(len(x)))
    assert errors[0] < 2e-3
    assert errors[1] < errors[0] / 5
