import sys

import pytest
import torch
from strong_cases import jacobian_by_differences, loss_of

from pcpinn import PcpinnError
from pcpinn.train import Adam, Stopping, train
from pcpinn.train.adam import Fused


def gradients(loss):
    """Of 0.5 ||r||^2 of each part, by finite differences of all parts at once."""
    parts = [r.detach() for r in loss.parts()]
    J = jacobian_by_differences(lambda: torch.cat(loss.parts()), loss.theta)
    return [rows.T @ r for rows, r in zip(J.split([len(r) for r in parts]), parts, strict=True)]


def test_weights_by_hand():
    loss = loss_of("lra", rate=0.25, width=4, depth=1)
    loss.weights[1] = 3.0
    equations, *others = gradients(loss)
    expected = [
        0.75 * old + 0.25 * equations.abs().max() / (old * g.abs().mean())
        for old, g in zip([3.0] + [1.0] * (len(others) - 1), others, strict=True)
    ]
    assert loss.adapt(0) == 10
    assert float(loss.weights[0]) == 1.0
    torch.testing.assert_close(loss.weights[1:], torch.stack(expected), rtol=1e-5, atol=0)


def test_every_boundary_is_a_term():
    names = loss_of("lra").names
    assert names == ["equations", "values on bottom", "values on left", "values on top", "flux on right"]
    assert loss_of("pinn").names == ["equations", "values", "flux on right"]


def test_only_at_its_turn():
    loss = loss_of("lra", every=4)
    assert (loss.adapt(5), loss.weights.tolist()) == (3, [1.0] * 5)
    loss.adapt(8)
    assert (loss.weights[1:] != 1).all()
    weighted = sum(float(w) * part.item() for w, part in zip(loss.weights, loss.part_losses(), strict=True))
    assert loss.loss().item() == pytest.approx(weighted)


def test_state_is_taken_back():
    loss, other = loss_of("lra"), loss_of("lra")
    loss.adapt(0)
    other.restore(loss.state())
    assert loss.loss().item() == other.loss().item()
    assert loss_of("pinn").state() == {}


def test_a_rate_above_one_is_refused():
    with pytest.raises(PcpinnError, match="rate=2"):
        loss_of("lra", rate=2.0)


def test_groups_are_equations_and_conditions():
    loss = loss_of("lra")
    loss.adapt(0)
    equations, *others = (float(w) * part.item() for w, part in zip(loss.weights, loss.part_losses(), strict=True))
    assert [g.item() for g in loss.groups()] == pytest.approx([equations, sum(others)])


def test_weights_within_the_steps_are_those_between_them():
    """Adam takes the gradients of the parts once, for the weights and for its step; others are asked before each step."""
    found = []
    for by_gradient in (True, False):
        loss = loss_of("lra", every=1, width=4, depth=1)
        adam, state = Adam(), Adam().start(loss, 0)
        loss.begin(by_gradient)
        losses = []
        for iteration in range(5):
            assert loss.adapt(iteration) == (sys.maxsize if by_gradient else 1)
            losses.append(adam.step(loss, state))
        found.append((loss.theta.detach(), loss.weights, torch.tensor(losses)))
    assert float((found[0][1] - 1).abs().max()) > 0.1
    for ours, known in zip(*found, strict=True):
        torch.testing.assert_close(ours, known, rtol=1e-9, atol=1e-12)


def test_a_training_by_adam_asks_within_its_steps(monkeypatch):
    loss, asked = loss_of("lra", every=1, width=4, depth=1), []
    monkeypatch.setattr(type(loss), "loss", lambda self: asked.append(1))
    assert loss.changing() == []
    train(loss, Adam(), Stopping(iterations=3))
    assert not asked
    assert loss.changing()[0] is loss.weights
    assert (loss.weights[1:] != 1).all()


def test_twenty_steps_in_a_graph_change_the_weights_as_one_by_one(monkeypatch):
    """A graph is replaced by the work that it would replay; warming up leaves the weights as they were."""
    monkeypatch.setattr("pcpinn.train.graph.capture", lambda work, tables: work)
    monkeypatch.setattr("pcpinn.train.graph.warm_up", lambda work: [work() for _ in range(3)])
    single, batched = (loss_of("lra", every=1, width=4, depth=1) for _ in range(2))
    adam = Adam()
    for loss in (single, batched):
        loss.begin(True)
    state = adam.start(single, 0)
    steps = Fused(adam, batched, adam.start(batched, 0), at_once=4)
    assert steps.try_out()
    assert torch.equal(batched.weights, torch.ones(5, dtype=batched.weights.dtype))
    version = batched.weights._version
    together = steps(4) + steps(4)
    assert batched.weights._version > version
    assert together == pytest.approx([adam.step(single, state) for _ in range(8)], rel=1e-5)
    torch.testing.assert_close(batched.weights, single.weights, rtol=1e-4, atol=0)
