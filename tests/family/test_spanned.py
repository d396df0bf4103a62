"""Families whose answers have a few functions of the place in common: these first, then a branch for their coordinates."""

import itertools

import numpy as np
import pytest
import torch
from families import true_error

import pcpinn as pc
from pcpinn.family.anchors import Anchors
from pcpinn.family.direct import direct_solutions
from pcpinn.family.discretise import make_system
from pcpinn.family.nodal import NodalNetwork
from pcpinn.family.run import FamilyRun, family_settings
from pcpinn.family.sensed import sensing_layer
from pcpinn.family.settled import settled, snapshots
from pcpinn.family.span import span_of
from pcpinn.files import read_json
from pcpinn.mesh.generate import generate_mesh
from pcpinn.precondition import LU
from pcpinn.train import Adam

CHOICES = {"cells": (4, 4), "degree": 2, "device": "cpu"}
SIDES = ("left", "right", "bottom", "top")


def waves(x):
    return torch.stack([torch.cos(torch.pi * x[0]), torch.cos(torch.pi * x[1]), x[0] * x[1]])


def plate(a, s, cubic=0.0):
    """Conductivity by the exponential of a function, some wind, a number in the source, and perhaps a nonlinear sink."""
    return pc.Problem(
        pc.Rectangle((0, 0), (1, 1)),
        flux=lambda x, u: torch.exp(a(x)) * u.grad,
        source=lambda x, u: cubic * u.value**3 + 0.3 * u.grad[0] - 5 - s,
        boundary=dict.fromkeys(SIDES, pc.Dirichlet(0.0)),
    )


def plates(cubic=0.0, **more):
    a = pc.Basis(waves, pc.Normal(0, 0.4, count=3))
    return pc.Family(lambda a, s: plate(a, s, cubic), a=a, s=pc.Range(-1, 2), **more)


def made(family, steps=8):
    settings = family_settings(family, None, CHOICES)
    system = make_system(family, generate_mesh(family.base.domain, cells=(4, 4)), settings, torch.device("cpu"))
    anchors = Anchors(system, lambda form: LU(), steps)
    anchors.choose(1, 0.05, 0)
    return system, anchors


@pytest.mark.parametrize("cubic", [0.0, 30.0])
def test_corrections_settle_at_direct_solutions(cubic, monkeypatch):
    system, anchors = made(plates(cubic))
    z = system.family.scaled(system.family.sample(4, seed=1))
    exact = torch.from_numpy(direct_solutions(system, system.family.value(z)))
    found = settled(system, anchors, z)
    assert torch.allclose(found.u, exact, atol=1e-8)
    with monkeypatch.context() as patch:
        patch.setattr("pcpinn.family.settled._ON_CPU", 3 * system.size)  # three, then one
        parts = settled(system, anchors, z)
        again = settled(system, anchors, z, exact, tolerance=1e-6)
    assert torch.allclose(parts.u, exact, atol=1e-8)
    assert parts.first == pytest.approx(found.first)
    assert again.first.shape == (4,)
    assert float(again.first.max()) < 1e-8
    assert float(found.last.max()) < 1e-9 < float(found.first.min())
    assert float(settled(system, anchors, z, exact, tolerance=1e-6).first.max()) < 1e-8
    at, u = snapshots(system, anchors, 5, 0)
    near = torch.from_numpy(direct_solutions(system, system.family.value(at)))
    assert len(at) == 5
    assert torch.allclose(u, near, rtol=1e-3, atol=1e-5)


def test_functions_span_answers_that_they_were_not_made_of():
    system, anchors = made(plates())
    z, u = snapshots(system, anchors, 48, 0)
    span = span_of(system, z, u, 1e-3, 30)
    assert 3 < span.count < 30
    assert torch.allclose(span.V @ span.D, torch.eye(span.count, dtype=torch.float64), atol=1e-8)
    other = torch.from_numpy(direct_solutions(system, system.family.sample(6, seed=9)))
    left = system.relative(other @ span.D @ span.V - other, other)
    assert float(left.mean()) < 1e-2
    assert float(left.mean()) == pytest.approx(span.left, rel=2)
    assert span_of(system, z, u, 1e-3, 4).count == 4
    off = 0.01 * span.V[:1]  # an error of one coordinate counts relative to its answer
    relative = system.relative(off.expand(6, -1), other)
    assert torch.allclose(0.01 * span.weights(system, z[:6], other)[:, 0], relative, rtol=1e-6)


def test_units_sense_functions_where_they_are():
    family = plates()
    places = torch.rand(50, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    weight, bias = torch.full((8, 4), 7.0, dtype=torch.float64), torch.zeros(8, dtype=torch.float64)
    assert sensing_layer(family, places, weight, bias, 0) == 6  # three of the four numbers are coefficients
    assert (weight[6:] == 7).all()
    z = family.scaled(family.sample(20, seed=3))
    field = torch.stack([torch.func.vmap(lambda x, c=c: waves(x) @ c)(places) for c in family.value(z)[:, :3]])
    for unit in (z @ weight.T + bias)[:, :6].T:  # each is the function at one of the places, up to its slope
        ratio = unit[:, None] / field
        assert float((ratio.std(0) / ratio.mean(0).abs()).min()) < 1e-9
    assert sensing_layer(pc.Family(lambda s: plate(lambda x: x[0], s), s=pc.Range(0, 1)), places, weight, bias, 0) == 0


@pytest.fixture(scope="module")
def begun():
    loss = {"loss": "spanned", "snapshots": 40, "samples": 8, "steps": 20, "batch": 16}
    return FamilyRun(plates(), family_settings(plates(), None, CHOICES | loss | {"accuracy": None}))


def test_network_is_trunk_and_coordinates(begun):
    """What is published is the perceptron of coordinates followed by the functions, as far as the trunk fits them."""
    loss = begun.loss
    assert loss.trunk_error < 5e-3
    loss.adapt(0)
    z = begun.family.scaled(begun.family.sample(5, seed=2))
    values = NodalNetwork(begun.network, begun.system.nodes).values(z)
    mean = (loss.span.u @ loss.span.D).mean(0)  # the first answer is near that for all parameters
    assert float(begun.system.relative(values - mean @ loss.span.V, values).max()) < 0.6
    y = values @ loss.span.D
    assert float(begun.system.relative(y @ loss.span.V - values, values).max()) < 2 * loss.trunk_error


def test_loss_is_the_error_of_the_pool_and_falls(begun):
    loss = begun.loss
    loss.adapt(0)
    pool_z, pool_y, weight = (p[: loss._drawn] for p in loss._pool)
    assert loss._drawn == 48
    u = torch.from_numpy(direct_solutions(begun.system, begun.family.value(pool_z)))
    assert torch.allclose(pool_y, u @ loss.span.D, atol=1e-3)
    rows = loss._order[0]
    values = NodalNetwork(begun.network, begun.system.nodes).values(pool_z[rows])
    off = (values @ loss.span.D - pool_y[rows]) * weight[rows]
    assert float(loss.loss().detach()) == pytest.approx(0.5 * float(off.square().sum(1).mean()), rel=0.05)
    state = Adam().start(loss, 0)
    course = []
    for k in range(200):
        loss.adapt(k)
        course.append(Adam(learning_rate=3e-3).step(loss, state))
    assert np.mean(course[-20:]) < 0.1 * np.mean(course[:20])
    assert loss.fresh[-1] < 0.5 * loss.fresh[0]


@pytest.mark.parametrize("cubic", [0.0, 30.0])
def test_from_choice_to_answer(tmp_path, cubic):
    family = plates(cubic)
    more = {"loss": "spanned", "snapshots": 48} if cubic else {}
    surrogate = pc.solve(family, accuracy=0.1, out=tmp_path / "run", **CHOICES, **more)
    facts = surrogate.result["family"]
    assert surrogate.verdict.reached
    assert facts["loss"] == "spanned"
    assert surrogate.settings["optimiser"]["name"] == "adam"
    assert "functions of the place in common" in facts["network"]["why"]
    for mu in family.sample(3, seed=7):
        assert true_error(surrogate, family, mu, (10, 10)) < 0.1
    back = pc.load(tmp_path / "run")
    mu, x = family.sample(1, seed=7)[0].numpy(), np.array([[0.3, 0.4], [0.7, 0.9]])
    assert np.allclose(back(x, mu), surrogate(x, mu))
    assert back.estimate(mu, family).total == pytest.approx(surrogate.estimate(mu).total, rel=1e-6)
    assert np.allclose(surrogate.at(mu)(x), surrogate(x, mu))


def test_resumed_training_is_the_same(tmp_path):
    choices = CHOICES | {
        "accuracy": None,
        "validation": 4,
        "loss": "spanned",
        "snapshots": 24,
        "samples": 4,
        "steps": 10,
    }
    whole = pc.solve(plates(), **choices, iterations=36)
    pc.solve(plates(), **choices, iterations=13, out=tmp_path / "run")
    resumed = pc.solve(plates(), **choices, iterations=36, out=tmp_path / "run", resume=True)
    assert torch.equal(whole.network.theta, resumed.network.theta)
    assert all(
        a == b for a, b in itertools.zip_longest(*(s.result["family"]["fresh_errors"] for s in (whole, resumed)))
    )


def test_a_limited_set_up_is_the_same_after_a_resume(tmp_path, monkeypatch):
    """Parts of a set-up end when their share of the time is spent; the second time where they ended before."""
    monkeypatch.setattr("pcpinn.family.settled._ON_CPU", 81 * 8)  # eight of 40 snapshots at a time
    choices = CHOICES | {
        "accuracy": None,
        "validation": 4,
        "loss": "spanned",
        "snapshots": 40,
        "samples": 4,
        "steps": 10,
    }
    first = pc.solve(plates(), **choices, iterations=10, time_limit=1e-3, force=True, out=tmp_path / "run")
    record = read_json(tmp_path / "run" / "run.json")
    assert record["set_up"] == {"snapshots": 8, "functions": 1}
    assert first.result["stopped_by"] == "time limit"
    again = FamilyRun(
        plates(), family_settings(plates(), None, choices | {"iterations": 20}), out=tmp_path / "run", resume=True
    )
    assert again.own.facts["set_up"] == record["set_up"]
    assert again.network.parameter_count == first.network.parameter_count
    assert len(again.carry_out().result["family"]["fresh_errors"]) == 2
    free = FamilyRun(plates(), family_settings(plates(), None, choices))
    assert free.own.facts["set_up"]["snapshots"] == 40
    assert free.loss.trunk_error < again.loss.trunk_error


@pytest.mark.parametrize("given", [{"samples": 8}, {"width": 8}, {"optimiser": "gauss-newton"}])
def test_what_only_samples_have_keeps_them(given):
    choices = CHOICES | {"cells": (2, 2), "accuracy": None, "validation": 4, "iterations": 1}
    assert pc.solve(plates(), **choices, **given).result["family"]["loss"] == "sampled"


def test_refused():
    few = CHOICES | {"cells": (2, 2), "loss": "spanned", "snapshots": 8}
    with pytest.raises(pc.PcpinnError, match="trunk and a branch"):
        pc.solve(plates(), network="mlp", **few)
    with pytest.raises(pc.PcpinnError, match="one hidden layer"):
        pc.solve(plates(), network="trunk-branch", depth=2, **few)
