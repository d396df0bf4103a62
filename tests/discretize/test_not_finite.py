"""Functions without a value at an iterate: which, where, and for which values of the fields."""

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.not_finite import not_finite
from pcpinn.errors import PcpinnError
from pcpinn.mesh.generate import generate_mesh


def rod(**functions):
    return pc.Problem(
        pc.Interval(0, 1),
        **{"flux": lambda x, u: u.grad, **functions},
        boundary={"left": pc.Dirichlet(1.0), "right": pc.Dirichlet(-1.0)},
    )


def said(problem, u):
    fe = FiniteElements(problem, generate_mesh(problem.domain, cells=[4]), degree=2)
    error = not_finite(fe, np.full(fe.size, float(u)))
    return f"{error.problem} -> {error.remedy}"


def test_a_root_of_what_is_negative():
    found = said(rod(flux=lambda x, u: torch.sqrt(u.value) * u.grad), -0.25)
    assert "the flux of 'u' is not finite at x = (" in found
    assert "where u = -0.25" in found
    assert "torch.clamp" in found


def test_a_derivative_without_a_value():
    found = said(rod(source=lambda x, u: torch.sqrt(u.value)), 0.0)
    assert "the derivative of the source of 'u' is not finite" in found
    assert "where u = 0" in found


def test_a_source_that_is_infinite_at_a_place():
    found = said(rod(source=lambda x, u: torch.where(x[0] > 0.6, torch.inf, 0.0) * u.value), 1.0)
    assert "the source of 'u' is not finite at x = (0." in found
    assert "where u" not in found


def test_a_solve_says_it():
    with pytest.raises(PcpinnError, match=r"flux of 'u' is not finite at x = .*, where u = "):
        pc.solve(rod(flux=lambda x, u: torch.sqrt(u.value) * u.grad))
