"""Values and derivatives at points: exact for polynomials."""

import numpy as np
import pytest
from cases import chosen

import pcpinn as pc
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.probe import probe
from pcpinn.discretize.slabs import TimeSlabs
from pcpinn.solve.build import make_mesh


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_values_and_slopes_of_a_quadratic_in_the_plane(axis):
    problem = pc.Problem(
        pc.Rectangle((0, 0), (2, 1)),
        flux=lambda x, u: u.grad,
        boundary=dict.fromkeys(("left", "right", "top", "bottom"), pc.Dirichlet(0)),
    )
    form = FiniteElements(problem, make_mesh(problem, chosen(cells=(3, 2))), 2)
    x, y = form.unknown_nodes.T
    at = np.random.default_rng(0).random((20, 2)) * [2, 1]
    p, q = at.T
    expected = {None: p**2 - p * q + 3 * q, 0: 2 * p - q, 1: 3 - p}[axis]
    np.testing.assert_allclose(probe(form, at, 0, axis) @ (x**2 - x * y + 3 * y), expected, atol=1e-10)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_values_and_slopes_in_slabs_of_time(axis):
    problem = pc.Problem(
        pc.Interval(0, 1).over(0, 2),
        density=lambda x, u: u.value,
        flux=lambda x, u: u.grad,
        boundary={"left": pc.Dirichlet(0), "right": pc.Dirichlet(0), "initial": pc.Initial(0)},
    )
    settings = chosen(True, cells=(3,), steps=2, time="slabs", scheme="radau", order=2)
    form = TimeSlabs(problem, make_mesh(problem, settings), "radau", 2, 2)
    x, t = form.unknown_nodes.T
    at = np.random.default_rng(0).random((20, 2)) * [1, 2]
    p, s = at.T
    expected = {None: p**2 * s + s**2, 0: 2 * p * s, 1: p**2 + 2 * s}[axis]
    np.testing.assert_allclose(probe(form, at, 0, axis) @ (x**2 * t + t**2), expected, atol=1e-10)
