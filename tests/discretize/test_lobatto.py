"""Elements of high degree: nodal, well-conditioned, and as accurate as their degree says."""

from math import factorial

import numpy as np
import pytest
import torch
from cases import BOXES, grid

from pcpinn import Dirichlet, Interval, PcpinnError, Problem, Rectangle
from pcpinn.discretize.discrete_equation import DiscreteEquation
from pcpinn.discretize.elements import ELEMENTS
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.lobatto import LobattoTriangle, orthonormal
from pcpinn.discretize.quadrature import quadrature_of
from pcpinn.discretize.space import ScalarSpace
from pcpinn.discretize.system import linear_part
from pcpinn.mesh.generate import generate_mesh

DEGREES = (1, 2, 5, 8, 10, 12)


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("degree", DEGREES)
def test_interpolation_reproduces_polynomials(dimension, degree):
    mesh = grid(BOXES[dimension], 2)
    space = ScalarSpace(mesh, degree, "lobatto")
    x = np.random.default_rng(0).uniform(mesh.bounds[0], mesh.bounds[1], (100, dimension))
    middle, extent = (mesh.bounds[0] + mesh.bounds[1]) / 2, mesh.bounds[1] - mesh.bounds[0]

    def polynomial(points, k):
        return ((points - middle) / extent @ np.arange(1.0, dimension + 1) + 0.3) ** k

    found = space.interpolate(polynomial(space.nodes, degree), x)
    np.testing.assert_allclose(found, polynomial(x, degree), atol=1e-11)
    beyond = space.interpolate(polynomial(space.nodes, degree + 2), x) - polynomial(x, degree + 2)
    assert np.abs(beyond).max() > 1e-11


@pytest.mark.parametrize("degree", DEGREES)
def test_gradients_against_differences(degree):
    element, h = LobattoTriangle(degree), 1e-6
    X = np.random.default_rng(1).dirichlet(np.ones(3), 6)[:, :2].T
    X[:, 0] = 0.0, 1.0 - 1e-5  # beside the corner where collapsed coordinates are singular
    for i in range(0, len(element.doflocs), 5):
        gradient = element.lbasis(X, i)[1]
        for axis in range(2):
            step = h * np.eye(2)[axis][:, None]
            slope = (element.lbasis(X + step, i)[0] - element.lbasis(X - step, i)[0]) / (2 * h)
            np.testing.assert_allclose(gradient[axis], slope, atol=1e-6 * degree**4)


@pytest.mark.parametrize("order", [19, 20, 23, 28])
def test_quadrature_is_exact_on_monomials(order):
    X, w = quadrature_of(LobattoTriangle(2), order)
    assert (w > 0).all()
    for i in range(order + 1):
        for j in (0, (order - i) // 2, order - i):
            exact = factorial(i) * factorial(j) / factorial(i + j + 2)
            assert w @ (X[0] ** i * X[1] ** j) == pytest.approx(exact, rel=1e-9, abs=1e-16)


def test_polynomials_are_orthonormal():
    X, w = quadrature_of(LobattoTriangle(2), 24)
    values = orthonormal(12, X)[..., 0]
    np.testing.assert_allclose(values.T @ (w[:, None] * values), np.eye(91), atol=1e-12)


def test_nodes_are_better_than_equally_spaced_ones():
    """The most that a polynomial with values of at most one at the nodes can reach: 5.8 here, 30 between equal distances."""
    X = np.random.default_rng(0).dirichlet(np.ones(3), 4000)[:, :2].T
    element = LobattoTriangle(10)
    reach = np.abs([element.lbasis(X, i)[0] for i in range(66)]).sum(axis=0).max()
    equal = np.array([(i, j) for i in range(11) for j in range(11 - i)]) / 10
    others = np.linalg.solve(orthonormal(10, equal.T)[..., 0].T, orthonormal(10, X)[..., 0].T)
    assert reach < 8 < np.abs(others).sum(axis=0).max()


def test_degrees_and_dimensions_that_there_are():
    with pytest.raises(PcpinnError, match="degree 13"):
        ELEMENTS.find("lobatto").element(1, 13)
    with pytest.raises(PcpinnError, match="3 dimensions"):
        ELEMENTS.find("lobatto").element(3, 2)


def error_of(dimension, cells, degree):
    """Relative, of -Laplace u = f with u = exp(sin(2 x)), or times cos(y)."""

    def u(x):
        wave = torch.exp(torch.sin(2 * x[0]))
        return wave if dimension == 1 else wave * torch.cos(x[1])

    def laplacian(x):
        return torch.trace(torch.func.hessian(u)(x))

    domain = Interval(0, 1) if dimension == 1 else Rectangle((0, 0), (1, 1))
    walls = dict.fromkeys(domain.boundary_names, Dirichlet(u))
    problem = Problem(domain, flux=lambda x, v: v.grad, source=lambda x, v: laplacian(x), boundary=walls)
    elements = FiniteElements(problem, generate_mesh(domain, cells=cells), degree, element="lobatto")
    solution = linear_part(DiscreteEquation(elements)).solution
    x = np.random.default_rng(2).uniform(size=(300, dimension))
    exact = torch.func.vmap(u)(torch.from_numpy(x)).numpy()
    return np.linalg.norm(elements.interpolate(solution, x)[:, 0] - exact) / np.linalg.norm(exact)


@pytest.mark.parametrize(
    ("dimension", "cells", "degree"),
    [(1, 3, 5), (1, 3, 6), (1, 3, 8), (1, 1, 10), (2, 3, 5), (2, 3, 6), (2, 3, 8), (2, 1, 10)],
)
def test_rate_of_convergence(dimension, cells, degree):
    """Half the size, 2^(degree + 1) times the accuracy."""
    coarse, fine = (error_of(dimension, (n,) * dimension, degree) for n in (cells, 2 * cells))
    assert fine > 1e-13  # rounding errors would make rates meaningless
    assert np.log2(coarse / fine) > degree + 0.5


@pytest.mark.parametrize(("dimension", "cells", "degree"), [(1, 4, 10), (2, 4, 10), (2, 3, 12)])
def test_reaches_rounding_errors(dimension, cells, degree):
    assert error_of(dimension, (cells,) * dimension, degree) < 2e-12
