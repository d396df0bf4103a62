"""Whole runs with a module as the network: linear, nonlinear, the ordinary PINN; certificate, folder, resume."""

import numpy as np
import pytest
import torch
from cases import Manufactured
from modules import ResNet, Siren
from small import line

from pcpinn import Dirichlet, Interval, PcpinnError, Reference, certify, load, solve
from pcpinn.baselines import solve_pinn

X = np.linspace(0, 1, 41)[:, None]
SINE = Reference(X, np.sin(np.pi * X))
CHOICES = {"cells": (8,), "degree": 3, "device": "cpu"}


def cubic():
    """-u'' + u^3 = f with u = sin(pi x) + x."""
    made = Manufactured(
        Interval(0, 1),
        flux=lambda x, u: u.grad,
        source=lambda x, u: u.value**3,
        exact=(lambda x: torch.sin(torch.pi * x[0]) + x[0],),
    )
    return made.problem({"left": Dirichlet(0.0), "right": Dirichlet(1.0)}, name="cubic")


@pytest.mark.parametrize("make", [Siren, ResNet])
def test_a_linear_problem_with_its_certificate(make):
    usual = solve(line(), reference=SINE, iterations=30, width=16, depth=2, **CHOICES)
    solution = solve(line(), reference=SINE, network=make(), iterations=30, **CHOICES)
    assert solution.errors["l2re"] < max(2 * usual.errors["l2re"], 1e-4)
    assert solution.errors["training"] < 1e-4
    assert 0.3 < certify(solution).estimate / solution.errors["l2re"] < 3
    assert solution.result["parameters"] == solution.network.parameter_count
    x = torch.tensor([[0.3]], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(solution(x).sum(), x)
    assert abs(slope.item() - np.pi * np.cos(0.3 * np.pi)) < 1e-2


def test_a_nonlinear_problem_by_newton():
    choices = {**CHOICES, "network": ResNet(), "iterations": 60, "tolerance": 1e-5}
    reference = Reference(X, np.sin(np.pi * X) + X)
    solution = solve(cubic(), reference=reference, **choices)
    assert solution.result["newton"]["iterations"] > 1
    assert solution.errors["l2re"] < 1e-4
    again = solve(cubic(), start=solution, **choices)
    assert again.result["iterations"] < 0.5 * solution.result["iterations"]


def test_a_run_is_resumed_and_loaded(tmp_path):
    whole = solve(line(), network=ResNet(), iterations=8, out=tmp_path / "whole", **CHOICES)
    solve(line(), network=ResNet(), iterations=3, out=tmp_path / "broken", **CHOICES)
    resumed = solve(line(), network=ResNet(), iterations=8, out=tmp_path / "broken", resume=True, **CHOICES)
    np.testing.assert_array_equal(resumed(X), whole(X))
    loaded = load(tmp_path / "broken", network=ResNet(seed=9))
    np.testing.assert_array_equal(loaded(X), whole(X))
    assert certify(loaded, line()).estimate == certify(whole).estimate
    with pytest.raises(PcpinnError, match=r"weights of modules\.ResNet, whose code is not kept"):
        load(tmp_path / "broken")


@pytest.mark.parametrize("hard", [False, True], ids=["soft", "hard"])
def test_the_ordinary_pinn(tmp_path, hard):
    choices = {**CHOICES, "network": Siren(), "optimiser": "lbfgs", "iterations": 150, "collocation": 60, "hard": hard}
    solution = solve_pinn(line(), reference=SINE, out=tmp_path / "run", **choices)
    assert solution.errors["l2re"] < 1e-2
    if hard:
        np.testing.assert_allclose(solution([[0.0], [1.0]]), 0.0, atol=1e-12)
    loaded = load(tmp_path / "run", network=Siren(seed=3))
    np.testing.assert_array_equal(loaded(X), solution(X))
