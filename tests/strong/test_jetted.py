"""The strong form by jets: the same residuals and gradients as by reverse mode over reverse mode."""

import pytest
import torch

import pcpinn as pc
from pcpinn.baselines.collocation import collocation_loss
from pcpinn.catalog.task import catalog_task
from pcpinn.discretize.pointwise import Pointwise
from pcpinn.network import sloped
from pcpinn.network.activations import ACTIVATIONS
from pcpinn.network.seconds import Seconds
from pcpinn.solve.build import make_network
from pcpinn.solve.method import METHODS
from pcpinn.solve.without_system import mesh_for_points
from pcpinn.strong.jetted import Jetted, needed_pairs, needed_seconds

SMALL = {"collocation": 30, "boundary_points": 12, "precision": "float64", "device": "cpu"}
WIDE = {**SMALL, "width": 6, "depth": 2}
CASES = [
    ("pinn", "burgers1d-c", WIDE),
    ("pinn", "burgers1d-c", {**WIDE, "hard": True}),
    ("pinn", "wave1d-c", WIDE),
    ("pinn", "ks", WIDE),
    ("pinn", "gs", {**WIDE, "cells": "4,4"}),
    ("pinn", "heat2d-vc", {**WIDE, "cells": "4,4"}),
    ("pinn", "ns2d-c", {**WIDE, "size": 0.3}),
    ("laaf", "wave1d-c", WIDE),
    ("gaaf", "burgers1d-c", WIDE),
    ("fbpinn", "wave1d-c", WIDE),
    ("vpinn", "wave1d-c", {**WIDE, "tests": 2}),
    ("gpinn", "ks", {**WIDE, "activation": "sin"}),
    ("gpinn", "gs", {**WIDE, "cells": "4,4"}),
    ("gpinn", "ns2d-c", {**WIDE, "size": 0.3}),
]


def loss_of(method, problem, changes):
    task = catalog_task(problem, "pinnacle", changes, reference=False, method=method)
    mesh = mesh_for_points(task.problem, task.settings)
    network = make_network(task.problem, mesh, task.settings)
    return collocation_loss(task.problem, mesh, network, task.settings)


@pytest.mark.parametrize(("method", "problem", "changes"), CASES)
def test_the_same_residuals_and_gradient(method, problem, changes):
    loss = loss_of(method, problem, changes)
    assert isinstance(loss.seen, Jetted)
    found = []
    for seen in (loss.seen, loss.network):
        loss.seen = seen
        r = loss.residual()
        found.append((r.detach(), torch.autograd.grad(0.5 * (r @ r), loss.theta)[0]))
    for ours, known in zip(*found, strict=True):
        torch.testing.assert_close(ours, known, rtol=1e-9, atol=1e-11 * float(known.abs().max()))


@pytest.mark.parametrize(
    ("problem", "changes", "known"), [("ks", {}, True), ("ks", {"network": "laaf"}, False), ("burgers1d-c", {}, False)]
)
def test_slopes_of_the_residual_by_third_derivatives(problem, changes, known):
    """Not of networks without them, nor of one output, unless a GPU has kernels."""
    loss = loss_of("gpinn", problem, {**WIDE, **changes})
    slopes = loss.seen.residual_slopes(loss.pointwise, loss.points)
    assert (slopes is not None) == known
    assert slopes is None or slopes.shape == (2, 30, 2)


@pytest.mark.parametrize("problem", ["burgers1d-c", "wave1d-c", "heat2d-vc"])
def test_slopes_of_the_residual_of_one_output(problem, monkeypatch):
    """As a GPU takes them, but with the plain form in place of its kernels."""
    known = loss_of("gpinn", problem, WIDE if problem != "heat2d-vc" else {**WIDE, "cells": "4,4"})
    expected = [part.detach() for part in known.parts()]
    tanh = ACTIVATIONS["tanh"]
    monkeypatch.setattr(sloped, "has_kernels", lambda *_: True)
    monkeypatch.setattr(sloped._Tanh, "apply", lambda z, bias, d, seconds: sloped.activated(z, bias, tanh, d, seconds))
    known.seen = Jetted(known.network)
    assert known.seen.residual_slopes(known.pointwise, known.points) is not None
    for ours, theirs in zip(known.parts(), expected, strict=True):
        torch.testing.assert_close(ours.detach(), theirs, rtol=1e-9, atol=1e-10 * float(theirs.abs().max()))


def test_second_derivatives_that_nothing_takes_are_not_carried():
    """Heat takes u_xx and u_yy, no derivative by time twice and none that is mixed; a wave takes u_tt; a tensor mixed ones."""
    box = pc.Rectangle((0, 0), (1, 1)).over(0, 1)
    x = torch.rand(20, 3, dtype=torch.float64)
    walls = dict.fromkeys(("left", "right", "bottom", "top"), pc.Dirichlet(0.0))
    mixing = torch.tensor([[1.0, 0.5], [0.5, 1.0]], dtype=torch.float64)

    def taken(flux, density=lambda x, u: u.value, rate=None):
        problem = pc.Problem(box, flux=flux, density=density, boundary={**walls, "initial": pc.Initial(0.0, rate)})
        return needed_pairs(Pointwise(problem, strong=True), x, 1)

    assert taken(lambda x, u: (1 + u.value**2) * u.grad) == ((0, 0), (1, 1))
    assert taken(lambda x, u: u.grad, lambda x, u: u.dt, rate=0.0) == ((0, 0), (1, 1), (2, 2))
    assert taken(lambda x, u: mixing @ u.grad) == ((0, 0), (0, 1), (1, 1))
    assert taken(lambda x, u: torch.where(x[0] > 0.5, u.grad, 0 * u.grad)) == ((0, 0), (1, 1))


def test_one_sum_of_second_derivatives_is_carried_where_the_equations_take_nothing_else():
    """Whatever the factor: of place, of the state. Not where two equations, or two places, take different sums."""
    box = pc.Rectangle((0, 0), (1, 1))
    x = torch.rand(20, 2, dtype=torch.float64)
    walls = dict.fromkeys(("left", "right", "bottom", "top"), pc.Dirichlet(0.0))
    stretch = torch.tensor([1.0, 3.0], dtype=torch.float64)

    def carried(flux):
        problem = pc.Problem(box, flux=flux, source=lambda x, u: -1.0, boundary=walls)
        return needed_seconds(Pointwise(problem, strong=True), x, 1)

    both = ((0, 0), (1, 1))
    assert carried(lambda x, u: (1 + x[0] ** 2 + u.value**2) * u.grad) == Seconds(both, (1.0, 1.0))
    third = carried(lambda x, u: torch.where(x[0] > 0.5, 5.0, 0.0) * stretch * u.grad)
    assert third.pairs == both
    assert third.weights == pytest.approx((1 / 3, 1.0))
    assert carried(lambda x, u: u.grad * u.grad) == Seconds(both)
    assert carried(lambda x, u: torch.where(x[0] > 0.5, stretch, 1.0) * u.grad) == Seconds(both)
    assert carried(lambda x, u: torch.where(u.value > 100, stretch, 1.0) * u.grad) == Seconds(both)
    assert carried(lambda x, u: torch.exp(u.value) * u.grad) == Seconds(both)  # which is no number at large states


def test_other_modules_are_differentiated_as_before():
    module = torch.nn.Sequential(torch.nn.Linear(2, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1)).double()
    problem = pc.Problem(
        pc.Rectangle((0, 0), (1, 1)),
        flux=lambda x, u: u.grad,
        source=lambda x, u: -1.0,
        boundary=dict.fromkeys(("left", "right", "bottom", "top"), pc.Dirichlet(0.0)),
    )
    settings = {"network": module, "collocation": 20, "iterations": 3, "certify": False}
    solution = METHODS.find("pinn").solver(problem, settings)
    assert len(solution.history.rows) == 3


@pytest.mark.parametrize("problem", ["ns2d-c", "ks", "gs"])
def test_walls_together_give_what_they_give_one_by_one(problem):
    """With one pass through the network where there were several: walls of ns2d-c, both sides of periodic ones."""
    changes = {"ns2d-c": {"size": 0.3}, "gs": {"cells": "4,4"}}.get(problem, {})
    loss = loss_of("pinn", problem, {**WIDE, **changes})
    found = []
    for together in (True, False):
        passes = count_states(loss)
        parts = loss.parts(together=together)
        gradient = torch.autograd.grad(sum((r**2).sum() for r in parts), loss.theta)[0]
        found.append((torch.cat(parts).detach(), gradient, len(passes)))
    (r, g, few), (known_r, known_g, many) = found
    assert few < many or problem == "gs"
    torch.testing.assert_close(r, known_r, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(g, known_g, rtol=1e-10, atol=1e-12 * float(known_g.abs().max()))


def count_states(loss):
    """A list that grows by one whenever the loss looks at states at points of walls."""
    seen, passes = Jetted(loss.network), []
    own = seen.state
    seen.state = lambda x: passes.append(len(x)) or own(x)
    loss.seen = seen
    return passes
