import pytest
import torch
from strong_cases import jacobian_by_differences, loss_of

from pcpinn.baselines.ntk import KernelWeights, kernel_trace


def test_weights_by_hand():
    loss = loss_of("ntk", probes=0, width=4, depth=1)
    J = jacobian_by_differences(lambda: torch.cat(loss.parts()), loss.theta)
    K = J @ J.T
    ends = torch.tensor([len(r) for r in loss.parts()]).cumsum(0)
    blocks = [K[a:b, a:b].trace() for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    loss.adapt(0)
    torch.testing.assert_close(loss.weights, K.trace() / torch.stack(blocks), rtol=1e-6, atol=0)


def test_probes_estimate_the_trace():
    loss = loss_of("ntk")
    r = loss.parts()[0]
    exact = kernel_trace(r, loss.theta)
    (signs, *_) = KernelWeights(probes=400).draw(loss, 0)
    assert signs.shape == (400, len(r))
    assert set(signs.unique().tolist()) == {-1.0, 1.0}
    estimates = kernel_trace(r, loss.theta, signs)
    assert float(estimates) == pytest.approx(float(exact), rel=0.15)


def test_the_same_iteration_draws_the_same_probes():
    loss, other = loss_of("ntk", every=5), loss_of("ntk", every=5)
    loss.adapt(10)
    first = loss.weights.clone()
    other.adapt(0)
    other.adapt(10)
    assert torch.equal(first, other.weights)
    other.adapt(15)
    assert not torch.equal(first, other.weights)


@pytest.mark.parametrize("method", ["ntk", "lra"])
def test_replayed_weights_are_the_plain_ones(method, monkeypatch):
    """As on a GPU: captured once, with numbers of their own in each replay."""
    captured = []
    monkeypatch.setattr("pcpinn.train.graph.capture", lambda work, tables: captured.append(work) or work)
    monkeypatch.setattr("pcpinn.train.graph.warm_up", lambda work: [work() for _ in range(3)])
    plain, replayed = loss_of(method, every=5), loss_of(method, every=5)
    replayed.captures = True
    for iteration in (0, 5, 10):
        plain.adapt(iteration)
        replayed.adapt(iteration)
        torch.testing.assert_close(replayed.weights, plain.weights, rtol=0, atol=0)
    assert len(captured) == 1
    replayed.take_points(replayed.points[:5])
    replayed.adapt(15)
    assert len(captured) == 2


def test_weights_that_cannot_be_captured_change_all_the_same(monkeypatch):
    def refuse(work, tables):
        raise RuntimeError("stream is capturing")

    monkeypatch.setattr("pcpinn.train.graph.warm_up", lambda work: work())
    monkeypatch.setattr("pcpinn.train.graph.capture", refuse)
    monkeypatch.setattr("torch.cuda.synchronize", lambda: None)
    plain, replayed = loss_of("ntk", every=5), loss_of("ntk", every=5)
    replayed.captures = True
    for iteration in (0, 5):
        plain.adapt(iteration)
        replayed.adapt(iteration)
        torch.testing.assert_close(replayed.weights, plain.weights, rtol=0, atol=0)
