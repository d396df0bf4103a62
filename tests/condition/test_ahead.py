"""What the doctor sees before anything is solved: each finding on a problem made to have it, and silence on one that has not."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from known_norms import heat, helmholtz, poisson, wave

from pcpinn import (
    Dirichlet,
    Disk,
    Ellipse,
    Field,
    Initial,
    Interval,
    Neumann,
    Pin,
    Polygon,
    Problem,
    Rectangle,
    diagnose,
)
from pcpinn.catalog.task import find_task
from pcpinn.condition.ahead import look_ahead
from pcpinn.condition.interfaces import flux_jump
from pcpinn.mesh.generate import generate_mesh

STRANGERS = Path(__file__).parents[1] / "strangers"
ZERO = Dirichlet(0.0)
SQUARE = Rectangle((0, 0), (1, 1), name="sides")


def about(findings, topic):
    return [f for f in findings if f.topic == topic]


def told(problem, topic):
    """The one finding about a topic; it says what accuracy mode does unless all is fine."""
    found = about(look_ahead(problem), topic)
    assert len(found) == 1
    assert found[0].accuracy_mode or found[0].severity == "fine"
    return found[0]


def silent(problem, *topics):
    found = look_ahead(problem)
    return all(f.severity == "fine" for t in topics for f in about(found, t))


def steady(flux=lambda x, u: u.grad, source=lambda x, u: -1.0, shape=SQUARE, **boundary):
    boundary = boundary or dict.fromkeys(shape.boundary_names, ZERO)
    return Problem(shape, flux, source, boundary=boundary)


def in_time(flux=None, density=lambda x, u: u.value, source=None, start=None, end=1.0, **boundary):
    start = Initial(lambda x: torch.sin(torch.pi * x[0])) if start is None else start
    boundary = boundary or {"left": ZERO, "right": ZERO}
    return Problem(Interval(0, 1).over(0, end), flux, source, density=density, boundary={**boundary, "initial": start})


def test_a_plain_problem_is_plain():
    for problem in (poisson(), steady(), in_time(lambda x, u: 0.01 * u.grad)):
        assert all(f.severity == "fine" for f in look_ahead(problem))


def test_peclet_and_reynolds():
    peclet = told(steady(lambda x, u: 0.01 * u.grad, lambda x, u: 3 * u.grad[0] - 1), "convection")
    assert peclet.number == pytest.approx(300)
    assert peclet.sentence.startswith("the Peclet number of u is 300")
    assert peclet.severity == "note"
    burgers = in_time(lambda x, u: 0.01 * u.grad, source=lambda x, u: u.value * u.grad[0])
    reynolds = told(burgers, "convection")
    assert "Reynolds" in reynolds.sentence
    assert reynolds.number == pytest.approx(100, rel=0.01)
    carried = in_time(lambda x, u: 0.1 * u.grad - 2 * u.value.reshape(1))
    assert told(carried, "convection").number == pytest.approx(20)
    assert not about(look_ahead(steady()), "convection")


def test_travel():
    found = told(in_time(source=lambda x, u: 7 * u.grad[0], end=2.0), "travel")
    assert found.number == pytest.approx(14)
    assert found.severity == "note"
    long = told(wave(c=3.0, T=100.0), "travel")
    assert long.number == pytest.approx(300)
    assert long.severity == "warning"
    assert not about(look_ahead(heat()), "travel")


def test_waves_and_resonance():
    found = told(helmholtz(400.0), "waves")
    assert found.number == pytest.approx(2 * math.pi / 20)
    assert not about(look_ahead(helmholtz(1.0)), "waves")
    near = about(diagnose(helmholtz(19.7), {"cells": (8, 8)}).findings, "resonance")[0]
    assert near.number == pytest.approx((2 * math.pi**2 - 19.7) / 19.7, rel=0.2)
    assert near.severity == "warning"
    far = about(diagnose(helmholtz(30.0), {"cells": (8, 8)}).findings, "resonance")[0]
    assert far.severity == "fine"


def test_layers():
    assert told(steady(source=lambda x, u: 1e4 * u.value - 1), "layers").number == pytest.approx(0.01)
    assert not about(look_ahead(steady(source=lambda x, u: u.value - 1)), "layers")


def test_stiffness():
    found = told(in_time(lambda x, u: u.grad, source=lambda x, u: 1e5 * u.value), "stiffness")
    assert found.severity == "note"
    assert found.number > 1e5
    assert "reaction alone 1e+05" in found.sentence
    assert not about(look_ahead(wave()), "stiffness")


L_SHAPE = Polygon(((0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)), names="sides")


@pytest.mark.parametrize("as_mesh", [False, True], ids=["shape", "mesh"])
def test_corners(as_mesh):
    def on(shape):
        return generate_mesh(shape, size=0.2) if as_mesh else shape

    found = told(steady(shape=on(L_SHAPE)), "corners")
    assert found.number == pytest.approx(2 / 3, abs=1e-6)
    assert "(1, 1), 270 degrees" in found.sentence
    notch = Rectangle((0, 0), (1, 1), name="sides") - Polygon(((1, 0.45), (0.5, 0.5), (1, 0.55)), names="notch")
    angle = 2 * math.pi - 2 * math.atan(0.1)
    assert told(steady(shape=on(notch)), "corners").number == pytest.approx(math.pi / angle, abs=0.01)
    assert silent(steady(shape=on(SQUARE - Disk((0.5, 0.5), 0.2, name="hole"))), "corners")


def test_conditions_of_two_kinds_that_meet():
    two = Polygon(((0, 0), (0.5, 0), (1, 0), (1, 1), (0, 1)), names=("a", "b", "b", "b", "b"))
    found = told(steady(shape=two, a=ZERO, b=Neumann(0.0)), "corners")
    assert found.number == pytest.approx(0.5)
    assert "two kinds" in found.sentence
    box = Rectangle((0, 0), (1, 1))
    assert silent(steady(shape=box, left=ZERO, right=ZERO, top=Neumann(0.0), bottom=Neumann(0.0)), "corners")


def test_curvature():
    thin = told(steady(shape=Ellipse((0, 0), (1, 0.2))), "curvature")
    assert thin.number < 1
    assert "radius 0.04" in thin.sentence
    assert thin.severity == "note"
    assert told(steady(shape=Disk((0, 0), 1.0)), "curvature").severity == "fine"
    assert not about(look_ahead(steady()), "curvature")


def test_interfaces():
    found = told(steady(lambda x, u: torch.where(x[0] + x[1] < 0.7, 50.0, 1.0) * u.grad), "interfaces")
    assert found.number == pytest.approx(50)
    jump = flux_jump(steady(lambda x, u: torch.where(x[0] < 0.3, 50.0, 1.0) * u.grad))
    assert jump.at[0] == pytest.approx(0.3, abs=1e-9)
    assert silent(steady(lambda x, u: (1 + 100 * torch.exp(-3e3 * (x[0] - 0.5) ** 2)) * u.grad), "interfaces")
    assert silent(steady(lambda x, u: torch.sin(9 * x[0]) * u.grad), "interfaces")
    switched = in_time(lambda x, t, u: torch.where(t < 0.5, 1.0, 3.0) * u.grad)
    assert "steps about that time" in told(switched, "interfaces").accuracy_mode


def test_sources_that_jump():
    found = told(steady(source=lambda x, u: -torch.where(x[0] < 0.4, 2.0, 0.0)), "sources")
    assert found.number == pytest.approx(2)
    assert not about(look_ahead(steady(source=lambda x, u: -torch.sin(20 * x[0]))), "sources")
    reaction = look_ahead(steady(source=lambda x, u: torch.where(x[0] < 0.4, 2.0, 5.0) * u.value - 1))
    assert about(reaction, "sources")[0].number == pytest.approx(3)
    assert about(reaction, "interfaces") == []


def test_starts_that_contradict_the_boundary():
    found = told(in_time(lambda x, u: u.grad, start=Initial(1.0)), "start")
    assert found.number == pytest.approx(1)
    assert found.severity == "warning"
    assert silent(in_time(lambda x, u: u.grad), "start")
    rate = Initial(lambda x: torch.sin(torch.pi * x[0]), rate=0.0)
    kicked = in_time(
        lambda x, u: u.grad,
        lambda x, u: u.dt,
        start=rate,
        left=Dirichlet(lambda x, t: torch.sin(3 * t)),
        right=Dirichlet(lambda x, t: 1 - torch.cos(3 * t)),
    )
    values, rates = about(look_ahead(kicked), "start")
    assert values.severity == "fine"
    assert rates.number == pytest.approx(1)
    assert "'left'" in rates.sentence


def test_starts_whose_flux_is_another():
    found = about(look_ahead(in_time(lambda x, u: u.grad, left=Neumann(0.0), right=ZERO)), "start")
    flux = [f for f in found if "normal flux" in f.sentence]
    assert flux[0].number == pytest.approx(1, rel=0.05)
    smooth = Initial(lambda x: torch.cos(torch.pi * x[0]))
    assert silent(in_time(lambda x, u: u.grad, start=smooth, left=Neumann(0.0), right=Neumann(0.0)), "start")


def test_nonlinearity():
    found = told(steady(source=lambda x, u: 1e4 * u.value**3 - 1, sides=Dirichlet(1.0)), "nonlinearity")
    assert found.severity == "warning"
    assert "says little" in found.sentence
    assert told(steady(), "nonlinearity").number == 0
    mild = steady(lambda x, u: (1 + 0.01 * u.value**2) * u.grad, sides=Dirichlet(1.0))
    assert 0 < told(mild, "nonlinearity").number < 0.1


def test_signs_of_steady_problems():
    turned = told(steady(lambda x, u: -u.grad), "well-posed")
    assert turned.severity == "note"
    part = told(steady(lambda x, u: (x[0] - 0.3) * u.grad), "well-posed")
    assert part.severity == "problem"
    assert part.number == pytest.approx(0.3, abs=0.1)
    assert "check its sign" in part.command
    both = told(steady(lambda x, u: torch.stack([u.grad[0], -u.grad[1]])), "well-posed")
    assert "hyperbolic" in both.sentence


ILL_POSED = {
    "backward heat": (in_time(lambda x, u: -u.grad), "wrong sign"),
    "elliptic": (in_time(lambda x, u: -u.grad, lambda x, u: u.dt, start=Initial(0.0, rate=0.0)), "elliptic"),
    "not finite": (steady(lambda x, u: torch.log(x[0] - 0.5) * u.grad), "not finite"),
    "no pin": (steady(sides=Neumann(0.0)), "up to a constant"),
}


@pytest.mark.parametrize(("problem", "word"), ILL_POSED.values(), ids=ILL_POSED.keys())
def test_ill_posed_problems_are_not_measured(problem, word):
    found = diagnose(problem)
    assert found.condition is None
    assert found.to_dict()["condition"] is None
    first = found.findings[0]
    assert (first.topic, first.severity) == ("well-posed", "problem")
    assert word in first.sentence
    assert first.command
    assert "refuses" in first.accuracy_mode


def test_backward_in_a_part_of_the_domain():
    found = about(look_ahead(in_time(lambda x, u: (x[0] - 0.25) * u.grad)), "well-posed")[0]
    assert found.severity == "problem"
    assert "of the points looked at" in found.sentence
    assert "check the signs" in found.command


def test_what_newton_cannot_solve_is_still_looked_at():
    found = diagnose(steady(source=lambda x, u: torch.exp(3 * u.value) * -50.0), {"cells": (6, 6)})
    assert found.condition is None
    assert "nothing was measured: Newton" in found.note
    assert about(found.findings, "nonlinearity")[0].number > 1


def test_a_flow_is_looked_at_with_its_solution():
    """Driven by its lid; the velocity of the solution makes the Reynolds number, not that of random states."""
    eye = torch.eye(2, dtype=torch.float64)
    lid = {"u": Dirichlet(lambda x: torch.stack([16 * x[0] ** 2 * (1 - x[0]) ** 2, 0 * x[0]]))}
    still = {"u": Dirichlet([0.0, 0.0])}
    problem = Problem(
        Rectangle((0, 0), (1, 1)),
        flux=lambda x, u, p: (0.1 * u.grad - p.value * eye, None),
        source=lambda x, u, p: (u.grad @ u.value, u.grad.trace()),
        boundary={"top": lid, "left": still, "right": still, "bottom": still},
        fields=[Field("u", components=2), Field("p", lower=1)],
        pins=[Pin(at=(0, 0), field="p")],
    )
    found = about(diagnose(problem, {"cells": (8, 8), "degree": 2}).findings, "convection")[0]
    assert "Reynolds" in found.sentence
    assert 1 < found.number <= 10


def test_ordinary_pinns_are_not_called_easy_where_they_are_blind():
    found = diagnose(*(lambda t: (t.problem, t.settings))(find_task("poisson2d-ms", "quick", {})))
    hard = about(found.findings, "difficulty")[0]
    assert hard.severity == "warning"
    assert "hard for an ordinary PINN" in hard.sentence
    calm = about(diagnose(poisson(), {"cells": (20,)}).findings, "difficulty")[0]
    assert "no obstacle is seen" in calm.sentence
    assert "easy" not in hard.sentence + calm.sentence


@pytest.mark.parametrize(
    ("name", "topic"),
    [("l_shape", "corners"), ("inclusion", "interfaces"), ("heat_jump", "start"), ("convection_80", "travel"),
     ("boundary_layer", "convection"), ("thin_layers", "layers"), ("ellipse", "curvature"), ("helmholtz_k20", "waves")],
)  # fmt: skip
def test_strangers(name, topic):
    found = told(find_task(str(STRANGERS / f"{name}.py"), "default", {}).problem, topic)
    assert found.severity in ("note", "warning")
    assert np.isfinite(found.number)
