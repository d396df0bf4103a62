"""u -> W P^-1 (A u - b) for maps of tensors, against dense algebra."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from pcpinn.precondition import Jacobi, Preconditioned, misfit
from pcpinn.precondition.maps import DeviceMatrix, HostMatrix, HostSolver
from pcpinn.precondition.preconditioned import WeightedInverse
from pcpinn.precondition.refined import RefinedSolver

N, SHAPE = 12, (3, 4)


def random(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


class Dense:
    """A matrix (N, N) on tensors (3, 4)."""

    def __init__(self, M):
        self.M = M

    def apply(self, r):
        return (self.M @ r.reshape(-1)).reshape(r.shape)

    def apply_transpose(self, r):
        return (self.M.T @ r.reshape(-1)).reshape(r.shape)

    def describe(self):
        return {"name": "dense"}


A = torch.eye(N, dtype=torch.float64) * 3 + 0.3 * random(N, N)
P = A + 0.1 * random(N, N, seed=1)
WEIGHTS = random(N, seed=2).abs().numpy()
ROOT = torch.from_numpy(np.sqrt(WEIGHTS))


def operator(solver=None, dtype=torch.float64):
    return Preconditioned(
        Dense(A), solver or Dense(torch.linalg.inv(P)), random(*SHAPE, seed=3), WEIGHTS, dtype, device="cpu"
    )


def test_value_transpose_and_scale():
    op, b, u = operator(), random(*SHAPE, seed=3).reshape(-1), random(N, seed=4)
    torch.testing.assert_close(op(u), ROOT * torch.linalg.solve(P, A @ u - b))
    torch.testing.assert_close(op.apply(u), ROOT * torch.linalg.solve(P, A @ u))
    torch.testing.assert_close(op.apply_transpose(u), A.T @ torch.linalg.solve(P.T, ROOT * u))
    assert op.target_norm == pytest.approx(float((ROOT * torch.linalg.solve(P, b)).norm()))
    assert op.describe() == {"name": "dense"}


def test_gradient_against_finite_differences():
    assert torch.autograd.gradcheck(operator(), (random(N, seed=4).requires_grad_(),))


def test_other_weights_are_those_of_a_new_operator():
    other = operator().reweighted(4 * WEIGHTS)
    u = random(N, seed=4)
    torch.testing.assert_close(other(u), 2 * operator()(u))
    torch.testing.assert_close(other.apply_transpose(u), 2 * operator().apply_transpose(u))
    assert other.target_norm == pytest.approx(2 * operator().target_norm)


def test_single_values_are_solved_for_in_double():
    op, u = operator(dtype=torch.float32), random(N, seed=4)
    assert op(u.float()).dtype == torch.float32
    torch.testing.assert_close(op(u.float()).double(), operator()(u), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_refinement_takes_powers_of_what_p_leaves(steps):
    """I - P_s^-1 A = (I - P^-1 A)^(s + 1), and its transpose."""
    refined = RefinedSolver(Dense(torch.linalg.inv(P)), Dense(A), steps)
    r = random(*SHAPE, seed=5)
    left = torch.eye(N, dtype=torch.float64) - torch.linalg.solve(P, A)
    inverse = (torch.eye(N, dtype=torch.float64) - torch.linalg.matrix_power(left, steps + 1)) @ torch.linalg.inv(A)
    torch.testing.assert_close(refined.apply(r).reshape(-1), inverse @ r.reshape(-1))
    torch.testing.assert_close(refined.apply_transpose(r).reshape(-1), inverse.T @ r.reshape(-1))
    assert refined.describe() == {"name": "dense", "refinement": steps}


@pytest.mark.parametrize("shape", [(N,), (N, 2)])
def test_the_inverse_alone(shape):
    inverse = WeightedInverse(HostSolver(Jacobi(), A.diagonal().numpy()), ROOT)
    r = random(*shape, seed=6)
    scale = ROOT / A.diagonal()
    expected = scale * r if len(shape) == 1 else scale[:, None] * r
    torch.testing.assert_close(inverse.apply(r), expected)
    torch.testing.assert_close(inverse.apply_transpose(r), expected)


@pytest.mark.parametrize("shape", [(N,), (N, 2)])
def test_maps_of_sparse_matrices(shape):
    M, r = sp.csr_matrix(A.numpy()), random(*shape, seed=6)
    for one in (HostMatrix(M), DeviceMatrix(M, torch.float64, "cpu")):
        torch.testing.assert_close(one.apply(r), A @ r)
        torch.testing.assert_close(one.apply_transpose(r), A.T @ r)


def test_regression_is_the_trivial_case():
    u_h, u = random(N, seed=7), random(N, seed=8).requires_grad_()
    fit = misfit(u_h.numpy(), WEIGHTS, torch.float64, torch.device("cpu"), "fit")
    torch.testing.assert_close(fit(u), ROOT * (u - u_h))
    torch.testing.assert_close(fit.multiply(u, transpose=False), fit.apply(u))
    (gradient,) = torch.autograd.grad(0.5 * fit(u).square().sum(), u)
    torch.testing.assert_close(gradient, torch.from_numpy(WEIGHTS) * (u.detach() - u_h))
    assert fit.target_norm == pytest.approx(float((ROOT * u_h).norm()))
    assert fit.describe() == {"name": "fit"}
