"""What is refused before time is spent, and that nothing else is."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from pcpinn import (
    Dirichlet,
    Field,
    Initial,
    Interval,
    Natural,
    Neumann,
    PcpinnError,
    Periodic,
    Pin,
    Problem,
    Rectangle,
    Robin,
    solve,
)
from pcpinn.catalog import CATALOG
from pcpinn.catalog.task import find_task
from pcpinn.discretize.samples import data_states, sample_points
from pcpinn.discretize.symbol import symbol
from pcpinn.discretize.wellposed import below_zero, growing, refuse_ill_posed, undetermined

STRANGERS = Path(__file__).parents[1] / "strangers"
FILES = [p for p in sorted(STRANGERS.glob("*.py")) if not p.name.startswith(("test_", "make_"))]
ZERO = Dirichlet(0.0)
SQUARE = Rectangle((0, 0), (1, 1), name="sides")


@pytest.mark.parametrize("name", [*(e.name for e in CATALOG), *map(str, FILES)], ids=lambda n: Path(n).stem)
def test_no_false_alarm(name):
    refuse_ill_posed(find_task(name, "default", {}).problem)


def in_time(flux, density=lambda x, u: u.value, source=None, rate=None, shape=None):
    shape = Interval(0, 1, name="sides") if shape is None else shape
    start = Initial(lambda x: torch.sin(torch.pi * x[0]), rate=rate)
    return Problem(shape.over(0, 1), flux, source, density=density, boundary={"sides": ZERO, "initial": start})


BACKWARD = {
    "heat": in_time(lambda x, u: -u.grad),
    "heat with the sign in the density": in_time(lambda x, u: u.grad, lambda x, u: -u.value),
    "heat in the plane": in_time(lambda x, u: -0.01 * u.grad, shape=SQUARE),
    "one direction alone": in_time(lambda x, u: torch.stack([u.grad[0], -1e-3 * u.grad[1]]), shape=SQUARE),
    "nonlinear": in_time(lambda x, u: -(1 + u.value**2) * u.grad),
    "wave": in_time(lambda x, u: -u.grad, lambda x, u: u.dt, rate=0.0),
    "wave with the sign in the density": in_time(lambda x, u: 4 * u.grad, lambda x, u: -u.dt, rate=0.0),
}


@pytest.mark.parametrize("problem", BACKWARD.values(), ids=BACKWARD.keys())
def test_backward_in_time(problem):
    with pytest.raises(PcpinnError, match=r"wrong sign everywhere|elliptic in space and time everywhere") as caught:
        refuse_ill_posed(problem)
    assert "check the sign" in caught.value.remedy


@pytest.mark.parametrize(
    "problem",
    [
        in_time(lambda x, u: u.grad),
        in_time(lambda x, u: -u.grad, lambda x, u: -u.value),
        in_time(lambda x, u: u.grad, lambda x, u: u.dt, rate=0.0),
        in_time(lambda x, u: u.grad, source=lambda x, u: -1e6 * u.value),  # grows, but not the faster the shorter
        in_time(lambda x, u: u.value.clamp(min=0) * u.grad),  # degenerate
        in_time(lambda x, u: (1 - 3 * u.grad @ u.grad) * u.grad),  # forwards where the slope is small
        in_time(None, source=lambda x, u: 3 * u.grad[0]),
        in_time(lambda x, u: u.grad + u.dt, lambda x, u: u.dt, rate=0.0),
    ],
)
def test_forward_in_time(problem):
    refuse_ill_posed(problem)


def test_systems():
    """Cauchy and Riemann's equations grow, two fields that make a wave do not; regularised anti-diffusion does not."""

    def pair(sign):
        return Problem(
            Interval(0, 1).over(0, 1),
            source=lambda x, u, v: (v.grad[0], sign * u.grad[0]),
            density=lambda x, u, v: (u.value, v.value),
            boundary={
                "left": {"u": Periodic("right"), "v": Periodic("right")},
                "initial": {"u": Initial(1.0), "v": Initial(1.0)},
            },
            fields=["u", "v"],
        )

    refuse_ill_posed(pair(1))
    with pytest.raises(PcpinnError, match="wrong sign"):
        refuse_ill_posed(pair(-1))

    def fourth(sign):
        return Problem(
            Interval(0, 1).over(0, 1),
            flux=lambda x, u, w: (w.grad - u.grad, -sign * 1e-6 * u.grad),
            source=lambda x, u, w: (None, w.value),
            density=lambda x, u, w: (u.value, None),
            boundary={"left": {"u": Periodic("right"), "w": Periodic("right")}, "initial": {"u": Initial(1.0)}},
            fields=["u", "w"],
        )

    refuse_ill_posed(fourth(1))
    with pytest.raises(PcpinnError, match="wrong sign"):
        refuse_ill_posed(fourth(-1))


def flow(sign=1.0, pins=(), **boundary):
    eye = torch.eye(2, dtype=torch.float64)
    return Problem(
        Rectangle((0, 0), (1, 1)).over(0, 1),
        flux=lambda x, u, p: (sign * u.grad - p.value * eye, None),
        source=lambda x, u, p: (u.grad @ u.value, u.grad.trace()),
        density=lambda x, u, p: (u.value, None),
        boundary={
            **{name: {"u": Dirichlet([0.0, 0.0])} for name in ("left", "right", "bottom", "top")},
            **boundary,
            "initial": {"u": Initial([1.0, 0.0])},
        },
        fields=[Field("u", components=2), Field("p", lower=1)],
        pins=pins,
    )


def test_flows():
    pin = [Pin(at=(0, 0), field="p")]
    refuse_ill_posed(flow(pins=pin))
    refuse_ill_posed(flow(right={"u": Neumann(0.0)}))
    with pytest.raises(PcpinnError, match="'p' is fixed only up to a constant"):
        refuse_ill_posed(flow())
    with pytest.raises(PcpinnError, match="wrong sign"):
        refuse_ill_posed(flow(sign=-1.0, pins=pin))


def test_rates_are_those_of_plane_waves():
    heat = in_time(lambda x, u: 0.1 * u.grad, source=lambda x, u: 3 * u.grad[0] - 2 * u.value)
    x = sample_points(heat, 5)
    rates = symbol(heat, x, data_states(heat, x)).rates(np.array([7.0]))
    assert np.allclose(rates, 2 - 0.1 * 49 - 21j)
    wave = in_time(lambda x, u: 4 * u.grad, lambda x, u: u.dt + 0.2 * u.value, rate=0.0)
    rates = symbol(wave, x, data_states(wave, x)).rates(np.array([7.0]))
    assert np.allclose(sorted(rates[0].imag), [-np.sqrt(196 - 0.01), np.sqrt(196 - 0.01)])
    assert np.allclose(rates.real, -0.1)


def test_part_of_the_domain():
    """It is found, with its part, and left to the user: a nonlinear problem may never get there."""
    problem = in_time(lambda x, u: (x[0] - 0.25) * u.grad)
    found = growing(problem, sample_points(problem, 400))
    assert found.part == pytest.approx(0.25, abs=0.06)
    refuse_ill_posed(problem)


def test_coefficients_that_are_not_finite():
    problem = Problem(SQUARE, lambda x, u: torch.sqrt(x[0] - 0.2) * u.grad, boundary={"sides": ZERO})
    with pytest.raises(PcpinnError, match=r"flux of 'u' is not finite at .*% of the points") as caught:
        refuse_ill_posed(problem)
    assert float(re.search(r"\(([\d.]+),", str(caught.value))[1]) < 0.2
    refuse_ill_posed(Problem(SQUARE, lambda x, u: u.grad / (x @ x), boundary={"sides": ZERO}))
    refuse_ill_posed(Problem(SQUARE, lambda x, u: u.grad, lambda x, u: torch.log(u.value), boundary={"sides": ZERO}))


def steady(condition, source=lambda x, u: -1.0, pins=()):
    return Problem(SQUARE, lambda x, u: u.grad, source, boundary={"sides": condition}, pins=pins)


@pytest.mark.parametrize("condition", [Neumann(0.0), Robin(0.0, 1.0), Natural(lambda x, n, u: n[0])])
def test_pure_neumann(condition):
    with pytest.raises(PcpinnError, match="'u' is fixed only up to a constant") as caught:
        refuse_ill_posed(steady(condition))
    assert "pins=[Pin(" in caught.value.remedy


@pytest.mark.parametrize(
    "problem",
    [
        steady(ZERO),
        steady(Robin(1.0)),
        steady(Natural(lambda x, n, u: -u.value)),
        steady(Neumann(0.0), pins=[Pin(at=(0, 0))]),
        steady(Neumann(0.0), source=lambda x, u: u.value - 1),
        steady(Neumann(0.0), source=lambda x, u: u.value**3 - 1),
    ],
)
def test_constants_that_are_fixed(problem):
    assert undetermined(problem, sample_points(problem, 40)) is None


def test_an_accuracy_is_refused_at_once():
    with pytest.raises(PcpinnError, match="wrong sign"):
        solve(BACKWARD["heat"], accuracy=1e-2)
    with pytest.raises(PcpinnError, match="up to a constant"):
        solve(steady(Neumann(0.0)), accuracy=1e-2)


def test_a_field_that_falls_below_zero_where_diffusion_is_negative():
    def medium(flux):
        ends = {"left": Dirichlet(0.0), "right": Dirichlet(0.0), "initial": Initial(1.0)}
        return Problem(Interval(0, 1).over(0, 1), density=lambda x, u: u.value, flux=flux, boundary=ends)

    porous = medium(lambda x, u: 2 * u.value * u.grad)
    assert "'u' has come to -1.0e-02" in below_zero(porous, np.array([-0.01]))
    assert below_zero(porous, np.array([0.0])) is None
    assert below_zero(medium(lambda x, u: torch.clamp(u.value, min=0) * u.grad), np.array([-0.01])) is None
    assert below_zero(medium(lambda x, u: u.grad), np.array([-0.01])) is None
