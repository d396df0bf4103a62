"""Orders in time from the functions of a problem, and the initial conditions that go with them."""

import pytest
import torch

from pcpinn import Dirichlet, Field, Free, Initial, Interval, PcpinnError, Problem, Rectangle
from pcpinn.discretize.finite_differences import FiniteDifferences
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.time_orders import check_start, refuse_mixed, refuse_second, time_orders
from pcpinn.mesh.generate import generate_mesh

LINE = Interval(0, 1).over(0, 1)
X = torch.rand(20, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def grad(x, *fields):
    return tuple(f.grad for f in fields)


def orders(density=None, source=None, flux=grad, fields="u"):
    found = time_orders(Problem(LINE, flux, source, density=density, fields=fields), X)
    return tuple(found.of.values()), found.mixed


@pytest.mark.parametrize(
    ("functions", "expected"),
    [
        ({}, 0),
        ({"density": lambda x, u: u.value}, 1),
        ({"density": lambda x, u: u.value**3}, 1),
        ({"density": lambda x, u: torch.log(u.value)}, 1),
        ({"density": lambda x, u: torch.sqrt(u.value)}, 1),
        ({"density": lambda x, t, u: t**2}, 0),
        ({"density": lambda x, u: None}, 0),
        ({"source": lambda x, u: u.dt}, 1),
        ({"source": lambda x, u: u.dt * u.value}, 1),
        ({"flux": lambda x, u: u.grad * u.dt}, 1),
        ({"density": lambda x, u: u.dt}, 2),
        ({"density": lambda x, u: u.dt + 0.1 * u.value}, 2),
        ({"density": lambda x, u: (1 + u.value**2) * u.dt}, 2),
        ({"density": lambda x, u: torch.where(x[0] > 0.9, u.dt, 0.0 * u.dt)}, 2),
    ],
)
def test_order_of_one_field(functions, expected):
    assert orders(**functions) == ((expected,), ())


def test_orders_of_several_fields():
    fields = ("u", "w", "p")
    assert orders(lambda x, u, w, p: (u.value, None, None), fields=fields)[0] == (1, 0, 0)
    assert orders(lambda x, u, w, p: (None, w.dt, p.value), fields=fields)[0] == (0, 2, 1)
    assert orders(lambda x, u, w, p: (u.value + p.value, None, None), fields=fields)[0] == (1, 0, 1)
    coupled = orders(lambda x, u, w, p: (u.dt + w.dt, w.dt - u.dt, p.value), fields=fields)
    assert coupled[0] == (2, 2, 1)
    vector = Field("v", components=2)
    assert orders(lambda x, v, p: (v.value, None), fields=(vector, "p"))[0] == (1, 0)
    assert orders(lambda x, v: v.dt, fields=vector)[0] == (2,)


def test_steady_problems_have_no_order():
    assert time_orders(Problem(Interval(0, 1), grad), X[:, :1]).of == {"u": 0}


@pytest.mark.parametrize(
    ("density", "fields"),
    [
        (lambda x, u, v: (v.dt, u.value), ("u", "v")),
        (lambda x, u, v: (u.dt, u.dt + v.value), ("u", "v")),
        (lambda x, w: torch.stack([w.dt[0], w.value[1]]), Field("w", components=2)),
    ],
)
def test_rates_in_the_wrong_place_are_refused(density, fields):
    with pytest.raises(PcpinnError, match="do not belong together") as caught:
        orders(density, fields=fields)
    assert "in the order of the fields" in caught.value.remedy


def test_densities_of_gradients():
    assert orders(lambda x, u: u.value + u.grad[0])[1] == ("u",)
    assert orders(lambda x, u: u.dt + u.grad[0])[1] == ()  # tested, not differentiated
    assert orders(lambda x, u, v: (u.value, v.value + u.grad[0]), fields=("u", "v")) == ((1, 1), ("v",))


START = Initial(0.0)
WAVE = Initial(0.0, rate=1.0)


def checked(density, start, fields="u", every=False, source=None):
    problem = Problem(LINE, grad, source, density=density, boundary={"initial": start}, fields=fields)
    return check_start(problem, X, every)


def test_what_belongs_together_is_accepted():
    assert checked(lambda x, u: u.value, START).of == {"u": 1}
    assert checked(lambda x, u: u.value, Free()).of == {"u": 1}
    assert checked(None, START, source=lambda x, u: u.dt).of == {"u": 1}
    assert checked(lambda x, u: u.dt, WAVE).second == ("u",)
    assert checked(lambda x, u, p: (u.value, None), {"u": START}, ("u", "p")).of == {"u": 1, "p": 0}
    assert checked(lambda x, u, p: (u.value, None), {"u": START, "p": START}, ("u", "p"), every=True)


@pytest.mark.parametrize(
    ("density", "start", "fields", "message", "remedy"),
    [
        (lambda x, u: u.value, {}, "u", "'u' has no initial value", "{'initial': Initial(u0)}"),
        (lambda x, u: u.dt, {}, "u", "its second time derivative appears", "{'initial': Initial(u0, rate=...)}"),
        (lambda x, u, v: (u.value, v.value), {"u": START}, ("u", "v"), "'v' has no", "{'initial': {'v': Initial(u0)}}"),
        (lambda x, u: u.dt, START, "u", "'u' has no rate", "rate=..."),
        (lambda x, u: u.value, WAVE, "u", "'u' has a rate", "write Initial(u0)"),
        (None, START, "u", "appears in no equation", "leave it out"),
        (lambda x, u, p: (u.value, None), {"u": START, "p": START}, ("u", "p"), "'p' has an initial", "leave it out"),
        (lambda x, u: u.dt, Free(), "u", "Free for 'u'", "two fields"),
        (lambda x, v: v.value, Initial([0.0, None]), Field("v", components=2), "a component open", "each component"),
    ],
)
def test_missing_and_extra_conditions_are_refused(density, start, fields, message, remedy):
    with pytest.raises(PcpinnError, match=message) as caught:
        checked(density, start, fields)
    assert remedy in caught.value.remedy


def test_every_field_where_it_is_asked_for():
    with pytest.raises(PcpinnError, match="'p' has no initial value") as caught:
        checked(lambda x, u, p: (u.value, None), {"u": START}, ("u", "p"), every=True)
    assert "march" in caught.value.remedy


def test_what_a_discretisation_cannot_do():
    refuse_second(checked(lambda x, u: u.value, START))
    refuse_mixed(checked(lambda x, u: u.value, START))
    with pytest.raises(PcpinnError, match="second order in time") as caught:
        refuse_second(checked(lambda x, u: u.dt, WAVE))
    assert "u_t = v, v_t = ..." in caught.value.remedy
    with pytest.raises(PcpinnError, match="depends on a gradient") as caught:
        refuse_mixed(checked(lambda x, u: u.value + u.grad[0], START))
    assert "radau" in caught.value.remedy


@pytest.mark.parametrize("kind", [FiniteElements, FiniteDifferences])
def test_simplices_and_grids_check_before_they_build(kind):
    mesh = generate_mesh(LINE, cells=3, steps=3)
    sides = {"left": Dirichlet(0.0), "right": Dirichlet(0.0)}
    for density, start, message in (
        (lambda x, u: u.value, {}, "no initial value"),
        (lambda x, u: u.grad[0], {"initial": START}, "depends on a gradient"),
        (lambda x, u: u.dt, {"initial": START}, "has no rate"),
    ):
        with pytest.raises(PcpinnError, match=message):
            kind(Problem(LINE, grad, density=density, boundary=sides | start), mesh)


def test_samples_are_those_of_the_domain():
    """Functions need not be defined elsewhere."""
    square = Rectangle((0, 0), (1, 1)).over(0, 1)
    x = torch.rand(500, 3, dtype=torch.float64)
    problem = Problem(square, grad, density=lambda x, u: torch.sqrt(x[0]) * u.value, boundary={"initial": START})
    assert check_start(problem, x).of == {"u": 1}
