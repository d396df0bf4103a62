"""Elliptic families: the equations in the span of answers are weights of a branch, which then learns from answers."""

import math

import numpy as np
import pytest
import torch
from families import true_error

import pcpinn as pc
from pcpinn.family.anchors import Anchors
from pcpinn.family.direct import direct_solutions
from pcpinn.family.discretise import make_system
from pcpinn.family.reduced import coefficients, grouped_cells, is_elliptic, reduced_equations
from pcpinn.family.run import FamilyRun, family_settings
from pcpinn.family.span import span_of
from pcpinn.mesh.generate import generate_mesh
from pcpinn.precondition import LU
from pcpinn.train import Adam

CHOICES = {"cells": (4, 4), "degree": 2, "device": "cpu"}
SIDES = ("left", "right", "bottom", "top")


def plate(mu, wind=0.0, bent=0.0, turned=0.0, even=0.0, sink=0.0):
    """Conductivity by the exponential of waves, a Robin condition with a coefficient; perhaps what is not elliptic."""

    def flux(x, u):
        waves = torch.stack([torch.cos(math.pi * x[0]), torch.cos(math.pi * x[1]), x[0] * x[1]])
        along = turned * mu[4] * torch.stack([u.grad[0], -u.grad[1]])
        return torch.exp(0.5 * (mu[:3] @ waves)) * (u.grad + along)

    top = pc.Robin(2.5 + mu[4] + (even * mu[4]) ** 2, 0.0)
    return pc.Problem(
        pc.Rectangle((0, 0), (1, 1)),
        flux=flux,
        source=lambda x, u: wind * u.grad[0] + sink * u.value - 1 - mu[3] - bent * mu[3] ** 2,
        boundary=dict.fromkeys(("left", "bottom", "right"), pc.Dirichlet(0.0)) | {"top": top},
    )


def plates(**more):
    return pc.Family(lambda mu: plate(mu, **more), mu=pc.Range(-1, 1, count=5))


def made(family, answers=60):
    settings = family_settings(family, None, CHOICES)
    system = make_system(family, generate_mesh(family.base.domain, cells=(4, 4)), settings, torch.device("cpu"))
    z = family.scaled(family.sample(answers, seed=3))
    u = torch.from_numpy(direct_solutions(system, family.value(z)))
    return system, span_of(system, z, u, 1e-3, 12)


def test_coefficients_are_means_over_groups():
    system, _ = made(plates(), 16)
    groups = grouped_cells(system, 8)
    assert len(torch.cat(groups.of).unique()) == groups.count == 8
    mu = torch.tensor([[0.0, 0.0, 0.0, 0.3, 0.5]], dtype=torch.float64)
    J = coefficients(system, groups, system.family.scaled(mu))[0]
    walls = [k for k, (_, batch) in zip(groups.of, system.parts, strict=True) if batch.normals is not None]
    robin = int(walls[0][0])
    cells = [k for k in range(8) if k != robin]
    assert torch.allclose(J[cells], torch.diag(torch.tensor([0.0, 1.0, 1.0], dtype=torch.float64)).expand(7, 3, 3))
    assert torch.allclose(J[robin], torch.diag(torch.tensor([3.0, 0.0, 0.0], dtype=torch.float64)))


def test_coefficients_that_units_do_not_learn():
    system, span = made(plates(even=3.0), 16)
    assert is_elliptic(system, span, 0)
    assert reduced_equations(system, span, 12, 3, 0) is None


@pytest.mark.parametrize("more", [{"wind": 3.0}, {"bent": 1.0}, {"turned": 0.9}])
def test_what_is_not_elliptic_is_found(more):
    """Matrices that are not symmetric, right sides that are bent, coefficients that change their kind."""
    system, span = made(plates(), 16)
    assert is_elliptic(system, span, 0)
    other, span = made(plates(**more), 16)
    assert not is_elliptic(other, span, 0)


@pytest.mark.parametrize("sink", [0.0, 30.0])  # one that no parameter changes
def test_with_all_cells_and_rows_it_is_galerkins_method(sink):
    system, span = made(plates(sink=sink))
    cells = sum(len(batch.dx) for _, batch in system.parts if batch.normals is None)
    reduced = reduced_equations(system, span, cells + 1, span.count, 0)
    z = system.family.scaled(system.family.sample(5, seed=9))
    mu = system.family.value(z)
    A = torch.stack([torch.from_numpy(system.linearise(None, mu).to_scipy(s).toarray()) for s in range(5)])
    exact = torch.linalg.solve(span.V @ A @ span.V.T, (system.right_side(mu) @ span.V.T)[..., None])[..., 0]
    off = system.relative((reduced.solution(z) - exact) @ span.V, exact @ span.V)
    assert float(off.max()) < 0.02  # conductivities are means over cells, and units are fitted


def test_training_takes_off_what_groups_leave():
    loss = {
        "loss": "spanned",
        "snapshots": 40,
        "samples": 16,
        "modes": 10,
        "network": "trunk-solve",
        "places": 10,
        "place_rows": 3,
    }
    settings = family_settings(plates(), None, CHOICES | loss | {"depth": 1, "features": "none", "accuracy": None})
    run = FamilyRun(plates(), settings)
    assert run.network.branch == (10, 3, run.answers.count)
    adam = Adam(learning_rate=2e-3)
    state, course = adam.start(run.loss, 0), []
    for k in range(60):
        run.loss.adapt(k)
        course.append(adam.step(run.loss, state))
    assert np.mean(course[-10:]) < 0.3 * course[0]
    z = run.loss._pool[0][:8]
    assert torch.allclose(run.loss._coordinates(z), run.loss._reduced(run.loss._theta).solution(z))


def test_from_choice_to_answer(tmp_path):
    family = plates()
    more = {"loss": "spanned", "snapshots": 40, "iterations": 40, "validation": 8}
    surrogate = pc.solve(family, accuracy=0.05, out=tmp_path / "run", **CHOICES, **more)
    assert surrogate.verdict.reached
    assert surrogate.settings["network"]["name"] == "trunk-solve"
    for mu in family.sample(3, seed=7):
        assert true_error(surrogate, family, mu, (10, 10)) < 0.05
    back, mu = pc.load(tmp_path / "run"), family.sample(1, seed=7)[0].numpy()
    x = np.array([[0.3, 0.4], [0.7, 0.9]])
    assert np.allclose(back(x, mu), surrogate(x, mu))


def test_asked_for_where_it_does_not_fit():
    choices = CHOICES | {"loss": "spanned", "snapshots": 16, "network": "trunk-solve", "accuracy": None}
    with pytest.raises(pc.PcpinnError, match="symmetric positive"):
        FamilyRun(plates(wind=3.0), family_settings(plates(wind=3.0), None, choices))


def test_anchors_tell_whether_p_is_the_matrix_of_all():
    system, _ = made(plates(), 8)
    anchors = Anchors(system, lambda form: LU(), 4)
    anchors.choose(1, 0.05, 0)
    assert not anchors.exact
