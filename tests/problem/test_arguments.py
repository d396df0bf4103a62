"""Whether a function is one of (x, ...) or of (x, t, ...)."""

from functools import partial

import pytest
import torch

from pcpinn import Dirichlet, Initial, Interval, Natural, PcpinnError, Problem, Robin
from pcpinn.problem.arguments import takes_time, with_time
from pcpinn.problem.conditions import evaluate


class Callable:
    def __call__(self, x, t):
        return x[0] * t

    def without(self, x):
        return x[0]

    def method(self, x, t, u):
        return t


def plain(x, t, u):
    return t


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x, False),
        (lambda x, u: x, False),
        (lambda x, time, u: x, False),
        (lambda x, *fields: x, False),
        (lambda x, u, t: x, False),
        (lambda t, x: x, False),
        (lambda x, t: x, True),
        (lambda x, t, u: x, True),
        (lambda x, t, *fields: x, True),
        (lambda x, t=0.0: x, True),
        (plain, True),
        (Callable(), True),
        (Callable().without, False),
        (Callable().method, True),
        (partial(lambda k, x, t: x, 1.0), True),
        (torch.sin, False),
        (torch.sum, False),
    ],
)
def test_the_second_parameter_is_called_t(function, expected):
    assert takes_time(function) is expected


def test_every_function_is_called_with_x_and_t():
    assert with_time(lambda x, u: (x, u), over_time=True)(1, 2, 3) == (1, 3)
    assert with_time(lambda x, t, u: (x, t, u), over_time=True)(1, 2, 3) == (1, 2, 3)
    assert with_time(lambda x, t: (x, t), over_time=False)(1, None, 3) == (1, 3)  # a field called t


def test_values_of_conditions():
    x, t = torch.tensor([2.0]), torch.tensor(3.0)
    assert evaluate(5.0, x, t) == 5.0
    assert evaluate(lambda x: x[0], x, t) == 2.0
    assert evaluate(lambda x, t: x[0] * t, x, t) == 6.0
    assert evaluate([1.0, 2.0], x, t).tolist() == [1.0, 2.0]
    with pytest.raises(PcpinnError, match="without a time of its own") as caught:
        evaluate(lambda x, t: x[0] * t, x)
    assert "x[-1]" in caught.value.remedy


def test_natural_conditions_take_the_time_before_the_normal():
    x, t, n = torch.tensor([2.0]), torch.tensor(3.0), torch.tensor([1.0])
    assert Natural(lambda x, n, u: (x, n, u)).normal_flux(x, t, n, None, ["u"]) == (x, n, "u")
    assert Natural(lambda x, t, n, u: (x, t, n, u)).normal_flux(x, t, n, None, ["u"]) == (x, t, n, "u")
    assert Natural(lambda x, n, t: (x, n, t)).normal_flux(x, None, n, None, ["t"]) == (x, n, "t")


def test_a_field_may_be_called_t_where_there_is_no_time():
    problem = Problem(Interval(0, 1), lambda x, t: t.grad, fields="t", boundary={"left": Dirichlet(0.0)})
    assert problem.unknowns[0].name == "t"


HEAT = {
    "density": lambda x, u: u.value,
    "flux": lambda x, u: u.grad,
    "left": Dirichlet(0.0),
    "initial": Initial(0.0),
}


@pytest.mark.parametrize(
    ("what", "wrong", "named"),
    [
        ("left", Dirichlet(lambda t: torch.sin(t)), "'left'"),
        ("left", Robin(lambda t: 1 + t, 0.0), "'left'"),
        ("left", Natural(lambda t, n, u: -u.value), "'left'"),
        ("source", lambda t, u: -torch.sin(t), "source"),
    ],
)
def test_the_time_alone_is_refused(what, wrong, named):
    """It would be the place: sin(0) for sin(t) at the left end, without a word."""
    given = HEAT | {what: wrong}
    conditions = {name: given.pop(name) for name in ("left", "initial")}
    with pytest.raises(PcpinnError, match=f"{named}.* called t"):
        Problem(Interval(0, 1).over(0, 1), **given, boundary=conditions)


def test_a_place_may_be_called_t_where_there_is_no_time():
    problem = Problem(Interval(0, 1), flux=lambda t, u: u.grad, boundary={"left": Dirichlet(lambda t: t[0])})
    assert not problem.over_time


@pytest.mark.parametrize(
    ("what", "wrong"),
    [
        ("flux", lambda x, v, u: (u.grad, v.grad)),
        ("source", lambda x, t, v, u: (t * v.value, None)),
        ("left", {"u": Natural(lambda x, n, v, u: -u.value), "v": Dirichlet(0.0)}),
    ],
)
def test_fields_in_another_order_are_refused(what, wrong):
    given = HEAT | {"density": lambda x, u, v: (u.value, v.value), "flux": lambda x, u, v: (u.grad, v.grad)}
    zero = {"u": Initial(0.0), "v": Initial(0.0)}
    given |= {"left": {"u": Dirichlet(0.0), "v": Dirichlet(0.0)}, "initial": zero, what: wrong}
    conditions = {name: given.pop(name) for name in ("left", "initial")}
    with pytest.raises(PcpinnError, match="called v, u, and 'v' would be given the field 'u'"):
        Problem(Interval(0, 1).over(0, 1), fields=["u", "v"], **given, boundary=conditions)


def test_other_names_than_those_of_fields_may_come_in_any_order():
    assert Problem(Interval(0, 1), fields=["u", "v"], flux=lambda x, first, second: (first.grad, second.grad))
    assert Problem(Interval(0, 1), fields=["t", "n"], source=lambda x, t, n: (t.value, n.value))
    assert Problem(Interval(0, 1), fields=["u", "v"], source=lambda x, *both: (both[0].value, None))
