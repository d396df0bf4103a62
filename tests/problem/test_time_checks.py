"""What may be said about time in a problem, and what is refused, each with what to write instead."""

import pytest
import torch

from pcpinn import (
    Dirichlet,
    Free,
    Initial,
    Interval,
    Local,
    Natural,
    Neumann,
    PcpinnError,
    Periodic,
    Pin,
    Problem,
    Rectangle,
    Robin,
)
from pcpinn.mesh.generate import generate_mesh

OVER_TIME, COORDINATE = Interval(0, 1).over(0, 1), Interval(0, 1).over(0, 1, coordinate=True)


def grad(x, u):
    return u.grad


def value(x, u):
    return u.value


@pytest.mark.parametrize("condition", [Dirichlet(0.0), Neumann(0.0), Robin(1.0), Natural(lambda x, n, u: 0.0)])
def test_the_start_has_conditions_of_its_own(condition):
    with pytest.raises(PcpinnError, match=f"{type(condition).__name__} on 'initial' for 'u'") as caught:
        Problem(OVER_TIME, grad, density=value, boundary={"initial": condition})
    assert "write Initial(...)" in caught.value.remedy


@pytest.mark.parametrize("condition", [Dirichlet(0.0), Neumann(0.0), Periodic("initial"), Free()])
def test_nothing_is_asked_of_the_end(condition):
    with pytest.raises(PcpinnError, match=f"{type(condition).__name__} on 'final' for 'u'") as caught:
        Problem(OVER_TIME, grad, density=value, boundary={"final": condition})
    assert "leave it out" in caught.value.remedy
    assert "coordinate=True" in caught.value.remedy


@pytest.mark.parametrize(
    ("options", "message", "remedy"),
    [
        ({"domain": COORDINATE, "density": value}, "time is a coordinate", "last component of flux"),
        ({"domain": Interval(0, 1), "density": value}, "the domain has no time", "shape.over"),
        ({"domain": OVER_TIME, "density": 1.0}, "density is 1.0, not a function", "density=lambda"),
        ({"domain": OVER_TIME, "boundary": {"left": Initial(0.0)}}, "which is not the start of time", "Dirichlet"),
        ({"domain": Interval(0, 1), "boundary": {"left": Initial(0.0)}}, "which is not the start of time", "Dirichlet"),
        ({"domain": COORDINATE, "boundary": {"initial": Initial(0.0)}}, "time is a coordinate", "Dirichlet"),
        ({"domain": OVER_TIME, "fields": "t"}, "a field is called 't'", "another name"),
        ({"domain": OVER_TIME, "pins": [Pin((0.5, 0.5))]}, "has 2 coordinates", "space has 1"),
        ({"domain": COORDINATE, "pins": [Pin((0.5,))]}, "has 1 coordinates", "the domain has 2"),
    ],
)
def test_slips_are_refused(options, message, remedy):
    with pytest.raises(PcpinnError, match=message) as caught:
        Problem(**{"flux": grad} | options)
    assert remedy in caught.value.remedy


def test_what_a_problem_knows_of_its_time():
    for domain, over_time, dimension in ((OVER_TIME, True, 1), (COORDINATE, False, 2), (Interval(0, 1), False, 1)):
        problem = Problem(domain, grad)
        assert (problem.over_time, problem.dimension) == (over_time, dimension)
    mesh = generate_mesh(Rectangle((0, 0), (1, 1)).over(0, 1), cells=(1, 1), steps=1)
    assert (Problem(mesh, grad).over_time, Problem(mesh, grad).dimension) == (True, 2)
    wave = Problem(
        OVER_TIME, grad, density=lambda x, u: u.dt, fields="u", boundary={"initial": Initial(0.0, rate=lambda x: x[0])}
    )
    assert wave.second_order_fields == ("u",)
    assert Problem(OVER_TIME, grad, density=value, boundary={"initial": Initial(0.0)}).second_order_fields == ()


def test_the_end_of_time_gives_no_warning(recwarn):
    sides = {"left": Dirichlet(0.0), "right": Dirichlet(0.0)}
    Problem(OVER_TIME, grad, density=value, boundary=sides).check_boundaries(OVER_TIME.boundary_names)
    assert not recwarn.list
    with pytest.warns(UserWarning, match="no condition on 'final', 'initial'"):
        Problem(COORDINATE, grad, boundary=sides).check_boundaries(COORDINATE.boundary_names)


def test_the_rate_of_a_field():
    one = torch.tensor(1.0)
    assert Local(one, one, 2 * one).dt == 2
    with pytest.raises(PcpinnError, match="without a time of its own") as caught:
        _ = Local(one, one).dt
    assert "u.grad[..., -1]" in caught.value.remedy
