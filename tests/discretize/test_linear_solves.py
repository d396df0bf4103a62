"""Sparse factors: how they are ordered, and what they solve."""

import numpy as np
import pytest
import scipy.sparse as sp

from pcpinn.discretize.linear_solves import Factors, elimination_order, solve_krylov, solve_sparse
from pcpinn.errors import PcpinnError


def laplacian(n):
    one = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
    return sp.csr_matrix(sp.kron(one, sp.eye(n)) + sp.kron(sp.eye(n), one))


def saddle(n):
    A = laplacian(n)
    B = sp.random(n, n * n, density=0.3, random_state=0)
    return sp.csr_matrix(sp.bmat([[A, B.T], [B, None]]))


def test_a_matrix_with_pivots_on_its_diagonal_is_ordered_by_its_symmetric_pattern():
    A = laplacian(40)
    assert elimination_order(A)["permc_spec"] == "MMD_AT_PLUS_A"
    usual = sp.linalg.splu(A.tocsc())
    assert Factors(A)._lu.nnz < 0.7 * usual.nnz


def test_a_saddle_point_keeps_free_pivots():
    A = saddle(6)
    assert elimination_order(A)["permc_spec"] == "COLAMD"
    r = np.random.default_rng(0).normal(size=A.shape[0])
    np.testing.assert_allclose(A @ Factors(A).apply(r), r, atol=1e-8)
    np.testing.assert_allclose(A.T @ Factors(A).apply_transpose(r), r, atol=1e-8)


def test_a_singular_matrix_is_refused():
    A = sp.csr_matrix(np.array([[1.0, 1.0], [1.0, 1.0]]))
    with pytest.raises(PcpinnError):
        solve_sparse(A, np.ones(2))


def test_krylov_solves_say_when_they_did_not_converge():
    A, b = laplacian(30), np.ones(900)
    assert solve_krylov(A, b, lambda r: r / 4, 1e-12, steps=3) is None
    factors = Factors(A)
    np.testing.assert_allclose(solve_krylov(A, b, factors.apply, 1e-12), factors.apply(b), rtol=1e-9)
