import numpy as np
import pytest
import torch
from cases import task

from pcpinn import Dirichlet, Interval, PcpinnError, Problem
from pcpinn.baselines import collocation
from pcpinn.baselines.collocation import collocation_loss
from pcpinn.catalog.task import catalog_task
from pcpinn.mesh.generate import generate_mesh
from pcpinn.solve.build import make_network
from pcpinn.solve.method import METHODS
from pcpinn.solve.settings import resolve
from pcpinn.solve.without_system import mesh_for_points
from pcpinn.train import Loss
from pcpinn.train.last_layer import LastLayer, head_jacobian

KEYS = {"collocation": 60, "device": "cpu", "waves": 12, "spread": 3.0}


def loss_of(power=0, **changes):
    """-u'' + power * u^3 = f with u = sin(2 x), on [0, 1]."""
    ends = {"left": Dirichlet(0.0), "right": Dirichlet(float(np.sin(2.0)))}
    problem = Problem(
        Interval(0, 1),
        flux=lambda x, u: u.grad,
        source=lambda x, u: power * (u.value**3 - torch.sin(2 * x[0]) ** 3) - 4 * torch.sin(2 * x[0]),
        boundary=ends,
    )
    mesh = generate_mesh(problem.domain, cells=5)
    settings = resolve(METHODS.find("random-features"), False, {**KEYS, **changes})
    return collocation_loss(problem, mesh, make_network(problem, mesh, settings), settings)


def test_jacobian_against_rows():
    loss = loss_of(power=2)
    with torch.no_grad():
        loss.theta.copy_(torch.linspace(-1, 1, len(loss.theta)))
    size = loss.network.head_size
    r, J = head_jacobian(loss.residual, loss.theta, size)
    again = loss.residual()
    rows = [torch.autograd.grad(value, loss.theta, retain_graph=True)[0][-size:] for value in again]
    torch.testing.assert_close(J, torch.stack(rows))
    torch.testing.assert_close(r, again.detach())


@pytest.mark.parametrize("problem", ["poisson2d-cg", "ns2d-c", "ks", "gs", "wave1d-c"])
def test_rows_at_points_are_the_columns(problem, monkeypatch):
    """Several components, fluxes on walls, periodic sides, initial rates, nonlinear terms; a few points at a time."""
    monkeypatch.setattr(collocation, "_AT_ONCE", 4)
    keys = {"collocation": 15, "boundary_points": 12, "device": "cpu", "waves": 4, "precision": "float64"}
    settled = catalog_task(problem, "pinnacle-quick", keys, reference=False, method="random-features")
    mesh = mesh_for_points(settled.problem, settled.settings)
    network = make_network(settled.problem, mesh, settled.settings)
    loss = collocation_loss(settled.problem, mesh, network, settled.settings)
    with torch.no_grad():
        loss.theta.copy_(torch.linspace(-1, 1, len(loss.theta)))
    r, J = head_jacobian(loss.residual, loss.theta, network.head_size)
    own, rows = loss.head_jacobian()
    torch.testing.assert_close(own, r)
    torch.testing.assert_close(rows, J, rtol=1e-9, atol=1e-9 * float(J.abs().max()))


@pytest.mark.parametrize(("power", "steps"), [(0, 2), (3, 8)])
def test_solves_the_problem(power, steps):
    loss = loss_of(power)
    optimiser = LastLayer()
    state = optimiser.start(loss, 0)
    losses = [optimiser.step(loss, state) for _ in range(steps)]
    assert sorted(losses, reverse=True) == losses
    x = torch.linspace(0, 1, 30, dtype=torch.float64)[:, None]
    with torch.no_grad():
        torch.testing.assert_close(loss.network(x), torch.sin(2 * x), atol=1e-7, rtol=0)


def test_nodal_losses_are_trained_too():
    """On a linear system nothing is left to gain after one step: the gradient by the last layer vanishes."""
    loss = task()
    optimiser = LastLayer(matrix="exact")
    state = optimiser.start(loss, 0)
    before = loss.loss().item()
    after = optimiser.step(loss, state)
    assert after < before
    assert optimiser.step(loss, state) == pytest.approx(after, rel=1e-6)


def test_a_fit_of_nodal_values_approaches_the_least_residual():
    """P is near A, not A: steps with the features alone come to the exact minimum within what P leaves out."""
    exact, fitted = task(), task()
    least = LastLayer(matrix="exact").step(exact, {})
    advance = LastLayer(matrix="gram").bind(fitted, {})
    losses = [fitted.loss().item(), *(advance(1)[0] for _ in range(6))]
    assert sorted(losses, reverse=True) == losses
    assert least <= losses[-1] < 1.5 * least


def test_steps_do_not_depend_on_what_was_kept():
    """A resumed training has no factors yet, and takes the same steps."""
    going, resumed = task(), task()
    advance = LastLayer().bind(going, {})
    for _ in range(3):
        advance(1)
        LastLayer().step(resumed, {})
    assert torch.equal(going.theta, resumed.theta)


def test_a_fit_needs_nodal_values():
    with pytest.raises(PcpinnError, match="gram"):
        LastLayer(matrix="gram").start(loss_of(), 0)


def test_losses_without_residuals_are_refused():
    class Bare(Loss):
        network = None

    with pytest.raises(PcpinnError, match="residuals"):
        LastLayer().start(Bare(), 0)
