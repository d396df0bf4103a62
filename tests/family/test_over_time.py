"""Families over slabs of time, trained in coordinates like steady ones: answers, functions, and whole runs against formulas."""

import numpy as np
import pytest
import torch
from families import rod

import pcpinn as pc
from pcpinn.family import direct
from pcpinn.family.anchors import Anchors
from pcpinn.family.budget import Budget
from pcpinn.family.direct import direct_one_by_one, direct_solutions
from pcpinn.family.discretise import make_system
from pcpinn.family.run import FamilyRun, family_settings
from pcpinn.family.settled import dense_at_ends, snapshots
from pcpinn.precondition import LU
from pcpinn.solve.build import make_mesh

CPU = torch.device("cpu")


def rods():
    return pc.Family(rod, k=pc.Range(0.1, 0.6, log=True), b=pc.Range(-0.5, 0.5))


def steepening(nu):
    return pc.Problem(
        pc.Interval(-1, 1).over(0, 0.5),
        density=lambda x, u: u.value,
        flux=lambda x, u: nu * u.grad,
        source=lambda x, u: u.value * u.grad[0],
        boundary={
            "left": pc.Dirichlet(0.0),
            "right": pc.Dirichlet(0.0),
            "initial": pc.Initial(lambda x: -torch.sin(torch.pi * x[0])),
        },
    )


def string(a):
    """A wave of a half waves, given at the right end: one matrix for all a, and answers that oscillate with it."""
    return pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.dt,
        flux=lambda x, u: u.grad,
        boundary={
            "left": pc.Dirichlet(0.0),
            "right": pc.Dirichlet(lambda x, t: torch.sin(torch.pi * a) * torch.cos(torch.pi * a * t)),
            "initial": pc.Initial(lambda x: torch.sin(torch.pi * a * x[0]), rate=0.0),
        },
    )


def made(family, **sizes):
    settings = family_settings(family, None, sizes)
    system = make_system(family, make_mesh(family.base, settings), settings, CPU)
    anchors = Anchors(system, lambda form: LU(), 8)
    anchors.choose(2, 0.05, 0)
    return system, anchors


@pytest.mark.parametrize(
    "family",
    [rods(), pc.Family(steepening, nu=pc.Range(0.05, 0.5, log=True))],
    ids=["linear", "nonlinear"],
)
def test_answers_are_direct_solutions(family):
    system, anchors = made(family, cells=(6,), degree=2, steps=3, order=2)
    z, u = snapshots(system, anchors, 6, 0)
    exact = torch.from_numpy(direct_solutions(system, family.value(z)))
    assert len(z) == 6
    assert float(system.relative(u - exact, exact).max()) < 1e-4


def test_what_does_not_settle_is_solved_for():
    system, anchors = made(rods(), cells=(6,), degree=2, steps=3, order=2)
    anchors.steps = 1
    z, u = snapshots(system, anchors, 6, 0)
    exact = torch.from_numpy(direct_solutions(system, system.family.value(z)))
    assert float(system.relative(u - exact, exact).max()) < 1e-3


def test_more_answers_go_on_from_those_before(monkeypatch):
    few, more, most = (dense_at_ends(n, 1, 0)[:, 0] for n in (16, 48, 144))
    assert torch.equal(few, more[:16])
    assert torch.equal(more, most[:48])
    points = torch.cos(torch.pi * (torch.arange(144, dtype=torch.float64) + 0.5) / 144)
    assert torch.allclose(most.sort().values, points.sort().values)
    apart = torch.arange(144) % 8 != 7
    assert (
        float(most[apart].sort().values.arccos().diff().abs().max()) < 3.5 * torch.pi / 144
    )  # no gap where some are left out
    system, anchors = made(pc.Family(steepening, nu=pc.Range(0.05, 0.5)), cells=(6,), degree=2, steps=2, order=2)
    budget = Budget()
    first = snapshots(system, anchors, 3, 0, budget)
    z, u = snapshots(system, anchors, 9, 0, budget, first)
    assert budget.done["snapshots"] == 9 == len(z)
    assert torch.equal(u[:3], first[1])
    seen = []
    monkeypatch.setattr(direct, "_at", lambda s, mu, start=None: seen.append(start) or np.zeros(s.size))
    list(direct_one_by_one(system, z[3:4] + 1e-3, (z[:4], np.arange(4.0)[:, None].repeat(system.size, 1))))
    assert seen[0][0] == 3.0  # the nearest of those before


def test_one_matrix_over_slabs_is_factorised_once(monkeypatch):
    count = []
    monkeypatch.setattr(direct, "Factors", lambda A, real=direct.Factors: count.append(1) or real(A))
    family = pc.Family(string, a=pc.Range(1, 2))
    system, _ = made(family, cells=(4,), degree=2, steps=4, order=2, scheme="gauss")
    u = direct_solutions(system, family.sample(3, seed=0))
    assert len(count) == 1
    left = system.residual(torch.from_numpy(u), family.sample(3, seed=0))
    assert float(left.abs().max()) < 1e-9
    other, _ = made(rods(), cells=(4,), degree=2, steps=2, order=2)
    count.clear()
    direct_solutions(other, rods().sample(3, seed=0))
    assert len(count) == 3


def test_heat_from_choice_to_answer(tmp_path):
    family = rods()
    choices = {"cells": (8,), "degree": 3, "steps": 5, "validation": 8, "device": "cpu"}
    surrogate = pc.solve(family, accuracy=1e-2, time_limit=60, **choices)
    assert surrogate.result["family"]["loss"] == "spanned"
    assert surrogate.verdict.reached
    x = np.random.default_rng(0).random((200, 2)) * [1, 0.5]
    for k, b in ((0.11, -0.4), (0.3, 0.2), (0.58, 0.5)):
        one, two = (np.sin(n * np.pi * x[:, 0]) * np.exp(-((n * np.pi) ** 2) * k * x[:, 1]) for n in (1, 2))
        exact = one + b * two
        error = np.linalg.norm(surrogate(x, [k, b]) - exact) / np.linalg.norm(exact)
        assert error < 1e-2
        assert 0.3 * error < float(surrogate.estimate([k, b])) < 3 * error


def test_resumed_training_is_the_same(tmp_path):
    family = pc.Family(steepening, nu=pc.Range(0.05, 0.5, log=True))
    choices = {"cells": (6,), "degree": 2, "time": pc.Slabs(steps=3, order=2), "validation": 4, "device": "cpu"}
    choices |= {"accuracy": None, "loss": "spanned", "snapshots": 8, "samples": 4}
    whole = pc.solve(family, **choices, iterations=9)
    pc.solve(family, **choices, iterations=4, out=tmp_path / "run")
    resumed = pc.solve(family, **choices, iterations=9, out=tmp_path / "run", resume=True)
    assert torch.equal(whole.network.theta, resumed.network.theta)


def test_answers_that_oscillate_get_more_of_them_and_waves_for_units():
    family = pc.Family(string, a=pc.Range(1, 8))
    sizes = {"cells": (8,), "degree": 4, "steps": 12, "order": 3, "scheme": "gauss", "device": "cpu", "time_limit": 120}
    run = FamilyRun(family, family_settings(family, None, sizes))
    assert run.own.facts["set_up"]["snapshots"] == 48
    assert run.answers.left < 5e-3
    assert run.settings.network.activation == "sin"
    assert run.loss.trunk_error < 1e-2
