import pytest
import torch
from strong_cases import jacobian_by_differences, loss_of

from pcpinn.baselines.ntk import kernel_trace


def test_weights_by_hand():
    loss = loss_of("ntk", probes=0)
    J = jacobian_by_differences(lambda: torch.cat(loss.parts()), loss.theta)
    K = J @ J.T
    ends = torch.tensor([len(r) for r in loss.parts()]).cumsum(0)
    blocks = [K[a:b, a:b].trace() for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    loss.adapt(0)
    torch.testing.assert_close(loss.weights, K.trace() / torch.stack(blocks), rtol=1e-6, atol=0)


def test_probes_estimate_the_trace():
    loss = loss_of("ntk")
    r = loss.parts()[0]
    exact = kernel_trace(r, loss.theta, 0)
    estimates = kernel_trace(r, loss.theta, 400, torch.Generator().manual_seed(0))
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
