"""The loss: its value by hand, its gradient and Jacobian by finite differences, for one field and for several."""

import dataclasses

import numpy as np
import pytest
import torch
from cases import poisson, task, two_fields

from pcpinn.precondition import ILU, LU, Identity, Jacobi
from pcpinn.train import GaussNewton

SYSTEMS = {"one": lambda: poisson(2, 3, 2), "two": two_fields, "line": lambda: poisson(1, 6, 3)}


def perturbed(problem, k, step):
    with torch.no_grad():
        problem.theta[k] += step
        value = problem.unknowns().clone(), float(problem.loss())
        problem.theta[k] -= step
    return value


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("p", [ILU(1e-2, 5.0), LU(), Jacobi(), Identity()], ids=lambda p: p.name)
@pytest.mark.parametrize("kind", SYSTEMS)
def test_gradient_of_the_loss(kind, p, dense):
    problem = task(SYSTEMS[kind](), p, dense=dense)
    (gradient,) = torch.autograd.grad(problem.loss(), problem.theta)
    step = 1e-6
    for k in range(0, len(gradient), 7):
        numeric = (perturbed(problem, k, step)[1] - perturbed(problem, k, -step)[1]) / (2 * step)
        assert float(gradient[k]) == pytest.approx(numeric, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("kind", SYSTEMS)
def test_loss_by_hand(kind):
    """Half the squared weighted norm of P^-1 (A u - b), relative to that of P^-1 b, with u read off the network."""
    system, p = SYSTEMS[kind](), ILU(1e-2, 5.0)
    problem = task(system, p)
    at_nodes = problem.network(torch.from_numpy(system.discretisation.unknown_nodes)).detach().numpy()
    u = at_nodes[np.arange(system.size), system.nodes.component_of]
    np.testing.assert_allclose(problem.unknowns().detach(), u, rtol=1e-13)
    state = p.build(system.A)
    norm = lambda r: np.sqrt(system.weights @ p.apply(state, r) ** 2)  # noqa: E731
    assert float(problem.loss().detach()) == pytest.approx(
        0.5 * (norm(system.A @ u - system.b) / norm(system.b)) ** 2, rel=1e-10
    )
    assert problem.size == system.size


@pytest.mark.parametrize("kind", SYSTEMS)
def test_jacobian(kind):
    problem = task(SYSTEMS[kind]())
    J = problem.jacobian()
    assert J.shape == (problem.size, problem.network.parameter_count)
    step = 1e-6
    for k in range(0, J.shape[1], 5):
        numeric = (perturbed(problem, k, step)[0] - perturbed(problem, k, -step)[0]) / (2 * step)
        torch.testing.assert_close(J[:, k], numeric, rtol=1e-6, atol=1e-8)
    rows = torch.tensor([3, 0, 5])
    torch.testing.assert_close(problem.jacobian(rows), J[rows])


@pytest.mark.parametrize("kind", SYSTEMS)
def test_second_derivative_along_a_direction(kind):
    """J^T r'' with r'' by finite differences of the residual and J^T by autograd."""
    problem = task(SYSTEMS[kind]())
    theta = problem.theta.detach().clone()
    v = torch.randn(len(theta), dtype=torch.float64, generator=torch.Generator().manual_seed(0)) / len(theta)

    def residual(t):
        return problem.operator(problem.unknowns(t)) * problem.scale

    step = 1e-3
    second = ((residual(theta + step * v) - 2 * residual(theta) + residual(theta - step * v)) / step**2).detach()
    (expected,) = torch.autograd.grad(problem.residual(), problem.theta, second)
    torch.testing.assert_close(problem.curving(v), expected, rtol=1e-4, atol=1e-5 * float(expected.abs().max()))
    assert torch.equal(problem.theta.detach(), theta)


def test_with_lu_the_residual_is_the_training_error():
    system = poisson(2, 3, 2)
    problem = task(system, LU())
    u = problem.unknowns().detach().numpy()
    expected = system.norm(u - system.solution) / system.norm(system.solution)
    assert float((2 * problem.loss().detach()) ** 0.5) == pytest.approx(expected, rel=1e-9)


def test_a_right_hand_side_of_zero_has_no_scale():
    system = dataclasses.replace(poisson(1, 6), b=np.zeros(7))
    assert task(system).scale == 1.0
    assert torch.isfinite(task(system).loss())


@pytest.mark.parametrize("kind", SYSTEMS)
def test_known_residual_and_its_gradient(kind):
    problem = task(SYSTEMS[kind](), ILU(1e-2, 5.0))
    (expected,) = torch.autograd.grad(problem.loss(), problem.theta)
    torch.testing.assert_close(problem.gradient(problem.known_residual()), expected)


def test_the_residual_is_computed_once_per_set_of_weights(monkeypatch):
    problem = task(poisson(2, 3, 2))
    calls = []
    original = problem.residual
    monkeypatch.setattr(problem, "residual", lambda: calls.append(1) or original())
    first = problem.known_residual()
    assert problem.known_residual() is first
    with torch.no_grad():
        problem.theta[0] += 1.0
    assert not torch.equal(problem.known_residual(), first)
    assert len(calls) == 2


def test_gauss_newton_applies_p_twice_per_iteration(monkeypatch):
    """Once for the trial, which is the next step's residual, and once transposed for the gradient."""
    problem = task(poisson(2, 4, 2), LU(), dense=False)
    optimiser = GaussNewton()
    state = optimiser.start(problem, 0)
    optimiser.step(problem, state)
    count = []
    original = problem.operator.multiply
    monkeypatch.setattr(
        problem.operator, "multiply", lambda v, transpose: count.append(transpose) or original(v, transpose)
    )
    before = float(problem.loss().detach())
    count.clear()
    assert optimiser.step(problem, state) < before
    assert sorted(count) == [False, True]


def test_without_the_operator_the_bend_is_that_of_the_network_alone():
    problem = task(poisson(2, 4, 2), LU(), dense=False)  # P^-1 A is the identity here
    v = torch.ones_like(problem.theta)
    torch.testing.assert_close(problem.curving(v, through_operator=False), problem.curving(v), rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize(("factor", "rescaled"), [(1.0, False), (3000.0, True), (1e-4, True)])
def test_outputs_are_in_units_of_a_large_or_small_solution(factor, rescaled):
    system = poisson(2, 4, 2)
    ours = system.norm(system.solution) / np.sqrt(system.weights.sum())
    system = dataclasses.replace(system, b=system.b * factor / ours)
    problem = task(system, LU())
    scale = float(problem.network.output_scale)
    assert scale == (pytest.approx(factor, rel=1e-6) if rescaled else 1.0)
    step = 1e-6 * torch.ones_like(problem.theta)
    moved = problem.unknowns(problem.theta.detach() + step) - problem.unknowns(problem.theta.detach())
    torch.testing.assert_close(problem.jacobian() @ step, moved, rtol=1e-3, atol=1e-9 * scale)
