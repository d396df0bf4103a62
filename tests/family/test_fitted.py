"""Branches of one hidden layer by Gauss-Newton, with the last layer solved for: few numbers, and many."""

import math

import pytest
import torch
from families import true_error

import pcpinn as pc
from pcpinn.family.budget import Budget
from pcpinn.family.fitted import FittedLoss
from pcpinn.family.run import FamilyRun, family_settings
from pcpinn.family.settled import choose_at, dense_at_ends, snapshots
from pcpinn.train import GaussNewton

CHOICES = {"cells": (4, 4), "degree": 2, "device": "cpu", "validation": 8}
SIDES = ("left", "right", "bottom", "top")


def stirred(a):
    """Carried around the faster, the larger a is, and nonlinear: P of the linear part serves small a alone."""

    def source(x, u):
        wind = torch.stack([x[1] - 0.5, 0.5 - x[0]])
        return a * (wind * u.grad).sum() + a * u.value**3 - 5 * (1 + x[0])

    return pc.Problem(
        pc.Rectangle((0, 0), (1, 1)),
        flux=lambda x, u: 0.2 * u.grad,
        source=source,
        boundary=dict.fromkeys(SIDES, pc.Dirichlet(0.0)),
    )


def spot(x, y):
    """A sharp spot anywhere: no few functions span such answers."""
    return pc.Problem(
        pc.Rectangle((0, 0), (1, 1)),
        flux=lambda p, u: u.grad,
        source=lambda p, u: 200 * u.value - 100 * torch.exp(-300 * ((p[0] - x) ** 2 + (p[1] - y) ** 2)),
        boundary=dict.fromkeys(SIDES, pc.Dirichlet(0.0)),
    )


def stirrings():
    return pc.Family(stirred, a=pc.Range(0.5, 20, log=True))


@pytest.fixture(scope="module")
def begun():
    loss = {"loss": "spanned", "snapshots": 12, "samples": 4, "steps": 5, "network": "trunk-branch", "depth": 1}
    loss |= {"width": 30, "branch_width": 3, "branch_depth": 1, "initialisation": "spread", "features": "none"}
    return FamilyRun(stirrings(), family_settings(stirrings(), None, CHOICES | loss | {"accuracy": None}))


def test_first_parameters_are_chebyshevs_and_spread_from_the_first():
    z = dense_at_ends(16, 1, 0)[:, 0]
    points = torch.cos(torch.pi * (torch.arange(16, dtype=torch.float64) + 0.5) / 16)
    assert torch.allclose(z.sort().values, points.sort().values)
    assert float(z[:4].sort().values.diff().max()) < 1.0
    many = dense_at_ends(256, 3, 0)
    assert many.shape == (256, 3)
    assert many.abs().max() <= 1
    assert (
        0.3 < float((many.abs() > 0.8).double().mean()) < 0.5
    )  # a fifth if they were even, 0.41 by Chebyshev's density


def test_few_answers_of_a_nonlinear_family_are_solved_from_the_nearest(begun):
    system, seen = begun.system, []
    z, u = snapshots(system, begun.anchors, 6, 0)
    choose_at((z, u), seen.append)
    assert z.shape == (6, 1)
    left = system.norm(system.residual(u, system.family.value(z))) / system.norm(
        system.right_side(system.family.value(z))
    )
    assert float(left.max()) < 1e-8
    assert torch.equal(seen[0](z[2:4]), u[2:4])  # anchors are chosen by the nearest answers
    short = Budget(limit=1e-9)
    at, _ = snapshots(system, begun.anchors, 6, 0, short)
    assert len(at) == 1 == short.done["snapshots"]


def test_the_last_layer_is_the_best_and_slopes_are_those_of_the_loss(begun):
    loss, optimiser = begun.loss, begun.optimiser
    assert isinstance(loss, FittedLoss)
    assert isinstance(optimiser, GaussNewton)
    loss.adapt(0)
    model = loss.model_here(optimiser, optimiser.start(loss, 0))
    best = loss.value()
    assert model.loss == pytest.approx(best)
    hidden = loss._shapes[0][0] * (loss._shapes[0][1] + 1)
    start, own = loss.theta.detach().clone(), loss._fit_last
    everyone = torch.ones(loss._known, dtype=torch.bool)
    assert loss._error(everyone) == pytest.approx(2 * best, rel=1e-6)
    with torch.no_grad():  # any other last layer is worse
        for k in (hidden, len(start) - 1):
            for step in (1e-3, -1e-3):
                loss.theta[k] += step
                assert loss._error(everyone) >= 2 * best
                loss.theta.copy_(start)
        direction = torch.zeros_like(start)
        direction[:hidden] = torch.randn(hidden, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        values = []
        for step in (1e-4, -1e-4):
            loss.theta.copy_(start + step * direction)
            values.append(own())
        loss.theta.copy_(start)
    slope = (values[0] - values[1]) / 2e-4
    assert float(model.gradient @ direction) == pytest.approx(slope, rel=0.05, abs=1e-3 * float(model.gradient.norm()))
    assert not model.gradient[hidden:].any()


def test_one_parameter_from_choice_to_answer(tmp_path):
    """Chosen by itself, in one go, to the accuracy of the mesh; resumed it is the same."""
    family, choices = stirrings(), CHOICES | {"cells": (6, 6), "degree": 3}
    surrogate = pc.solve(family, accuracy=1e-2, out=tmp_path / "run", **choices)
    facts = surrogate.result["family"]
    assert surrogate.verdict.reached
    assert facts["loss"] == "spanned"
    assert facts["fresh_errors"][-1] < 3e-3
    assert surrogate.result["optimiser"] == "gauss-newton"
    for mu in family.sample(3, seed=7):
        assert true_error(surrogate, family, mu, (12, 12)) < 1e-2
    more = choices | {"loss": "spanned", "snapshots": 8, "samples": 4, "steps": 3, "accuracy": None}
    whole = pc.solve(family, **more, iterations=9)
    pc.solve(family, **more, iterations=4, out=tmp_path / "two")
    resumed = pc.solve(family, **more, iterations=9, out=tmp_path / "two", resume=True)
    assert torch.equal(whole.network.theta, resumed.network.theta)


def test_answers_that_few_functions_do_not_span_get_a_perceptron():
    family = pc.Family(spot, x=pc.Range(0.1, 0.9), y=pc.Range(0.1, 0.9, log=True))
    settings = family_settings(family, None, CHOICES | {"cells": (10, 10), "time_limit": 60.0})
    run = FamilyRun(family, settings)
    assert run.settings.loss.name == "sampled"
    assert run.settings.network.name == "mlp"
    assert run.answers is None


def test_many_numbers_get_one_layer_and_all_of_the_pool():
    def plate(mu):
        def coefficient(x):
            waves = [torch.cos(math.pi * (i * x[0] + j * x[1])) for i in range(3) for j in range(3)]
            return torch.exp(0.4 * mu @ torch.stack(waves))

        return pc.Problem(
            pc.Rectangle((0, 0), (1, 1)),
            flux=lambda x, u: coefficient(x) * u.grad,
            source=lambda x, u: u.grad[0] - 1.0,  # matrices are not symmetric: no branch solves with them
            boundary=dict.fromkeys(SIDES, pc.Dirichlet(0.0)),
        )

    family = pc.Family(plate, mu=pc.Range(-1, 1, count=9))
    surrogate = pc.solve(family, accuracy=0.1, time_limit=60, **CHOICES)
    assert surrogate.result["family"]["loss"] == "spanned"
    assert surrogate.settings["network"]["branch_depth"] == 1
    assert surrogate.result["set_up"]["draws"] * 64 + 256 >= 4 * surrogate.settings["network"]["branch_width"]
    assert surrogate.result["set_up"]["draws"] > 0
    assert surrogate.verdict.reached
    for mu in family.sample(3, seed=7):
        assert true_error(surrogate, family, mu, (10, 10)) < 0.1


def test_refused():
    few = CHOICES | {"loss": "spanned", "snapshots": 6}
    with pytest.raises(pc.PcpinnError, match="one hidden layer"):
        pc.solve(
            stirrings(), network="trunk-branch", depth=1, width=20, branch_depth=2, optimiser="gauss-newton", **few
        )
    with pytest.raises(pc.PcpinnError, match="exact matrix of its branch"):
        pc.solve(stirrings(), matrix="gram", **few)
    with pytest.raises(pc.PcpinnError, match="hidden weights of the branch"):
        pc.solve(stirrings(), network="trunk-branch", depth=1, width=20, branch_width=20_000, branch_depth=1, **few)


def test_trunks_see_corners():
    """Features beside coordinates are inputs of the trunk's units, too."""
    choices = CHOICES | {"corners": [(0.0, 0.0)], "corner_size": 0.1, "accuracy": None, "time_limit": 60.0}
    run = FamilyRun(stirrings(), family_settings(stirrings(), None, choices))
    assert run.settings.loss.name == "spanned"
    assert run.answers.units.weight.shape[1] == 2 + 3
    assert run.loss.trunk_error < 2e-2  # at nodes and, since units are steeper than these few cells, between them
