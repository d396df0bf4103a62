import pytest
import torch
from torch import nn

from pcpinn.train import Adam, Loss
from pcpinn.train.fused import Steps
from pcpinn.train.multi_adam import MultiAdam


class Bowls(Loss):
    """Quadratics of very different size, as groups."""

    def __init__(self, *sizes):
        self.sizes, self.point = sizes, nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.float64))

    @property
    def theta(self):
        return self.point

    def groups(self):
        return [size * ((self.point - k) ** 2).sum() for k, size in enumerate(self.sizes)]

    def loss(self):
        return torch.stack(self.groups()).sum()


def test_one_group_is_adam():
    one, other = Bowls(3.0), Bowls(3.0)
    multi, adam = MultiAdam(0.1, 0.9, 0.99), Adam(0.1, 0.9, 0.99)
    states = multi.start(one, 0), adam.start(other, 0)
    for _ in range(5):
        assert multi.step(one, states[0]) == pytest.approx(adam.step(other, states[1]), rel=1e-14)
    torch.testing.assert_close(one.theta, other.theta)


def test_the_first_step_is_the_mean_of_the_groups_signs():
    """After one step the moments are the gradients themselves: each group moves by the sign of its own, whatever its size."""
    bowls = Bowls(1e6, 1.0, 1e-3)
    start = bowls.theta.detach().clone()
    optimiser = MultiAdam(0.1, epsilon=1e-30)
    optimiser.step(bowls, optimiser.start(bowls, 0))
    signs = torch.stack([torch.sign(start - k) for k in range(3)])
    torch.testing.assert_close(bowls.theta.detach(), start - 0.1 * signs.mean(0))


def test_groups_of_a_loss_without_them_are_the_loss():
    class Plain(Bowls):
        groups = Loss.groups

        def loss(self):
            return (self.point**2).sum()

    assert [float(g.detach()) for g in Plain().groups()] == [5.0]


def test_steps_of_a_graph_are_the_plain_ones(monkeypatch):
    """As on a GPU, where several steps are one captured graph."""
    monkeypatch.setattr("pcpinn.train.graph.capture", lambda work, tables: work)
    monkeypatch.setattr("pcpinn.train.graph.warm_up", lambda work: [work() for _ in range(3)])
    plain, batched, optimiser = Bowls(1e3, 1.0), Bowls(1e3, 1.0), MultiAdam(0.1)
    state, own = optimiser.start(plain, 0), optimiser.start(batched, 0)
    steps = Steps(lambda: optimiser.update(batched, own), batched.theta, list(own.values()), at_once=4)
    assert steps.try_out()
    losses = [loss for most in (9, 3, 1) for loss in steps(most)]
    assert losses == [optimiser.step(plain, state) for _ in range(7)]
    assert torch.equal(plain.theta, batched.theta)
    assert all(torch.equal(own[key], state[key]) for key in state)
