"""P of a march: exact where matrices do not change in a step, transposes, polynomials."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from memory_of_tensors import most_held
from over_time import convection, membrane, ring

from pcpinn import PcpinnError
from pcpinn.discretize.step_scheme import Layers, step_scheme
from pcpinn.discretize.window import MarchSpace, Window
from pcpinn.mesh.generate import generate_mesh
from pcpinn.precondition import stages
from pcpinn.precondition.dense_step import DenseSolver, dense_bytes
from pcpinn.precondition.polynomial import PolynomialSolver
from pcpinn.precondition.stages import Stages, window_residual
from pcpinn.precondition.torch_sparse import csr_tensor


def window_of(problem, cells, scheme, order, times):
    mesh = generate_mesh(problem.domain.shape, cells=cells, periodic=problem.periodic_pairs)
    space = MarchSpace(problem, mesh, (0.0, 1.0), 2)
    steps = step_scheme(scheme, order)
    return Window(space, Layers(steps, times), space.initial_values()[None].repeat(steps.history, 1))


def random_like(window, count=2):
    generator = torch.Generator().manual_seed(0)
    shape = (window.layers.count, window.space.size)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(count)]


@pytest.mark.parametrize(
    ("scheme", "order"), [("radau", 3), ("gauss", 3), ("euler", 1), ("crank-nicolson", 1), ("bdf2", 1)]
)
@pytest.mark.parametrize("make", [ring, membrane])
def test_exact_for_steady_coefficients(make, scheme, order):
    problem = make()
    cells = (4,) * (problem.domain.dimension - 1)
    window = window_of(problem, cells, scheme, order, np.array([0.0, 0.1, 0.2]))
    R, S = random_like(window)
    matrix = window.linearise(R)
    solver = Stages().build(matrix)
    torch.testing.assert_close(matrix.apply(solver.apply(R, matrix)), R, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(matrix.apply_transpose(solver.apply_transpose(R, matrix)), R, rtol=1e-7, atol=1e-7)
    assert float((S * solver.apply(R, matrix)).sum()) == pytest.approx(
        float((R * solver.apply_transpose(S, matrix)).sum()), rel=1e-8
    )


@pytest.mark.parametrize(("make", "rates"), [(membrane, True), (ring, False)])
def test_fields_that_are_rates_are_eliminated(monkeypatch, make, rates):
    """The answers are those of factors of all degrees of freedom, which a wave needs half of."""
    cells = (4,) * (make().domain.dimension - 1)
    window = window_of(make(), cells, "radau", 3, np.array([0.0, 0.1]))
    R, _ = random_like(window)
    matrix, found, usual = window.linearise(R), [], stages.condensed

    def spied(space, *rest):
        found.append(usual(space, *rest))
        return found[-1]

    monkeypatch.setattr(stages, "condensed", spied)
    fewer = Stages(solves="factors").build(matrix)
    monkeypatch.setattr(stages, "condensed", lambda *_: None)
    every = Stages(solves="factors").build(matrix)
    assert [one is not None for one in found] == [rates]
    if rates:
        assert 2 * len(found[0].kept) <= window.space.size
    torch.testing.assert_close(fewer.apply(R, matrix), every.apply(R, matrix), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(fewer.apply_transpose(R, matrix), every.apply_transpose(R, matrix), rtol=1e-9, atol=1e-9)


def test_nearly_exact_for_others_and_refined():
    window = window_of(convection(), (6,), "radau", 3, np.array([0.0, 0.1]))
    R, U = random_like(window)
    matrix = window.linearise(U)
    solver = Stages().build(matrix)
    errors = []
    for refinement in (0, 2):
        operator = window_residual(matrix, R, solver, np.ones(R.numel()), refinement)
        errors.append(float((matrix.apply(operator.solver.apply(R)) - R).norm() / R.norm()))
    assert errors[0] < 0.5
    assert errors[1] < errors[0] ** 2


def test_residual_is_differentiable():
    window = window_of(convection(), (4,), "radau", 2, np.array([0.0, 0.1]))
    R, U = random_like(window)
    matrix = window.linearise(U)
    operator = window_residual(matrix, R, Stages().build(matrix), np.linspace(1, 2, R.numel()), 1)
    u = U.reshape(-1).clone().requires_grad_(True)
    assert torch.autograd.gradcheck(operator, (u,), atol=1e-5)
    other = operator.reweighted(np.full(R.numel(), 4.0))
    plain = operator.reweighted(np.ones(R.numel()))
    torch.testing.assert_close(other(u), 2 * plain(u))


def test_polynomial_solves_what_a_diagonal_nearly_does():
    rng = np.random.default_rng(0)
    noise = sp.random(300, 300, 0.01, random_state=1) * 0.5
    A = sp.csr_matrix(sp.diags(rng.uniform(1, 3, 300)) + noise + 0.2j * noise.T)
    tensor = [csr_tensor(sp.csr_matrix(m), torch.complex128, "cpu") for m in (A, A.T)]
    errors = []
    for degree in (4, 12, 24):
        solver = PolynomialSolver(*tensor, torch.from_numpy(A.diagonal()), degree)
        r = torch.from_numpy(rng.normal(size=300) + 0j)
        for transpose, M in ((False, A), (True, A.T)):
            x = solver.solve(r, transpose).numpy()
            assert np.linalg.norm(M @ x - r.numpy()) / np.linalg.norm(r.numpy()) < 3 * solver.error + 1e-12
        errors.append(solver.error)
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


@pytest.mark.parametrize(("length", "good"), [(0.01, True), (1e4, False)])
def test_a_polynomial_of_a_long_step_of_diffusion_is_seen_to_miss_smooth_functions(length, good):
    """The residual for a random right-hand side hides them."""
    n = 120
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
    A = sp.csr_matrix(sp.identity(n * n) + length * (sp.kron(line, sp.identity(n)) + sp.kron(sp.identity(n), line)))
    tensor = [csr_tensor(sp.csr_matrix(m), torch.complex128, "cpu") for m in (A, A.T)]
    solver = PolynomialSolver(*tensor, torch.from_numpy(A.diagonal() + 0j))
    assert solver.error < 0.1
    smooth = torch.from_numpy(np.outer(*[np.sin(np.pi * np.arange(1, n + 1) / (n + 1))] * 2).reshape(-1) + 0j)
    missed = float((smooth - solver.solve(tensor[0] @ smooth, False)).norm() / smooth.norm())
    assert (missed < 0.05) == good
    assert (solver.left() < 0.05) == good
    assert good or solver.left() > 0.5


def test_singular_steps_are_refused():
    window = window_of(ring(), (4,), "euler", 1, np.array([0.0, 0.1]))
    matrix = window.linearise(random_like(window)[0])
    matrix.pairs = [(0 * k, 0 * m) for k, m in matrix.pairs]
    with pytest.raises(PcpinnError, match="factorisation of a step"):
        Stages().build(matrix)


@pytest.mark.parametrize(("scheme", "order"), [("radau", 2), ("euler", 1)])
def test_uncoupled_steps_are_solved_each_on_its_own(scheme, order):
    window = window_of(ring(), (6,), scheme, order, np.array([0.0, 0.1, 0.2, 0.3]))
    R, S = random_like(window)
    matrix = window.linearise(R)
    solver = Stages(coupled=False).build(matrix)
    X = solver.apply(R, matrix)
    for s in range(3):
        only = torch.zeros_like(R)
        step = slice(s * order, (s + 1) * order)
        only[step] = X[step]
        torch.testing.assert_close(matrix.apply(only)[step], R[step], rtol=1e-8, atol=1e-8)
    assert float((S * X).sum()) == pytest.approx(float((R * solver.apply_transpose(S, matrix)).sum()), rel=1e-8)
    assert not torch.allclose(X, Stages().build(matrix).apply(R, matrix))


@pytest.mark.parametrize("drop", [1e-1, 1e-3])
def test_incomplete_factors_as_a_dense_matrix_are_the_same_p(drop):
    window = window_of(membrane(), (6, 6), "euler", 1, np.array([0.0, 0.1, 0.2]))
    R, _ = random_like(window)
    matrix = window.linearise(R)
    factors = Stages(drop_tolerance=drop, solves="factors", coupled=False).build(matrix)
    dense = Stages(drop_tolerance=drop, solves="dense", coupled=False).build(matrix)
    X = factors.apply(R, matrix)
    torch.testing.assert_close(dense.apply(R, matrix), X, rtol=1e-8, atol=1e-8)
    Y = factors.apply_transpose(R, matrix)
    torch.testing.assert_close(dense.apply_transpose(R, matrix), Y, rtol=1e-8, atol=1e-8)
    exact = Stages(coupled=False).build(matrix)
    assert not torch.allclose(exact.apply(R, matrix), X, rtol=1e-6, atol=1e-6)
    facts = dense.describe()
    assert (facts["solves"], facts["drop_tolerance"]) == ("dense inverse of the factors", drop)


def test_a_drop_tolerance_is_never_overruled_by_a_polynomial():
    """Short steps of diffusion: without one a polynomial would do."""
    window = window_of(convection(), (1600,), "euler", 1, np.array([0.0, 1e-9]))
    matrix = window.linearise(random_like(window)[0])
    assert Stages().build(matrix).describe()["solves"] == "polynomial"
    assert Stages(drop_tolerance=1e-1).build(matrix).describe()["solves"] == "factors"


def test_a_polynomial_has_no_drop_tolerance():
    with pytest.raises(PcpinnError, match="no effect with solves=polynomial"):
        Stages(drop_tolerance=1e-1, solves="polynomial")


@pytest.mark.parametrize(("scheme", "order", "drop"), [("gauss", 4, 0.0), ("radau", 3, 0.0), ("euler", 1, 1e-2)])
def test_inverses_in_single_precision_are_as_exact(scheme, order, drop):
    """Where double does not fit; half the memory, and the same P after corrections."""
    window = window_of(membrane(), (6, 6), scheme, order, np.array([0.0, 0.1]))
    R, _ = random_like(window)
    matrix = window.linearise(R)
    modes = [True] * (order // 2) + [False] * (order % 2)
    double, single = (dense_bytes(window.space.size, modes, s) for s in (False, True))
    assert single == double / 2
    exact, found = (
        Stages(solves="dense", drop_tolerance=drop, room=room).build(matrix) for room in (double, 0.99 * double)
    )
    assert "float32" not in exact.describe()["solves"]
    assert found.describe()["solves"].endswith("in float32")
    for side in ("apply", "apply_transpose"):
        X = getattr(exact, side)(R, matrix)
        assert float((getattr(found, side)(R, matrix) - X).norm()) < 1e-10 * float(X.norm())
    with pytest.raises(PcpinnError, match="do not fit into the memory"):
        Stages(solves="dense", drop_tolerance=drop, room=0.99 * single).build(matrix)


def test_inverses_hold_no_more_than_is_said():
    A = sp.csr_matrix(sp.random(300, 300, 0.02, random_state=0) + 10 * sp.eye(300))
    made = []
    held = most_held(lambda: made.append(DenseSolver(A, torch.device("cpu"))))
    assert 0.5 * dense_bytes(300, [False]) < held < 1.05 * dense_bytes(300, [False])


def test_a_matrix_that_single_precision_cannot_invert_is_told():
    A = sp.csr_matrix(np.vander(np.linspace(0.5, 1.5, 12)))  # rows of one size: scaling does not help
    assert DenseSolver(A, torch.device("cpu")).exact
    assert not DenseSolver(A, torch.device("cpu"), precision=torch.float32).exact


def test_a_singular_matrix_is_refused():
    with pytest.raises(PcpinnError, match="singular"):
        DenseSolver(sp.csr_matrix(np.ones((3, 3))), torch.device("cpu"))
