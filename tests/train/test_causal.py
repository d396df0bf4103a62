"""Causal weights: their formula, the loss and gradient they make, and that every iteration has its own."""

import math

import numpy as np
import pytest
import torch

from pcpinn import Adam
from pcpinn.discretize.equation import Nodes
from pcpinn.network.recipe import MLP, Place
from pcpinn.precondition import misfit
from pcpinn.train import Stopping, train
from pcpinn.train.causal import CausalLoss, causal_weights


def test_weights_are_those_of_the_formula():
    losses, strength = torch.tensor([0.5, 0.25, 0.0, 2.0], dtype=torch.float64), 3.0
    expected = np.exp(-strength * np.array([0.0, 0.5, 0.75, 0.75]))  # losses of the steps before
    np.testing.assert_allclose(causal_weights(losses, strength), expected / expected.sum(), rtol=1e-14)


@pytest.mark.parametrize("strength", [0.0, 1.0, 1e9])
def test_weights_sum_to_one_and_never_grow(strength):
    weights = causal_weights(torch.rand(20, generator=torch.Generator().manual_seed(0)), strength)
    assert float(weights.sum()) == pytest.approx(1.0)
    assert (weights.diff() <= 0).all()
    assert strength or float(weights.max() - weights.min()) == 0


LEVELS, POINTS = 4, 6


def network_of_levels():
    place = Place([0.0], [1.0], LEVELS)
    return MLP(width=5, depth=2, features="none").build(place, 0, torch.float64)


def causal(network, strength, stages=1):
    """Four time levels at six points, fitted to values; a misfit is a preconditioned residual like any other."""
    nodes = Nodes(
        np.linspace(0, 1, POINTS)[:, None], np.tile(np.arange(POINTS), LEVELS), np.repeat(np.arange(LEVELS), POINTS)
    )
    wanted = np.random.default_rng(1).normal(size=LEVELS * POINTS)
    operator = misfit(wanted, np.full(len(wanted), 0.5), torch.float64, torch.device("cpu"))
    return CausalLoss(network, nodes, operator, strength, LEVELS, stages), wanted


def squares_by_hand(network, wanted, stages):
    """||r_i||^2 of the steps, relative to the values wanted, without the loss."""
    values = network(torch.linspace(0, 1, POINTS, dtype=torch.float64)[:, None]).T
    target = torch.from_numpy(wanted).reshape(LEVELS, POINTS)
    levels = ((values - target) ** 2).sum(1) / float((target**2).sum())
    return levels.reshape(-1, stages).sum(1)


@pytest.mark.parametrize("stages", [1, 2])
def test_loss_and_gradient_by_hand(stages):
    """No gradient goes through the weights."""
    network = network_of_levels()
    loss, wanted = causal(network, 2.0, stages)
    squares = squares_by_hand(network, wanted, stages)
    numbers = squares.detach().numpy()
    before = np.array([numbers[:k].sum() for k in range(len(numbers))])
    w = np.exp(-2.0 * before) / np.exp(-2.0 * before).sum()
    expected = 0.5 * len(w) * (torch.from_numpy(w) * squares).sum()
    assert float(loss.loss().detach()) == pytest.approx(float(expected.detach()), rel=1e-12)
    (gradient,) = torch.autograd.grad(loss.loss(), network.theta)
    (by_hand,) = torch.autograd.grad(expected, network.theta)
    torch.testing.assert_close(gradient, by_hand, rtol=1e-10, atol=1e-14)


def test_every_iteration_has_weights_of_its_own():
    """Adam by hand, with weights of the present losses in each iteration, ends at the same network; old ones do not."""
    ends = []
    for every in (1, 5):
        network = network_of_levels()
        _, wanted = causal(network, 0.0)
        theta, mean, square = network.theta, torch.zeros_like(network.theta.data), torch.zeros_like(network.theta.data)
        for k in range(1, 11):
            squares = squares_by_hand(network, wanted, 1)
            if (k - 1) % every == 0:
                before = squares.detach().cumsum(0) - squares.detach()
                w = torch.exp(-3.0 * before) / torch.exp(-3.0 * before).sum()
            (g,) = torch.autograd.grad(0.5 * LEVELS * (w * squares).sum(), theta)
            mean, square = 0.9 * mean + 0.1 * g, 0.99 * square + 0.01 * g**2
            with torch.no_grad():
                theta -= 0.02 * mean / (1 - 0.9**k) / ((square / (1 - 0.99**k)).sqrt() + 1e-8)
        ends.append(theta.detach().clone())
    network = network_of_levels()
    loss, _ = causal(network, 3.0)
    train(loss, Adam(0.02, iterations=10), Stopping(10))
    torch.testing.assert_close(network.theta.detach(), ends[0], rtol=1e-7, atol=1e-9)
    assert float((network.theta.detach() - ends[1]).norm()) > 1e-4


@pytest.mark.parametrize("strength", [1e-2, 1.0, 1e4])
def test_a_small_loss_is_trusted_only_where_no_step_waits(strength):
    """The worst losses for given weights: the bound holds for all, and a loss of the tolerance itself would not do."""
    network = network_of_levels()
    loss, _ = causal(network, strength)
    generator = torch.Generator().manual_seed(0)
    tolerance, broken = 0.3, False
    for size in torch.logspace(-8, 2, 41, dtype=torch.float64):
        squares = size * torch.rand(LEVELS, generator=generator, dtype=torch.float64) ** 4
        weighted = float((LEVELS * causal_weights(squares, strength) @ squares).sqrt())
        plain = float(squares.sum().sqrt())
        assert weighted > loss.sufficient(tolerance) or plain <= tolerance
        broken |= weighted <= tolerance < plain
    assert broken or strength < 1e4


def test_without_strength_it_is_the_plain_loss():
    network = network_of_levels()
    loss, _ = causal(network, 0.0)
    assert float(loss.loss().detach()) == pytest.approx(loss.value(), rel=1e-12)
    assert math.isfinite(loss.value())
