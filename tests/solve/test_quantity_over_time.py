"""Quantities of interest of problems over time: at a moment and over a span, with errors that contain the truth."""

import importlib
import math
from functools import cache

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.errors import PcpinnError

PI = math.pi
ROUGH = {"width": 8, "depth": 1, "iterations": 4, "accuracy": None, "device": "cpu"}
DISCRETE = {"cells": (5,), "degree": 2, "width": 8, "depth": 1, "accuracy": None, "device": "cpu", "time": "march"}


def rod():
    """u_t = u_xx / 10, u = sin(pi x) exp(-pi^2 t / 10)."""
    return pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        flux=lambda x, u: 0.1 * u.grad,
        density=lambda x, u: u.value,
        boundary={
            "left": pc.Dirichlet(0.0),
            "right": pc.Dirichlet(0.0),
            "initial": pc.Initial(lambda x: torch.sin(torch.pi * x[0])),
        },
    )


@cache
def heat():
    return pc.solve(rod(), **DISCRETE, steps=6, order=2, iterations=2)


def decay(t):
    return math.exp(-0.1 * PI**2 * t)


QUANTITIES = {
    "integral": (lambda s, t: s.integrate(lambda x, u: u.value, t=t), 2 / PI),
    "rate": (lambda s, t: s.integrate(lambda x, t, u: u.dt, t=t), -0.2 * PI),
    "region": (
        lambda s, t: s.integrate(lambda x, u: u.value, on=lambda x: x[0] < 0.3, t=t),
        (1 - math.cos(0.3 * PI)) / PI,
    ),
    "reaction": (lambda s, t: s.flux("right", t=t), -0.1 * PI),
    "gradients": (lambda s, t: s.flux("right", form="gradients", t=t), -0.1 * PI),
    "value": (lambda s, t: s.value([0.3], t=t), math.sin(0.3 * PI)),
    "maximum": (lambda s, t: s.maximum(t=t), 1.0),
}


@pytest.mark.parametrize("name", QUANTITIES)
@pytest.mark.parametrize("t", [0.0, 0.07, 0.5, 1.0])
def test_errors_at_a_moment_contain_the_truth(name, t):
    asked, truth = QUANTITIES[name]
    found = asked(heat(), t)
    assert truth * decay(t) in found, (str(found), truth * decay(t))
    assert 0 < found.error < 0.2 * abs(truth)
    assert "finer in space and in time" in found.how


def test_what_is_found_does_not_depend_on_the_network():
    found = heat().integrate(lambda x, u: u.value, t=0.7)
    truth = 2 / PI * decay(0.7)
    assert abs(float(found) - truth) < 1e-5 < abs(found.network - truth)


@pytest.mark.parametrize("span", [(0.0, 1.0), (0.23, 0.61)])
def test_integrals_over_time(span):
    over = (decay(span[0]) - decay(span[1])) / (0.1 * PI**2)
    for name in ("integral", "reaction", "gradients"):
        asked, truth = QUANTITIES[name]
        found = asked(heat(), span)
        assert truth * over in found, (name, str(found), truth * over)
        assert found.error < 0.2 * abs(truth * over)
        assert found.network is None


def test_what_flows_out_is_what_is_lost():
    lost = heat().integrate(lambda x, u: u.value, t=0.0) - heat().integrate(lambda x, u: u.value, t=1.0)
    out = heat().flux("left", t=(0, 1)) + heat().flux("right", t=(0, 1))
    assert float(lost) == pytest.approx(-float(out), rel=1e-7)  # reactions conserve; integrated gradients do not


def test_the_force_on_the_end_of_a_wave():
    """Of second order in time: u = sin(pi x / 2) cos(pi t / 2), held on the left, free on the right."""
    problem = pc.Problem(
        pc.Interval(0, 1).over(0, 2),
        density=lambda x, u: u.dt,
        flux=lambda x, u: u.grad,
        boundary={
            "left": pc.Dirichlet(0.0),
            "right": pc.Neumann(0.0),
            "initial": pc.Initial(lambda x: torch.sin(torch.pi / 2 * x[0]), rate=0.0),
        },
    )
    solution = pc.solve(problem, accuracy=5e-2, device="cpu")
    for t in (0.3, 1.0, 1.7):
        force = solution.flux("left", t=t)
        assert -PI / 2 * math.cos(PI / 2 * t) in force, str(force)
        energy = solution.integrate(lambda x, u: (u.dt**2 + u.grad @ u.grad) / 2, t=t)
        assert PI**2 / 16 in energy, str(energy)
        assert "reaction" in force.how
    assert 0.0 in solution.flux("left", t=(0, 2))


def test_forces_of_vector_fields_have_a_number_for_each_component():
    """A body that creeps under a load and is in equilibrium: u = (0, y)."""
    problem = pc.Problem(
        pc.Rectangle((0, 0), (1, 1)).over(0, 1),
        fields=[pc.Field("u", components=2)],
        density=lambda x, u: u.value,
        flux=lambda x, u: u.grad + u.grad.T + u.grad.trace() * torch.eye(2, dtype=x.dtype),
        boundary={
            "bottom": pc.Dirichlet([0.0, 0.0]),
            "top": pc.Dirichlet([0.0, 1.0]),
            "left": pc.Dirichlet(lambda x: torch.stack([0 * x[1], x[1]])),
            "right": pc.Natural(lambda x, n, u: torch.stack([n[0], 0 * n[0]])),
            "initial": pc.Initial(lambda x: torch.stack([0 * x[1], x[1]])),
        },
    )
    solution = pc.solve(problem, **{**DISCRETE, "cells": (2, 2)}, steps=2, iterations=2)
    sideways, up = solution.flux("bottom", "u", t=0.5)
    assert abs(float(sideways)) < 1e-6
    assert float(up) == pytest.approx(-3.0, abs=1e-6)


@pytest.mark.parametrize("time", ["slabs", "simplex"])
def test_other_ways_to_treat_time(time):
    """Slabs have steps; simplices have none, and say so."""
    solution = pc.solve(rod(), cells=(10,), degree=2, **{**ROUGH, "iterations": 20}, time=time, steps=8)
    found = solution.integrate(lambda x, u: u.value, t=0.5)
    assert float(found) == pytest.approx(2 / PI * decay(0.5), rel=0.02)
    total = solution.integrate(lambda x, u: u.value, t=(0, 1))
    assert float(total) == pytest.approx(2 / PI * (1 - decay(1)) / (0.1 * PI**2), rel=0.02)
    if time == "slabs":
        assert 2 / PI * decay(0.5) in found
        return
    assert found.error is None
    assert "no steps" in found.how
    slope = np.diff(solution([[0.0, 0.5], [1e-6, 0.5]]))[0] / 1e-6  # a network's own slopes are rough
    through = solution.flux("left", t=0.5)
    assert float(through) == pytest.approx(-0.1 * slope, rel=1e-3)
    assert "by gradients" in through.how
    assert solution.maximum(t=0.5).place == pytest.approx((0.5,), abs=0.05)


def test_a_loaded_solution_has_them_too(tmp_path):
    heat().save(tmp_path / "run")
    found = pc.load(tmp_path / "run").integrate(lambda x, u: u.value, t=0.5, problem=rod())
    assert float(found) == pytest.approx(float(heat().integrate(lambda x, u: u.value, t=0.5)), rel=1e-12)
    assert found.error > 0


@pytest.mark.parametrize("t", [None, 2.0, -0.1, "noon", (0.0, 0.5, 1.0), (0.5, 0.2), (0.0, math.nan)])
def test_times_that_are_none_are_refused(t):
    with pytest.raises(PcpinnError, match=r"no (time of the solution|span of time)"):
        heat().integrate(lambda x, u: u.value, t=t)


def test_an_extreme_has_one_moment():
    with pytest.raises(PcpinnError, match="at one moment"):
        heat().maximum(t=(0, 1))


def test_the_marches_of_a_plan_are_not_made_again(monkeypatch):
    """They chose mesh and steps, and are what quantities are computed on."""
    solution = pc.solve(rod(), accuracy=5e-2, device="cpu")
    marched = importlib.import_module("pcpinn.solve.quantity.marched")
    monkeypatch.setattr(marched, "march_discrete", None)
    assert 2 / PI * decay(0.4) in solution.integrate(lambda x, u: u.value, t=0.4)


FLUXES = {  # u = 0 at first, 1 on the left: what has come in, and what comes in
    0.3: lambda: 0.1 + 0.2 * sum(math.exp(-0.1 * (n * PI) ** 2 * 0.3) for n in range(1, 40)),
    (0.1, 1.0): lambda: (
        0.09
        + 2
        * sum((math.exp(-0.01 * (n * PI) ** 2) - math.exp(-0.1 * (n * PI) ** 2)) / (n * PI) ** 2 for n in range(1, 200))
    ),
}


@pytest.mark.parametrize("t", FLUXES)
def test_mesh_and_steps_for_a_quantity(t):
    """Values at the start contradict those at the side; the verdict is on what comes in later."""
    problem = pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: 0.1 * u.grad,
        boundary={"left": pc.Dirichlet(1.0), "right": pc.Dirichlet(0.0), "initial": pc.Initial(0.0)},
    )
    solution = pc.solve(problem, quantity=pc.Flux("left", t=t), accuracy=1e-4, device="cpu")
    (found,) = (pc.Quantity(**q) for q in solution.result["quantity"])
    assert solution.verdict.reached
    assert "of the flux through 'left'" in solution.verdict.message
    assert solution.verdict.estimate == pytest.approx(found.error / abs(found.value))
    assert FLUXES[t]() in found
    assert found.error < 1e-4 * abs(found.value)
    assert float(solution.flux("left", t=t)) == found.value


def test_quantities_over_time_need_a_time():
    for t, words in ((None, "no time of the solution"), (3.0, "no time of the solution")):
        with pytest.raises(PcpinnError, match=words):
            pc.solve(rod(), quantity=pc.Flux("left", t=t))
    with pytest.raises(PcpinnError, match="left to the solver"):
        pc.solve(rod(), quantity=pc.Flux("left", t=0.5), time="march", steps=4, cells=(4,))
    steady = pc.Problem(
        pc.Interval(0, 1), flux=lambda x, u: u.grad, boundary={"left": pc.Dirichlet(0.0), "right": pc.Neumann(1.0)}
    )
    with pytest.raises(PcpinnError, match="no time of its own"):
        pc.solve(steady, quantity=pc.Flux("left", t=0.5))


RING = 2 * PI


def test_periodic_sides_have_their_fluxes():
    """u = 1 + exp(-k^2 t / 100) sin(k (x - t)) on a ring: what goes round flows out on one side and in on the other."""
    problem = pc.Problem(
        pc.Interval(0, 1).over(0, 0.2),
        density=lambda x, u: u.value,
        flux=lambda x, u: 0.01 * u.grad - u.value,
        boundary={"left": pc.Periodic("right"), "initial": pc.Initial(lambda x: 1 + torch.sin(RING * x[0]))},
    )
    solution = pc.solve(problem, **{**DISCRETE, "cells": (12,), "degree": 3}, steps=6, order=3, iterations=2)
    for t in (0.05, 0.2):
        decay = math.exp(-0.01 * RING**2 * t)
        through = 0.01 * RING * decay * math.cos(RING * t) - (1 - decay * math.sin(RING * t))
        for side, sign in (("right", 1), ("left", -1)):
            found = solution.flux(side, t=t)
            assert sign * through in found, str(found)
            assert found.error < 0.02


def test_sums_of_steps_are_times():
    """0.1 + 0.2 is more than 0.3."""
    problem = pc.Problem(
        pc.Interval(0, 1).over(0, 0.3),
        flux=lambda x, u: u.grad,
        density=lambda x, u: u.value,
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0), "initial": pc.Initial(0.0)},
    )
    solution = pc.solve(problem, **DISCRETE, steps=2, iterations=1)
    assert float(solution.value([0.5], t=0.1 + 0.2)) == 0.0


def test_a_number_that_is_zero_is_not_refined_for():
    """Nothing is to the left or to the right of the middle; the verdict says so, in no time."""
    quantity = pc.Integral(lambda x, u: u.value * (x[0] - 0.5), t=(0, 1))
    with pytest.warns(pc.PcpinnWarning, match="cannot be told from zero"):
        solution = pc.solve(rod(), quantity=quantity, accuracy=1e-2, device="cpu")
    (found,) = solution.result["quantity"]
    assert abs(found["value"]) <= found["error"] < 1e-6
    assert solution.verdict.reached is False
    assert "from t = 0 to 1" in solution.verdict.message


def test_what_a_run_was_begun_for_includes_the_moment(tmp_path):
    """A folder that was begun for one moment is not gone on with for another."""
    with pytest.raises(pc.NoAnswer):
        pc.solve(rod(), quantity=pc.Flux("left", t=0.5), out=tmp_path / "run", time_limit=1e-3, device="cpu")
    with pytest.raises(PcpinnError, match=r"begun with .*t = 0.5, not .*t = 0.7"):
        pc.solve(rod(), quantity=pc.Flux("left", t=0.7), out=tmp_path / "run", resume=True, device="cpu")
