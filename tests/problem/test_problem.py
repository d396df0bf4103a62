"""The definition of a problem: what it accepts in short form, and what it refuses."""

import pytest
import torch

from pcpinn import Dirichlet, Disk, Field, Initial, Interval, Mesh, Neumann, Periodic, Pin, Problem, Rectangle
from pcpinn.errors import PcpinnError, PcpinnWarning
from pcpinn.mesh.generate import generate_mesh

SQUARE = Rectangle((0, 0), (1, 1))


def grad(x, *u):
    return u[0].grad


@pytest.mark.parametrize(
    ("fields", "names", "components"),
    [
        ("u", ["u"], 1),
        (Field("v", components=3), ["v"], 3),
        (["u", Field("v", components=2), "p"], ["u", "v", "p"], 4),
        ({"u": 2, "p": 1}, ["u", "p"], 3),
    ],
)
def test_fields_in_short_form(fields, names, components):
    problem = Problem(SQUARE, grad, fields=fields)
    assert [f.name for f in problem.unknowns] == names
    assert problem.components == components


def test_conditions_are_by_boundary_and_field():
    wall = Dirichlet(1.0)
    assert Problem(SQUARE, grad, boundary={"left": wall}).conditions == {"left": {"u": wall}}
    assert Problem(SQUARE, grad, boundary={"left": {"p": wall}}, fields=("u", "p")).conditions == {"left": {"p": wall}}
    problem = Problem(
        SQUARE, grad, boundary={"left": {"u": Periodic("right"), "p": Periodic("right")}}, fields=("u", "p")
    )
    assert problem.periodic_pairs == (("left", "right"),)


@pytest.mark.parametrize(
    "domain", [SQUARE - Disk((0.5, 0.5), 0.1), Interval(0, 1).over(0, 1), generate_mesh(SQUARE, cells=(1, 1))]
)
def test_domains(domain):
    assert Problem(domain, grad).domain is domain
    assert isinstance(domain, Mesh) or domain.dimension == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"domain": 3}, "domain is 3"),
        ({"domain": None}, "domain is None"),
        ({"flux": None}, "neither flux nor source"),
        ({"flux": 1.0}, "flux is 1.0, not a function"),
        ({"source": torch.ones(2)}, "source is tensor.*not a function"),
        ({"boundary": {"left": 0.0}}, "boundary 'left' is given 0.0"),
        ({"boundary": {"left": Dirichlet}}, "boundary 'left' is given"),
        ({"boundary": {"left": {"u": None}}}, "boundary 'left' is given None"),
        ({"boundary": {"left": {"w": Neumann()}}}, "no field 'w'"),
        ({"boundary": {"left": Neumann()}, "fields": ("u", "p")}, "several fields"),
        ({"fields": ("u", "u")}, "repeat a name"),
        ({"fields": ()}, "are empty"),
        ({"fields": "u v"}, "not an identifier"),
        ({"fields": {"u": "2"}}, "'2' components"),
        ({"fields": {"u": True}}, "True components"),
        ({"pins": [Pin((0, 0), field="q")]}, "no field 'q'"),
    ],
)
def test_bad_problems_are_refused(options, message):
    with pytest.raises(PcpinnError, match=message) as caught:
        Problem(**{"domain": SQUARE, "flux": grad} | options)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "2u"}, "identifier"),
        ({"components": 0}, "0 components"),
        ({"degree": 5}, "degree 5"),
        ({"degree": 0}, "degree 0"),
    ],
)
def test_bad_fields_are_refused(options, message):
    with pytest.raises(PcpinnError, match=message):
        Field(**{"name": "u"} | options)


def test_unknown_boundaries_and_partners_are_named():
    for boundary, wrong in (({"lfet": Neumann()}, "lfet"), ({"left": Periodic("rihgt")}, "rihgt")):
        with pytest.raises(PcpinnError, match=f"no boundary called '{wrong}'") as caught:
            Problem(SQUARE, grad, boundary=boundary).check_boundaries(SQUARE.boundary_names)
        assert "bottom, left, right, top" in caught.value.remedy


def test_a_boundary_without_condition_warns():
    problem = Problem(SQUARE, grad, boundary={"left": Periodic("right"), "top": Neumann()})
    with pytest.warns(PcpinnWarning, match="no condition on 'bottom': taken as natural"):
        problem.check_boundaries(SQUARE.boundary_names)
    Problem(SQUARE, grad, boundary={"left": Periodic("right"), "top": Neumann(), "bottom": Neumann()}).check_boundaries(
        SQUARE.boundary_names
    )


def test_a_missing_condition_names_the_outflow():
    conserved = Problem(Interval(0, 1), lambda x, u: -u.value, boundary={"left": Dirichlet(1.0)})
    with pytest.warns(PcpinnWarning, match="an outflow whose transport is part of the flux needs Natural"):
        conserved.check_boundaries(("left", "right"))
    transport = Problem(Interval(0, 1), source=lambda x, u: u.grad[0], boundary={"left": Dirichlet(1.0)})
    with pytest.warns(
        PcpinnWarning, match="'right': there is no flux, so nothing is imposed. Right where .* flows out"
    ):
        transport.check_boundaries(("left", "right"))


@pytest.mark.parametrize(
    "arguments", [{"at": 0.5}, {"at": ()}, {"at": (0.5, 0.5), "value": float("nan")}, {"at": ("a",)}]
)
def test_pins_that_are_nowhere_are_refused(arguments):
    with pytest.raises(PcpinnError, match="Pin"):
        Pin(**arguments)


def test_fields_of_lower_degree():
    pressure = Field("p", lower=1)
    assert [pressure.degree_in(d) for d in (2, 3)] == [1, 2]
    assert Field("q", degree=3, lower=1).degree_in(2) == 3
    with pytest.raises(PcpinnError, match="degree 0"):
        pressure.degree_in(1)
    with pytest.raises(PcpinnError, match="degrees lower"):
        Field("p", lower=-1)


def test_components_are_numbered_field_by_field():
    fields = (Field("v", components=2), Field("p"), Field("q"))
    problem = Problem(SQUARE, flux=lambda x, v, p, q: (v.grad, p.grad, q.grad), fields=fields)
    assert [list(problem.component_range(n)) for n in "vpq"] == [[0, 1], [2], [3]]
    with pytest.raises(PcpinnError, match="no field 'w'"):
        problem.component_range("w")


def test_fields_that_are_forgotten_on_a_ring_are_named():
    """The other field had walls there, and the answer was called right."""
    given = {
        "fields": ["u", "v"],
        "density": lambda x, u, v: (u.value, v.value),
        "flux": lambda x, u, v: (u.grad, v.grad),
    }
    initial = {"u": Initial(0.0), "v": Initial(0.0)}
    domain = Interval(0, 1).over(0, 1)
    half = Problem(domain, boundary={"left": {"u": Periodic("right")}, "initial": initial}, **given)
    with pytest.warns(PcpinnWarning, match="'v' has no condition on 'left'.*for it, too"):
        half.check_boundaries(domain.boundary_names)
    both = {name: Periodic("right") for name in "uv"}
    Problem(domain, boundary={"left": both, "initial": initial}, **given).check_boundaries(domain.boundary_names)
