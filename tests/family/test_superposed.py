"""Families whose answers are affine in their parameters: found by measurement, trained over all parameters at once."""

import itertools

import numpy as np
import pytest
import torch
from families import true_error

import pcpinn as pc
from pcpinn.family.anchors import Anchors
from pcpinn.family.direct import direct_solutions
from pcpinn.family.discretise import assembled_once, make_system
from pcpinn.family.nodal import NodalNetwork
from pcpinn.family.run import family_settings
from pcpinn.family.superposed import SuperposedLoss
from pcpinn.family.superposition import answers_are_affine, superposition
from pcpinn.mesh.generate import generate_mesh
from pcpinn.network.recipe import Place
from pcpinn.precondition import LU
from pcpinn.train import GaussNewton

CHOICES = {"cells": (5, 5), "degree": 3, "device": "cpu"}


def waves(x):
    return torch.stack([torch.sin((k + 1) * torch.pi * x[0]) * x[1] for k in range(3)])


def plate(f, g, coefficient=None):
    """A source of three waves and a number on one side."""
    return pc.Problem(
        pc.Rectangle((0, 0), (1, 1)),
        flux=lambda x, u: (1 + x[0]) * (1 if coefficient is None else coefficient) * u.grad,
        source=lambda x, u: u.value - 10 * f(x),
        boundary={
            "left": pc.Dirichlet(lambda x: g * x[1] ** 2),
            "right": pc.Dirichlet(0.0),
            "bottom": pc.Dirichlet(0.0),
            "top": pc.Neumann(g * 0.5),
        },
    )


def plates(**more):
    return pc.Family(plate, f=pc.Basis(waves, pc.Normal(0.3, 1, count=3)), g=pc.Range(-1, 2), **more)


@pytest.fixture(scope="module")
def system():
    family = plates()
    settings = family_settings(family, None, CHOICES)
    return make_system(family, generate_mesh(family.base.domain, cells=(5, 5)), settings, torch.device("cpu"))


@pytest.fixture
def anchors(system):
    made = Anchors(system, lambda form: LU(), 8)
    made.choose(1, 0.05, 0)
    return made


def made_affine(family):
    settings = family_settings(family, None, CHOICES)
    mesh = generate_mesh(family.base.domain, cells=(3, 3))
    return answers_are_affine(make_system(family, mesh, settings, torch.device("cpu")))


def test_what_is_affine_is_found():
    flat, basis = pc.Range(1, 2), pc.Basis(waves, pc.Normal(0, 1, count=3))
    assert made_affine(plates())
    assert not made_affine(pc.Family(plate, f=basis, g=flat, coefficient=flat))  # the matrix changes
    assert not made_affine(pc.Family(lambda f, g: plate(f, g**2), f=basis, g=flat))  # the right side is bent
    assert not made_affine(pc.Family(plate, f=basis, g=pc.Range(0.1, 10, log=True)))  # the network sees the logarithm


def warm_bar(k, g, stiffness=2e11):
    """Heat and displacement in SI units: rows of one are 1e11 times as large as those of the other."""
    return pc.Problem(
        pc.Rectangle((0, 0), (1, 1)),
        fields=["T", "u"],
        flux=lambda x, T, u: (k * T.grad, stiffness * (u.grad - 1e-5 * T.value)),
        source=lambda x, T, u: (-1.0, None),
        boundary={
            "left": {"T": pc.Dirichlet(0.0), "u": pc.Dirichlet(0.0)},
            "right": {"T": pc.Dirichlet(0.0), "u": pc.Neumann(0.0)},
            "bottom": {"T": pc.Neumann(0.0), "u": pc.Neumann(0.0)},
            "top": {"T": pc.Neumann(lambda x: g), "u": pc.Neumann(0.0)},
        },
    )


def test_rows_of_small_units_count():
    fixed, given = pc.Range(1, 2), torch.tensor(1.0, dtype=torch.float64)
    assert made_affine(pc.Family(lambda g: warm_bar(given, g), g=fixed))
    assert not made_affine(pc.Family(lambda k: warm_bar(k, given), k=fixed))
    assert not made_affine(pc.Family(lambda g: warm_bar(given, g**2), g=fixed))


def test_sums_are_the_direct_solutions(system, anchors):
    answers = superposition(system, anchors)
    z = system.family.scaled(system.family.sample(3, seed=1))
    exact = torch.from_numpy(direct_solutions(system, system.family.value(z)))
    parts = torch.cat([torch.ones(3, 1, dtype=torch.float64), (z - answers.mean) / answers.std], 1)
    assert torch.allclose(parts @ answers.v, exact, atol=1e-10)
    drawn = system.family.scaled(system.family.sample(20_000, seed=2))
    assert torch.allclose(answers.mean, drawn.mean(0), atol=0.02)
    assert torch.allclose(answers.std, drawn.std(0), rtol=0.03)


def test_one_matrix_and_its_right_sides_are_those_of_all(system):
    family = system.family
    settings = family_settings(family, None, CHOICES | {"loss": "superposed"})
    once = make_system(family, generate_mesh(family.base.domain, cells=(5, 5)), settings, torch.device("cpu"))
    once = assembled_once(once, settings)
    assert once.one_matrix
    mu, v = family.sample(4, seed=3), torch.rand(4, system.size, dtype=torch.float64)
    assert torch.allclose(once.right_side(mu), system.right_side(mu), atol=1e-12)
    (A, at_rest), (B, rest) = once.linearise_with(None, mu), system.linearise_with(None, mu)
    assert torch.allclose(A.apply(v), B.apply(v), atol=1e-12)
    assert torch.allclose(at_rest, rest, atol=1e-12)


@pytest.fixture
def loss(system, anchors):
    recipe = pc.TrunkBranch(width=7, depth=1, features="none", initialisation="spread", branch_depth=0)
    network = recipe.build_family(Place([0, 0], [1, 1], 1), 4, 0, torch.float64)
    return SuperposedLoss(network, system, anchors, superposition(system, anchors))


def test_loss_is_the_mean_over_parameters(loss, system):
    """Against many samples: relative to the mean square of the answers."""
    value = loss.value()
    z = system.family.scaled(system.family.sample(20_000, seed=5))
    parts = torch.cat([torch.ones(len(z), 1, dtype=torch.float64), (z - loss.answers.mean) / loss.answers.std], 1)
    exact = parts @ loss.answers.v
    e = NodalNetwork(loss.network, system.nodes).values(z) - exact
    sampled = system.norm(e).square().mean() / system.norm(exact).square().mean()
    assert 2 * value == pytest.approx(float(sampled), rel=0.05)
    assert float(loss.loss().detach()) == pytest.approx(
        value, rel=1e-6
    )  # the last layer is the best one, slightly damped


def test_gradient_and_curvature(loss):
    """The gradient against differences of the loss with the last layer solved for; steps of Gauss-Newton that go down."""
    state = GaussNewton().start(loss, 0)
    model = loss.model_here(GaussNewton(), state)
    theta, random = loss.theta.detach().clone(), torch.Generator().manual_seed(0)
    way = torch.zeros_like(theta)
    way[:21] = torch.randn(21, generator=random, dtype=torch.float64)
    values = []
    for h in (1e-5, -1e-5):
        with torch.no_grad():
            loss.theta.copy_(theta + h * way)
        values.append(loss.value())
    with torch.no_grad():
        loss.theta.copy_(theta)
    assert float(model.gradient @ way) == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-3)
    assert not model.gradient[21:].any()
    course = [GaussNewton().step(loss, state) for _ in range(12)]
    assert all(b <= a for a, b in itertools.pairwise(course))
    assert course[-1] < 0.5 * model.loss


def test_from_choice_to_answer(tmp_path):
    family = plates()
    surrogate = pc.solve(family, accuracy=1e-2, out=tmp_path / "run", **CHOICES)
    facts = surrogate.result["family"]
    assert surrogate.verdict.reached
    assert facts["loss"] == "superposed"
    assert "affine" in facts["network"]["why"]
    for mu in family.sample(3, seed=7):
        assert true_error(surrogate, family, mu, (12, 12)) < 1e-2
    back = pc.load(tmp_path / "run")
    mu = family.sample(1, seed=7)[0].numpy()
    x = np.array([[0.3, 0.4], [0.7, 0.9]])
    assert np.allclose(back(x, mu), surrogate(x, mu))
    assert back.estimate(mu, family).total == pytest.approx(surrogate.estimate(mu).total, rel=1e-6)


def test_resumed_training_is_the_same(tmp_path):
    choices = CHOICES | {"accuracy": None, "validation": 8}
    whole = pc.solve(plates(), **choices, iterations=12)
    pc.solve(plates(), **choices, iterations=5, out=tmp_path / "run")
    resumed = pc.solve(plates(), **choices, iterations=12, out=tmp_path / "run", resume=True)
    assert torch.equal(whole.network.theta, resumed.network.theta)


@pytest.mark.parametrize("given", [{"samples": 8}, {"width": 8}, {"sample": 500}])
def test_what_only_samples_have_keeps_them(given):
    choices = CHOICES | {"cells": (3, 3), "accuracy": None, "validation": 4, "iterations": 1}
    assert pc.solve(plates(), **choices, **given).result["family"]["loss"] == "sampled"


def test_refused():
    few = CHOICES | {"cells": (3, 3)}
    with pytest.raises(pc.PcpinnError, match="affine"):
        pc.solve(pc.Family(lambda a: plate(lambda x: x[0], a**2), a=pc.Range(1, 2)), loss="superposed", **few)
    with pytest.raises(pc.PcpinnError, match="one hidden layer"):
        pc.solve(plates(), loss="superposed", network="trunk-branch", **few)
    with pytest.raises(pc.PcpinnError, match="sample"):
        pc.solve(plates(), loss="superposed", sample=500, **few)
