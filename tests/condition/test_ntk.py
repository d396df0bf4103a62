"""The tangent kernel against dense computations and theory."""

import numpy as np
import pytest
import torch

from pcpinn import PcpinnError
from pcpinn.catalog import CATALOG
from pcpinn.condition import ntk
from pcpinn.condition.ntk import inverse_norm_of, residual_jacobian, tangent_kernel
from pcpinn.discretize.system import linear_system
from pcpinn.solve.build import make_discretisation, make_mesh, make_network
from pcpinn.solve.loss import preconditioned_loss


def small_loss(**changes):
    entry = CATALOG.find("poisson2d-cg")
    usual = {"size": 0.5, "degree": 1, "width": 5, "depth": 2, "feature_count": 1, "norm": "uniform"}
    parameters, settings = entry.resolve("quick", {**usual, **changes})
    problem = entry.problem(**parameters)
    mesh = make_mesh(problem, settings)
    system = linear_system(make_discretisation(problem, mesh, settings))
    return system, preconditioned_loss(system, make_network(problem, mesh, settings), settings)


def dense_parts(system, loss):
    """B = P^-1 A and the network's Jacobian, each without any of the kernel's own code."""
    operator = loss.operator
    B = operator.preconditioner.apply(operator.state, system.A.toarray())
    J = torch.func.jacrev(lambda theta: loss.unknowns(theta))(loss.theta.detach()).numpy()
    return B, J


@pytest.mark.parametrize("preconditioner", ["none", "ilu"])
def test_rate_and_spectrum_equal_a_dense_computation(preconditioner):
    drop = {"drop_tolerance": 1e-2} if preconditioner == "ilu" else {}
    system, loss = small_loss(preconditioner=preconditioner, **drop)
    B, J = dense_parts(system, loss)
    K = (B @ J) @ (B @ J).T
    kernel = tangent_kernel(loss)
    assert kernel.rate == pytest.approx(np.trace(K) / system.size, rel=1e-9)
    expected = np.sort(np.linalg.eigvalsh(K))[::-1] / system.size
    np.testing.assert_allclose(kernel.eigenvalues[:10], expected[:10], rtol=1e-8)
    assert kernel.eigenvalues.sum() == pytest.approx(kernel.rate)
    assert kernel.bound is None


@pytest.mark.parametrize("preconditioner", ["none", "ilu", "lu"])
@pytest.mark.parametrize("weights", ["uniform", "mass"])
def test_the_bound_holds_and_is_tight_for_the_exact_inverse(preconditioner, weights):
    drop = {"drop_tolerance": 1e-2} if preconditioner == "ilu" else {}
    system, loss = small_loss(preconditioner=preconditioner, norm=weights, **drop)
    norm = inverse_norm_of(loss.operator)
    B, J = dense_parts(system, loss)
    w = np.sqrt(system.weights if weights == "mass" else np.ones(system.size))
    assert norm == pytest.approx(np.linalg.norm(w[:, None] * np.linalg.inv(B) / w, 2), rel=1e-3)
    kernel = tangent_kernel(loss, norm)
    assert kernel.network == pytest.approx(((w[:, None] * J) ** 2).sum() / (w**2).sum())
    assert kernel.rate >= kernel.bound * (1 - 3e-4)
    if preconditioner == "lu":
        assert kernel.rate == pytest.approx(kernel.bound, rel=3e-4)


def test_fewer_weights_than_unknowns_or_more():
    for width in (2, 24):
        _, loss = small_loss(width=width)
        BJ, _ = residual_jacobian(loss)
        kernel = tangent_kernel(loss)
        assert len(kernel.eigenvalues) == min(kernel.size, kernel.parameters)
        assert kernel.largest == pytest.approx(float(torch.linalg.matrix_norm(BJ, 2)) ** 2)
        assert 1 <= kernel.reached(1e-2) <= kernel.reached(1e-4) <= len(kernel.eigenvalues)
        assert 1 <= kernel.balance <= len(kernel.eigenvalues)


def test_kernels_beyond_memory_are_refused(monkeypatch):
    _, loss = small_loss()
    monkeypatch.setattr(ntk, "_MOST", 100)
    with pytest.raises(PcpinnError, match="too large"):
        tangent_kernel(loss)
