"""P on tensors against P on the host: triangular solves, permutations, dense matrices, and the operator over them."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from cases import poisson

from pcpinn.errors import PcpinnError
from pcpinn.precondition import AMG, ILU, LU, Identity, Jacobi, PreconditionedResidual, Refined, RowBalancing
from pcpinn.precondition import operator as operator_module
from pcpinn.precondition.dense import dense_on_device, dense_on_host
from pcpinn.precondition.device_factors import FactorSolver
from pcpinn.precondition.maps import HostSolver
from pcpinn.precondition.torch_sparse import csr_tensor
from pcpinn.precondition.triangular import Blocks, Sweeps

F64 = torch.float64
CPU = torch.device("cpu")
PRECONDITIONERS = {
    "jacobi": Jacobi(),
    "row-balancing": RowBalancing(),
    "none": Identity(),
    "lu": LU(),
    "ilu": ILU(1e-3, 10.0),
    "other order": ILU(1e-3, 10.0, ordering="mmd"),
    "refined": Refined(ILU(1e-2, 5.0), 2),
}
METHODS = [("sweeps", None), ("blocks", 7), ("blocks", 64), ("blocks", 1000), ("host", None)]


@pytest.fixture(scope="module")
def system():
    """Convects: neither the matrix nor its factors are symmetric."""
    return poisson(2, 7, 2)


def random(*shape, seed=0):
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def close(a, b, tolerance):
    a, b = np.asarray(a), np.asarray(b)
    assert np.linalg.norm(a - b) <= tolerance * np.linalg.norm(b)


def test_sparse_tensors():
    M = sp.random_array((30, 20), density=0.2, rng=0, format="csr")
    x = random(20, 3)
    torch.testing.assert_close(csr_tensor(M, F64, CPU) @ x, torch.from_numpy(M.toarray()) @ x)
    assert csr_tensor(M, torch.float32, CPU).dtype == torch.float32
    assert csr_tensor(sp.csr_matrix((3, 4)), F64, CPU) @ torch.ones(4, dtype=F64) == pytest.approx(0)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("lower", [True, False])
def test_triangular_solves_against_dense_ones(lower, transpose):
    rng = np.random.default_rng(0)
    M = (np.tril if lower else np.triu)(rng.normal(size=(40, 40)) * (rng.random((40, 40)) < 0.2), -1 if lower else 1)
    T = sp.csr_matrix(M + np.diag(rng.uniform(1, 3, 40)))
    r = random(40, 2)
    exact = np.linalg.solve(T.toarray().T if transpose else T.toarray(), r.numpy())
    for block in (1, 9, 40, 100):
        solver = Blocks(T, lower, block, F64, CPU)
        close(solver.solve(r, transpose), exact, 1e-11)
        close(solver.solve(r[:, 0].contiguous(), transpose), exact[:, 0], 1e-11)
    sweeps = Sweeps(T, F64, CPU)
    sweeps.count = sweeps.count_transposed = 40  # nilpotent: exact after as many sweeps as rows
    close(sweeps.solve(r, transpose), exact, 1e-8)


def test_sweeps_that_grow_are_refused():
    T = sp.csr_matrix(np.eye(60) + np.tril(np.full((60, 60), 30.0), -1))
    assert not Sweeps(T, F64, CPU).set_count(random(60, 1), False, 1e-6, 200)
    decaying = sp.csr_matrix(np.eye(60) + 0.3 * np.eye(60, k=-1))
    solver = Sweeps(decaying, F64, CPU)
    assert not solver.set_count(random(60, 1), False, 1e-12, 3)
    assert solver.set_count(random(60, 1), False, 1e-6, 200)
    assert 5 < solver.count < 30


@pytest.mark.parametrize(("method", "block"), METHODS)
@pytest.mark.parametrize("name", ["lu", "ilu", "other order"])
def test_factors(system, name, method, block):
    p = PRECONDITIONERS[name]
    state = p.build(system.A)
    solver = FactorSolver(state.lu, F64, CPU, 1e-7, method=method, block=block)
    assert solver.method == method == solver.describe()["triangular"]
    tolerance = 2e-6 if method == "sweeps" else 1e-12
    for r in (random(system.size), random(system.size, 3), random(3, system.size).T):
        close(solver.apply(r), p.apply(state, r.numpy()), tolerance)
        close(solver.apply_transpose(r), p.apply_transpose(state, r.numpy()), tolerance)
    assert solver.error <= 1e-7


def test_adjoint_of_blocks(system):
    solver = FactorSolver(ILU(1e-3).build(system.A).lu, F64, CPU, method="blocks", block=50)
    x, y = random(system.size), random(system.size, seed=1)
    assert float(solver.apply(x) @ y) == pytest.approx(float(x @ solver.apply_transpose(y)), rel=1e-12)


def test_sweep_counts_follow_the_tolerance(system):
    lu = ILU(1e-4).build(system.A).lu
    rough, fine = (FactorSolver(lu, F64, CPU, t, method="sweeps") for t in (1e-2, 1e-8))
    assert sum(rough.describe()["sweeps"]) < sum(fine.describe()["sweeps"])
    assert fine.error <= 1e-8
    assert rough.error <= 1e-2


def test_a_wave_takes_blocks_and_a_hopeless_matrix_the_host():
    """Sweeps diverge for factors that do not decay; blocks are exact; where even they are not, SuperLU stays."""
    n = 300
    wave = sp.csr_matrix(sp.diags_array([1.0, -1.9, 1.0], offsets=[0, -1, -2], shape=(n, n)))
    state = LU().build(wave)
    assert FactorSolver(state.lu, F64, CPU, method="sweeps").method == "host"
    solver = LU().on_device(state, F64, CPU)
    assert solver.method == "blocks"
    r = random(n)
    close(solver.apply(r), LU().apply(state, r.numpy()), 1e-9)
    refused = FactorSolver(state.lu, F64, CPU, tolerance=1e-30)
    assert refused.method == "host"
    assert "host" in refused.describe()["note"]
    close(refused.apply(r), LU().apply(state, r.numpy()), 1e-15)


def test_single_precision_factors(system):
    p = ILU(1e-3)
    state = p.build(system.A)
    r = random(system.size)
    for method in ("sweeps", "blocks"):
        solver = FactorSolver(state.lu, torch.float32, CPU, method=method, block=40)
        assert solver.method == method
        assert solver.apply(r.float()).dtype == torch.float32
        close(solver.apply(r.float()).double(), p.apply(state, r.numpy()), 1e-4)


@pytest.mark.parametrize("block", [None, 17])
@pytest.mark.parametrize("name", PRECONDITIONERS)
def test_dense_matrix_on_device_and_on_host(system, name, block):
    p = PRECONDITIONERS[name]
    state, scale = p.build(system.A), np.sqrt(system.weights)
    host = dense_on_host(system.A, p, state, scale, 50, F64, CPU)
    device = dense_on_device(system.A, p.on_device(state, F64, CPU, columns=512), torch.from_numpy(scale), F64, block)
    close(device, host, 1e-11 if name != "refined" else 1e-5)
    exact = scale[:, None] * p.apply(state, system.A.toarray())
    close(host, exact, 1e-12)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("name", PRECONDITIONERS)
def test_operator_over_tensors(system, name, dense):
    """The operator gives the same numbers either way, and u_h has no residual."""
    p = PRECONDITIONERS[name]
    host, device = (
        PreconditionedResidual(system.A, system.b, p, system.weights, dense, on_device=flag) for flag in (False, True)
    )
    tolerance = 1e-5 if name in ("ilu", "lu", "refined", "other order") else 1e-12
    u = random(system.size)
    close(device(u), host(u), tolerance)
    close(device.apply(random(system.size, 3)), host.apply(random(system.size, 3)), tolerance)
    close(device.apply_transpose(u), host.apply_transpose(u), tolerance)
    assert device.target_norm == pytest.approx(host.target_norm, rel=tolerance)
    # P^-1 is the same for A u and for b: the residual of u_h is rounding, however rough the sweeps are.
    residual = device(torch.from_numpy(system.solution)).norm()
    assert float(residual) < 1e-11 * host.target_norm


@pytest.mark.parametrize("name", PRECONDITIONERS)
def test_gradient_over_tensors(name):
    small = poisson(2, 4)
    op = PreconditionedResidual(small.A, small.b, PRECONDITIONERS[name], small.weights, dense=False, on_device=True)
    assert torch.autograd.gradcheck(op, (random(small.size).requires_grad_(),), eps=1e-5, atol=1e-5)
    assert torch.autograd.gradcheck(op.apply, (random(small.size, 2).requires_grad_(),), eps=1e-5, atol=1e-5)
    x, y = random(small.size), random(small.size, seed=1)
    assert float(op.apply(x) @ y) == pytest.approx(float(x @ op.apply_transpose(y)), rel=1e-5)


def test_single_precision_operator_works_in_double(system):
    """u is single, the solves are not: the error is that of rounding u, not the condition of A times it."""
    op = PreconditionedResidual(
        system.A, system.b, LU(), system.weights, dense=False, dtype=torch.float32, on_device=True
    )
    u = random(system.size).float().requires_grad_()
    r = op(u)
    assert r.dtype == torch.float32
    close(r.detach().double(), np.sqrt(system.weights) * (u.detach().double().numpy() - system.solution), 1e-5)
    r.sum().backward()
    assert u.grad.dtype == torch.float32


def test_description_tells_the_method(system):
    facts = PreconditionedResidual(system.A, system.b, ILU(), system.weights, dense=False, on_device=True).describe()
    assert facts["triangular"] in ("sweeps", "blocks")
    assert facts["error"] <= 1e-6


def test_who_works_in_torch(system):
    def uses_torch(p):
        symmetric = sp.csr_matrix(system.A + system.A.T)
        operator = PreconditionedResidual(symmetric, system.b, p, system.weights, dense=False)
        return not isinstance(operator.solver, HostSolver)

    assert not uses_torch(ILU())
    assert uses_torch(AMG())


def test_a_preconditioner_without_a_device_form_uses_the_host(system, monkeypatch):
    monkeypatch.setattr(Jacobi, "on_device", lambda *_: None)
    op = PreconditionedResidual(system.A, system.b, Jacobi(), system.weights, dense=False, on_device=True)
    u = random(system.size)
    close(op.apply(u), np.sqrt(system.weights) * (system.A @ u.numpy()) / system.A.diagonal(), 1e-12)
    assert Refined(Jacobi(), 1).on_device(Refined(Jacobi(), 1).build(system.A), F64, CPU) is None


def test_wrong_choice_of_dense_comes_before_the_work(system, monkeypatch):
    monkeypatch.setattr(operator_module, "_DENSE_BYTES", 100)
    broken = sp.csr_matrix(system.A.shape)
    with pytest.raises(PcpinnError, match="a dense P"):
        PreconditionedResidual(broken, system.b, LU(), system.weights, dense=True)
