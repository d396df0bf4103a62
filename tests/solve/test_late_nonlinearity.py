"""Terms that are nonlinear only at the values of the answer, or in a small spot: Newton's method goes on, estimates see them."""

import warnings

import numpy as np
import pytest
import torch
from scipy.linalg import solve_banded

from pcpinn import Dirichlet, Interval, Problem, solve
from pcpinn.errors import AccuracyWarning

ENDS = {"left": Dirichlet(0.0), "right": Dirichlet(0.0)}
FINE = np.linspace(0, 1, 20_001)


def by_differences(source, derivative, u):
    """The solution of u'' = source(x, u), u = 0 at the ends, by finite differences and Newton's method from u."""
    h, inner = FINE[1], FINE[1:-1]
    u = u[1:-1].copy()
    for _ in range(60):
        F = (np.append(u[1:], 0) - 2 * u + np.insert(u[:-1], 0, 0)) / h**2 - source(inner, u)
        bands = np.ones((3, len(u))) / h**2
        bands[1] = -2 / h**2 - derivative(inner, u)
        move = solve_banded((1, 1), bands, F)
        u -= move
    assert np.abs(move).max() < 1e-6 * np.abs(u).max()
    return lambda x: np.interp(x, inner, u)


def heated():
    """A source of cooling that sets in at 5000."""
    problem = Problem(
        Interval(0, 1),
        flux=lambda x, u: u.grad,
        source=lambda x, u: -1e5 + 1e3 * torch.clamp(u.value - 5000, min=0),
        boundary=ENDS,
    )

    return problem, by_differences(
        lambda x, u: -1e5 + 1e3 * np.maximum(u - 5000, 0), lambda x, u: 1e3 * (u > 5000), np.full(FINE.size, 6000.0)
    )


def pressed():
    """A permeability that grows fourfold at 1e6 Pa: Kirchhoff's transform of the pressure is linear."""
    at, below, above = 1e6, 1.0, 4.0
    problem = Problem(
        Interval(0, 1),
        flux=lambda x, u: (below + (above - below) * torch.sigmoid((u.value - at) / 2e4)) * u.grad,
        boundary={"left": Dirichlet(0.0), "right": Dirichlet(3e6)},
    )
    p = np.linspace(0, 3e6, 200_001)
    k = below + (above - below) / (1 + np.exp(-(p - at) / 2e4))
    transformed = np.concatenate([[0], np.cumsum((k[1:] + k[:-1]) / 2)])
    return problem, lambda x: np.interp(x, transformed / transformed[-1], p)


def spotted(strength=50.0, left=0.45, right=0.46):
    """Cubic decay in a spot that is a hundredth of the domain."""
    problem = Problem(
        Interval(0, 1),
        flux=lambda x, u: u.grad,
        source=lambda x, u: -40.0 + torch.where((x[0] > left) & (x[0] < right), strength, 0.0) * u.value**3,
        boundary=ENDS,
    )

    def there(x):
        return strength * ((x > left) & (x < right))

    start = np.zeros(FINE.size)
    return problem, by_differences(lambda x, u: -40 + there(x) * u**3, lambda x, u: 3 * there(x) * u**2, start)


def true_error(solution, exact):
    x = np.linspace(0, 1, 4001)
    return np.linalg.norm(solution(x[:, None]).ravel() - exact(x)) / np.linalg.norm(exact(x))


@pytest.mark.parametrize("make", [heated, pressed, spotted])
def test_with_fixed_settings(make):
    problem, exact = make()
    solution = solve(problem, accuracy=None, cells=40, degree=2, width=12, iterations=60)
    true = true_error(solution, exact)
    assert solution.errors["estimate"] > 0.5 * true
    assert true < 0.1
    assert solution.result["newton"]["iterations"] > 1


def test_in_a_spot_that_no_point_of_quadrature_lies_in():
    """The answer is that of a linear problem, far too large; the estimate says so."""
    problem, exact = spotted(500.0, 0.45005, 0.45105)
    solution = solve(problem, accuracy=None, cells=20, degree=2, width=12, iterations=30)
    true = true_error(solution, exact)
    assert true > 0.3
    assert solution.errors["estimate"] > 0.5 * true


@pytest.mark.parametrize("make", [heated, pressed, spotted])
def test_to_an_accuracy(make):
    problem, exact = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        solution = solve(problem, accuracy=0.05, time_limit=20)
    true = true_error(solution, exact)
    assert solution.verdict.estimate > 0.5 * true
    assert true < 0.1
