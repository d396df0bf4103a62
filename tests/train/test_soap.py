"""SOAP against the algorithm of its paper, written out with NumPy for one layer."""

import numpy as np
import pytest
import torch
from cases import poisson, task, two_fields

from pcpinn.train import SOAP, Checkpoints, Stopping, train


class OneLayer:
    """0.5 |W X + b - Y|^2 with a square W of full rank, so that the eigenvectors of its gradient are unique."""

    def __init__(self, size=4, dtype=torch.float64):
        generator = torch.Generator().manual_seed(1)
        self.X, self.Y, start = (torch.randn(size, 9, dtype=torch.float64, generator=generator) for _ in range(3))
        self.size, self.layer_shapes = size, [(size, size)]
        self.theta = torch.nn.Parameter(torch.cat([start[:, :size].flatten(), start[:, size]]))
        self.network = self

    def layers(self, theta):
        at = self.size**2
        return [(theta[:at].view(self.size, self.size), theta[at:])]

    def loss(self):
        ((weight, bias),) = self.layers(self.theta)
        return 0.5 * ((weight @ self.X + bias[:, None] - self.Y) ** 2).sum()


def by_hand(problem, optimiser, steps):
    """Weights after each step: Adam in bases that are the eigenvectors of sums of g g^T and g^T g, turned now and then."""
    X, Y = problem.X.numpy(), problem.Y.numpy()
    ((W, b),) = ((w.detach().numpy().copy(), c.detach().numpy().copy()) for w, c in problem.layers(problem.theta))
    b1, b2 = optimiser.beta1, optimiser.beta2
    L = R = M = V = m = v = 0
    result = []
    for k in range(1, steps + 1):
        E = W @ X + b[:, None] - Y
        g, gb = E @ X.T, E.sum(1)
        L, R = b2 * L + (1 - b2) * g @ g.T, b2 * R + (1 - b2) * g.T @ g
        if k == 1:
            QL, _, QR = np.linalg.svd(g)  # largest first
            QR = QR.T
        elif k % optimiser.every == 0:
            QL, QR = np.linalg.qr(L @ QL)[0], np.linalg.qr(R @ QR)[0]
        M, m = b1 * M + (1 - b1) * g, b1 * m + (1 - b1) * gb
        V, v = b2 * V + (1 - b2) * (QL.T @ g @ QR) ** 2, b2 * v + (1 - b2) * gb**2
        scale1, scale2 = 1 - b1**k, 1 - b2**k
        adam = (QL.T @ M @ QR / scale1) / (np.sqrt(V / scale2) + optimiser.epsilon)
        W = W - optimiser.learning_rate * QL @ adam @ QR.T
        b = b - optimiser.learning_rate * (m / scale1) / (np.sqrt(v / scale2) + optimiser.epsilon)
        result.append(np.concatenate([W.ravel(), b]))
    return result


@pytest.mark.parametrize("settings", [{}, {"learning_rate": 0.02, "beta1": 0.8, "beta2": 0.97, "every": 3}])
def test_steps_by_hand(settings):
    problem, optimiser = OneLayer(), SOAP(**settings)
    expected = by_hand(problem, optimiser, 12)
    state = optimiser.start(problem, 0)
    for weights in expected:
        before = float(problem.loss().detach())
        assert optimiser.step(problem, state) == before
        np.testing.assert_allclose(problem.theta.detach(), weights, rtol=1e-6, atol=1e-6)


def test_turning_both_sides_of_a_layer_turns_its_steps():
    """What Adam lacks: in other orthonormal coordinates the same steps."""
    plain, turned = OneLayer(), OneLayer()
    Q, U = (torch.linalg.qr(torch.randn(4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(s)))[0]
            for s in (2, 3))  # fmt: skip
    with torch.no_grad():
        ((W, b),) = turned.layers(turned.theta)
        W.copy_(Q @ W @ U.T)
        b.zero_()
        plain.layers(plain.theta)[0][1].zero_()
    turned.X, turned.Y = U @ turned.X, Q @ turned.Y
    optimiser = SOAP(learning_rate=0.02, every=3)
    states = [optimiser.start(p, 0) for p in (plain, turned)]
    for _ in range(8):
        for problem, state in zip((plain, turned), states, strict=True):
            optimiser.step(problem, state)
            problem.layers(problem.theta.data)[0][1].zero_()  # biases are Adam's
    torch.testing.assert_close(
        Q @ plain.layers(plain.theta)[0][0] @ U.T, turned.layers(turned.theta)[0][0], rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("system", [lambda: poisson(2, 3, 2), two_fields], ids=["one", "two"])
def test_loss_falls(system, dtype):
    problem, optimiser = task(system(), dtype=dtype), SOAP(learning_rate=0.02)
    result = train(problem, optimiser, Stopping(60))
    assert result.loss < 0.1 * result.history.losses[0]
    assert np.isfinite(result.history.losses).all()


def test_state_shapes():
    problem, optimiser = task(), SOAP(every=2)
    state = optimiser.start(problem, 0)
    p = problem.network.parameter_count
    for steps in (0, 1, 4):
        for _ in range(steps):
            optimiser.step(problem, state)
        assert state["mean"].shape == state["square"].shape == (p,)
        shapes = problem.network.layer_shapes
        assert len(state) == 3 + 4 * len(shapes)
        for k, (rows, columns) in enumerate(shapes):
            for side, size in (("left", rows), ("right", columns)):
                moment, basis = state[f"{side}.moment.{k}"], state[f"{side}.basis.{k}"]
                assert moment.shape == basis.shape == (size, size)
                torch.testing.assert_close(moment, moment.T)
                torch.testing.assert_close(basis.T @ basis, torch.eye(size, dtype=basis.dtype))
    assert int(state["count"]) == 5


@pytest.mark.parametrize("stop_after", [1, 5])
def test_resuming_changes_nothing(stop_after, tmp_path):
    optimiser = SOAP(every=3)
    whole = task()
    expected = train(whole, optimiser, Stopping(9))
    broken = task()
    train(broken, optimiser, Stopping(stop_after), checkpoints=Checkpoints(tmp_path))
    fresh = task(seed=77)
    result = train(fresh, optimiser, Stopping(9), resume=Checkpoints(tmp_path).read(fresh.theta))
    assert torch.equal(fresh.theta, whole.theta)
    np.testing.assert_array_equal(result.history.losses, expected.history.losses)
