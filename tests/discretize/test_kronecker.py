"""Sums of Kronecker products."""

import numpy as np
import pytest
import scipy.sparse as sp

from pcpinn.discretize.kronecker import Kronecker, kronecker_sum


def sparse(n, seed, density=0.4):
    M = sp.random(n, n, density, format="csr", random_state=seed)
    return sp.csr_matrix(M + sp.identity(n))


@pytest.fixture
def parts():
    fixed_layers, fixed_nodes = np.zeros(4, dtype=bool), np.zeros(5, dtype=bool)
    fixed_layers[0] = fixed_nodes[2] = True
    terms = tuple((sparse(4, k), sparse(5, 10 + k)) for k in range(3))
    return Kronecker(terms, fixed_layers, fixed_nodes)


def dense(parts):
    return sum(np.kron(B.toarray(), K.toarray()) for B, K in parts.terms)


def test_sum_of_products(parts):
    A = kronecker_sum(parts.terms)
    np.testing.assert_allclose(A.toarray(), dense(parts))
    assert A.has_canonical_format or A.has_sorted_indices


def test_application_without_the_matrix(parts):
    u = np.random.default_rng(0).normal(size=20)
    np.testing.assert_allclose(parts.apply(u), dense(parts) @ u)


def test_prescribed_layers_and_nodes_keep_a_one(parts):
    fixed = (parts.fixed_layers[:, None] | parts.fixed_nodes[None, :]).ravel()
    wanted = dense(parts)
    wanted[fixed] = wanted[:, fixed] = 0
    wanted[fixed, fixed] = 1
    np.testing.assert_allclose(parts.matrix_of_free().toarray(), wanted)


def test_rows_of_different_length():
    B = sp.csr_matrix(np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [3.0, 0.0, 4.0]]))
    K = sp.csr_matrix(np.array([[0.0, 5.0], [0.0, 0.0]]))
    np.testing.assert_allclose(kronecker_sum([(B, K)]).toarray(), np.kron(B.toarray(), K.toarray()))
