"""u -> W P^-1 (A u - b): dense and sparse alike, with its gradient."""

import numpy as np
import pytest
import torch
from cases import poisson

from pcpinn.errors import PcpinnError
from pcpinn.precondition import ILU, LU, Identity, Jacobi, PreconditionedResidual, RowBalancing

PRECONDITIONERS = [Jacobi(), RowBalancing(), Identity(), ILU(1e-2, 5.0), LU()]
IDS = [p.name for p in PRECONDITIONERS]


@pytest.fixture(scope="module")
def system():
    return poisson(2, 4)


def operator(system, preconditioner, dense, **options):
    return PreconditionedResidual(system.A, system.b, preconditioner, system.weights, dense=dense, **options)


def random(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("p", PRECONDITIONERS, ids=IDS)
def test_value_and_scale(system, p, dense):
    op = operator(system, p, dense)
    state, w = p.build(system.A), np.sqrt(system.weights)
    u = random(system.size)
    np.testing.assert_allclose(op(u), w * p.apply(state, system.A @ u.numpy() - system.b), rtol=1e-9, atol=1e-11)
    assert op.target_norm == pytest.approx(np.linalg.norm(w * p.apply(state, system.b)))
    assert op.dense is dense


@pytest.mark.parametrize("p", PRECONDITIONERS, ids=IDS)
def test_dense_and_sparse_agree(system, p):
    """Values and gradients, for one vector and for several."""
    results = []
    for dense in (True, False):
        op = operator(system, p, dense)
        u = random(system.size).requires_grad_()
        r = op(u)
        (gradient,) = torch.autograd.grad(r @ r, u)
        several = op.apply(random(system.size, 3, seed=1))
        back = op.apply_transpose(random(system.size, 3, seed=2))
        results.append((r.detach(), gradient, several, back))
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("p", PRECONDITIONERS, ids=IDS)
def test_gradient_against_finite_differences(system, p, dense):
    op = operator(system, p, dense)
    assert torch.autograd.gradcheck(op, (random(system.size).requires_grad_(),), eps=1e-5, atol=1e-5)
    assert torch.autograd.gradcheck(op.apply, (random(system.size, 2).requires_grad_(),), eps=1e-5, atol=1e-5)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("p", PRECONDITIONERS, ids=IDS)
def test_transpose_is_the_adjoint(system, p, dense):
    op = operator(system, p, dense)
    x, y = random(system.size), random(system.size, seed=1)
    assert float(op.apply(x) @ y) == pytest.approx(float(x @ op.apply_transpose(y)), rel=1e-10)


def test_with_lu_it_is_the_distance_to_the_solution(system):
    op = operator(system, LU(), False)
    u = random(system.size)
    np.testing.assert_allclose(op(u), np.sqrt(system.weights) * (u.numpy() - system.solution), atol=1e-11)
    assert op.target_norm == pytest.approx(system.norm(system.solution))


@pytest.mark.parametrize("dense", [True, False])
def test_single_precision(system, dense):
    op, exact = operator(system, ILU(), dense, dtype=torch.float32), operator(system, ILU(), dense)
    u = random(system.size)
    r = op(u.float().requires_grad_())
    assert r.dtype == torch.float32
    torch.testing.assert_close(r.detach().double(), exact(u), rtol=1e-4, atol=1e-5)
    r.sum().backward()


def test_blocks_of_columns_make_the_same_matrix(system, monkeypatch):
    whole = operator(system, ILU(), True)._explicit
    monkeypatch.setattr("pcpinn.precondition.operator._BLOCK", 7)
    torch.testing.assert_close(operator(system, ILU(), True)._explicit, whole)


def test_choice_of_dense(system, monkeypatch):
    assert operator(system, LU(), "auto").dense is True
    assert poisson(1, 1500).size ** 2 * 8 > 8 * 2**20
    assert operator(poisson(1, 1500), LU(), "auto").dense is False
    with pytest.raises(PcpinnError, match="dense='yes'"):
        operator(system, LU(), "yes")
    monkeypatch.setattr("pcpinn.precondition.operator._DENSE_BYTES", 100)
    with pytest.raises(PcpinnError, match="a dense P\\^-1 A of 25 degrees of freedom"):
        operator(system, LU(), True)


def test_description(system):
    facts = operator(system, ILU(), False).describe()
    assert facts["name"] == "ilu"
    assert facts["dense"] is False
    assert {"drop_tolerance", "fill_factor", "fill", "setup_s"} <= facts.keys()
