"""Against dense linear algebra."""

import numpy as np
import pytest
import scipy.sparse as sp

from pcpinn.precondition.inverse_norm import explicit, measures
from pcpinn.precondition import AMG, ILU, LU, Identity, Jacobi, RowBalancing


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


def test_what_has_no_matrix_has_no_condition_number():
    n = 40
    A = sp.diags([-np.ones(n - 1), 2.1 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1]).tocsr()
    preconditioner = AMG()
    found = measures(A, np.ones(n), preconditioner, preconditioner.build(A))
    assert found["condition"] is None
    assert found["applied_error"] < 1
    assert "amg" in found["note"]
