"""Against dense linear algebra."""

import numpy as np
import pytest
import scipy.sparse as sp

from pcpinn.errors import PcpinnError
from pcpinn.precondition import AMG, ILU, LU, Identity, Jacobi, Refined, RowBalancing
from pcpinn.precondition.inverse_norm import explicit, factorised_inverse, largest_singular, measures


def matrix(n=60, seed=0):
    generator = np.random.default_rng(seed)
    A = sp.random(n, n, 0.08, random_state=generator, format="csr") + sp.diags(generator.uniform(1.5, 3.0, n))
    return A.tocsr(), generator.normal(size=n)


CASES = [ILU(0.2, 3.0), ILU(1e-3), LU(), Jacobi(), RowBalancing(), Identity()]


@pytest.mark.parametrize("preconditioner", CASES, ids=repr)
@pytest.mark.parametrize("n", [12, 60])
def test_measures(preconditioner, n):
    A, b = matrix(n)
    state = preconditioner.build(A)
    P = np.linalg.inv(preconditioner.apply(state, np.eye(n)))
    u, applied = np.linalg.solve(A.toarray(), b), np.linalg.solve(P, b)
    found = measures(A, b, preconditioner, state)
    condition = np.linalg.norm(applied) / np.linalg.norm(u) * np.linalg.norm(np.linalg.solve(A.toarray(), P), 2)
    assert found["condition"] == pytest.approx(condition, rel=1e-3)
    error = np.linalg.norm(applied - u) / np.linalg.norm(u)
    assert found["applied_error"] == pytest.approx(error, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("preconditioner", CASES, ids=repr)
def test_explicit_is_the_inverse_of_apply(preconditioner):
    A, b = matrix()
    state = preconditioner.build(A)
    P = explicit(preconditioner, state)
    np.testing.assert_allclose(P.matvec(preconditioner.apply(state, b)), b, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(P.rmatvec(preconditioner.apply_transpose(state, b)), b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_what_has_no_matrix_is_inverted_by_iteration(weighted):
    n = 40
    A = sp.diags([-np.ones(n - 1), 2.0001 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1]).tocsr()
    preconditioner = AMG(cycles=1, smoother_steps=1)
    state = preconditioner.build(A)
    weights = np.linspace(1, 5, n) if weighted else None
    root = np.sqrt(weights) if weighted else np.ones(n)
    B = np.column_stack([preconditioner.apply(state, column) for column in A.toarray().T]) * root[:, None] / root
    found = measures(A, np.ones(n), preconditioner, state, weights)
    assert found["inverse_norm"] == pytest.approx(np.linalg.norm(np.linalg.inv(B), 2), rel=1e-3)
    assert found["condition"] == pytest.approx(found["inverse_norm"] * found["ratio"])


def test_a_bad_preconditioner_without_matrix_has_no_condition_number():
    A = sp.diags(np.geomspace(1, 1e12, 200)).tocsr()
    hidden = Refined(Identity(), 1)
    found = measures(A, np.ones(200), hidden, hidden.build(A))
    assert found["condition"] is None
    assert "too far from the identity" in found["note"]


class TestLargestSingular:
    """Against dense decompositions."""

    @pytest.mark.parametrize("shape", [(1, 1), (5, 5), (30, 70), (70, 30), (200, 200)])
    def test_random(self, shape):
        S = np.random.default_rng(3).normal(size=shape)
        value, v = largest_singular(lambda x: S @ x, lambda y: S.T @ y, shape[1])
        assert value == pytest.approx(np.linalg.norm(S, 2), rel=1e-6)
        assert np.linalg.norm(v) == pytest.approx(1)
        assert np.linalg.norm(S @ v) == pytest.approx(value, rel=1e-6)

    def test_inner_product(self):
        generator = np.random.default_rng(4)
        S, G = generator.normal(size=(40, 40)), np.diag(generator.uniform(1, 9, 40))
        adjoint = np.linalg.solve(G, S.T)
        value, v = largest_singular(lambda x: S @ x, lambda y: adjoint @ y, 40, lambda x: G @ x)
        assert value == pytest.approx(np.linalg.norm(S / np.sqrt(np.diag(G)), 2), rel=1e-6)
        assert v @ G @ v == pytest.approx(1)

    def test_restarts(self):
        """Two values close together, more steps than a basis holds."""
        values = np.concatenate([np.linspace(0, 1, 3000), [1.004, 1.005]])
        value, v = largest_singular(lambda x: values * x, lambda y: values * y, len(values), tolerance=1e-7)
        assert value == pytest.approx(1.005, rel=1e-9)
        assert abs(v[-1]) == pytest.approx(1, abs=1e-4)

    def test_the_identity_and_zero(self):
        assert largest_singular(lambda x: x, lambda x: x, 50)[0] == pytest.approx(1)
        assert largest_singular(lambda x: 0 * x, lambda x: 0 * x, 50)[0] == 0

    def test_a_singular_matrix(self):
        with pytest.raises(PcpinnError, match="singular"):
            factorised_inverse(sp.csr_matrix(np.ones((3, 3))))
