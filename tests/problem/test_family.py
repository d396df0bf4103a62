"""A problem for every value of its unknowns."""

import pytest
import torch

import pcpinn as pc
from pcpinn.problem.family import Family


def build(a, k):
    return pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: a(x) * u.grad,
        source=lambda x, u: -k[0] * x[0],
        boundary={"left": pc.Free(), "right": pc.Dirichlet(lambda x: k[1] * x[0])},
    )


def family():
    return Family(build, {"a": pc.Coefficient(initial=2.0), "k": pc.Parameter((1.0, 3.0))})


def test_names_columns_and_first_guesses():
    f = family()
    assert f.count == 3
    assert f.names == ("a", "k1", "k2")
    assert f.columns("k") == range(1, 3)
    assert f.start.tolist() == [2.0, 1.0, 3.0]
    with pytest.raises(pc.PcpinnError, match="no unknown 'b'"):
        f.columns("b")


def test_the_extended_problem_says_the_same_as_its_members():
    f = family()
    values, x = torch.tensor([0.7, 0.2, 0.4], dtype=torch.float64), torch.tensor([0.3], dtype=torch.float64)
    u = pc.Local(torch.tensor(1.0, dtype=torch.float64), torch.tensor([5.0], dtype=torch.float64))
    extended = torch.cat([values, x])
    assert torch.equal(f.extended.flux(extended, u), f.at(values).flux(x, u))
    assert torch.equal(f.extended.source(extended, u), f.at(values).source(x, u))
    assert float(f.extended.conditions["right"]["u"].value(extended)) == pytest.approx(0.4 * 0.3)


def test_numbers_stay_numbers():
    """What depends on unknowns becomes a function."""
    f = Family(
        lambda k: pc.Problem(
            pc.Interval(0, 1),
            flux=lambda x, u: k * u.grad,
            boundary={"left": pc.Neumann(0.0), "right": pc.Neumann(lambda x: 3 * k)},
        ),
        {"k": pc.Parameter(1.0)},
    )
    assert f.extended.conditions["left"]["u"] == pc.Neumann(0.0)
    assert not isinstance(f.extended.conditions["right"]["u"], pc.Neumann)


def test_what_is_known_counts_where_boundaries_meet():
    assert list(family().extended.conditions) == ["left", "right"]
    swapped = Family(
        lambda a: pc.Problem(
            pc.Interval(0, 1), flux=lambda x, u: a(x) * u.grad, boundary={"left": pc.Dirichlet(0.0), "right": pc.Free()}
        ),
        {"a": pc.Coefficient()},
    )
    assert list(swapped.extended.conditions) == ["right", "left"]


@pytest.mark.parametrize(
    ("make", "unknowns", "message"),
    [
        (build(lambda x: 1.0, (1.0, 1.0)), {"a": pc.Coefficient()}, "has no unknown coefficients"),
        (build, {}, "no unknowns"),
        (build, {"a": 1.0, "k": 2.0}, "unknown 'a' is 1.0"),
        (build, {3: pc.Coefficient()}, "name of an unknown is 3"),
        (build, {"a": pc.Coefficient()}, "cannot be built from a"),
        (lambda a: a, {"a": pc.Coefficient()}, "returned"),
        (lambda a: None.Problem, {"a": pc.Coefficient()}, "built from a: AttributeError: 'NoneType'"),
    ],
)
def test_what_is_no_family_is_refused(make, unknowns, message):
    with pytest.raises(pc.PcpinnError, match=message):
        _ = Family(make, unknowns).base


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pc.Parameter(2.0, low=3.0), "not between its bounds"),
        (lambda: pc.Parameter((1.0, 2.0), low=(0.0, 0.0, 0.0)), "3 numbers for 2"),
        (lambda: pc.Parameter(1.0, spread=0.0), "spread=0"),
        (lambda: pc.Parameter("a"), "not a number"),
        (lambda: pc.Coefficient(initial=1.0, low=2.0), "not above its bound"),
        (lambda: pc.Coefficient(kernel="cubic"), "not a choice"),
        (lambda: pc.Coefficient(length=-1.0), "must be positive"),
    ],
)
def test_unknowns_that_make_no_sense_are_refused(make, message):
    with pytest.raises(pc.PcpinnError, match=message):
        make()


def test_free_boundaries_are_for_inverse_problems_alone():
    problem = pc.Problem(pc.Interval(0, 1), flux=lambda x, u: u.grad, boundary={"left": pc.Free(), "right": pc.Free()})
    with pytest.raises(pc.PcpinnError, match="is Free"):
        pc.solve(problem, cells=(4,), iterations=1)


# Over time


def over_time(a, k):
    return pc.Problem(
        pc.Interval(0, 1).over(0, 2),
        density=lambda x, t, u: (1 + k * t) * u.value,
        flux=lambda x, u: a(x) * u.grad,
        source=lambda x, t, u: -k * x[0] * t,
        boundary={
            "left": pc.Robin(k, lambda x, t: a(x) * t),
            "right": pc.Dirichlet(lambda x, t: k * t),
            "initial": pc.Initial(lambda x: k * x[0]),
        },
    )


def test_the_extended_problem_over_time():
    f = Family(over_time, {"a": pc.Coefficient(initial=2.0), "k": pc.Parameter(1.0)})
    values, x, t = (torch.tensor(v, dtype=torch.float64) for v in ([0.7, 0.2], [0.3], 0.5))
    u = pc.Local(*(torch.tensor(v, dtype=torch.float64) for v in (1.0, [5.0], 2.0)))
    extended, own = torch.cat([values, x]), f.at(values)
    assert f.extended.over_time
    assert torch.equal(f.extended.flux(extended, t, u), own.flux(x, u))
    assert torch.equal(f.extended.source(extended, t, u), own.source(x, t, u))
    assert torch.equal(f.extended.density(extended, t, u), own.density(x, t, u))
    conditions = {name: by_field["u"] for name, by_field in f.extended.conditions.items()}
    assert float(conditions["right"].value(extended, t)) == pytest.approx(0.2 * 0.5)
    assert isinstance(conditions["initial"], pc.Initial)
    assert float(conditions["initial"].value(extended, t)) == pytest.approx(0.2 * 0.3)
    g = conditions["left"].normal_flux(extended, t, torch.ones(1), u, [u])
    assert float(g) == pytest.approx(0.7 * 0.5 - 0.2 * 1.0)


@pytest.mark.parametrize(
    ("depends", "call", "remedy"),
    [
        (False, lambda a, x, t: a(x, t), "call it a(x); with Coefficient(over_time=True)"),
        (False, lambda a, x, t: a(), "call it a(x)"),
        (True, lambda a, x, t: a(x), "call it a(x, t)"),
    ],
)
def test_coefficients_are_called_as_they_depend(depends, call, remedy):
    def build(a):
        return pc.Problem(pc.Interval(0, 1).over(0, 1), flux=lambda x, t, u: call(a, x, t) * u.grad)

    f = Family(build, {"a": pc.Coefficient(over_time=depends)})
    x, t = torch.tensor([1.0, 0.5], dtype=torch.float64), torch.tensor(0.5, dtype=torch.float64)
    with pytest.raises(pc.PcpinnError, match="coefficient 'a' is called with") as caught:
        f.extended.flux(x, t, pc.Local(t, x[1:], t))
    assert remedy in caught.value.remedy


def test_waves_with_unknowns_are_two_fields():
    def build(k):
        return pc.Problem(
            pc.Interval(0, 1).over(0, 1),
            density=lambda x, u: k * u.dt,
            flux=lambda x, u: u.grad,
            boundary={"initial": pc.Initial(0.0, rate=0.0)},
        )

    with pytest.raises(pc.PcpinnError, match="second order in time") as caught:
        _ = Family(build, {"k": pc.Parameter(1.0)}).extended
    assert "two fields" in caught.value.remedy
