"""Every preconditioner: P^-1 and its adjoint against dense algebra, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import poisson

from pcpinn.errors import PcpinnError
from pcpinn.precondition import ILU, LU, Identity, Jacobi, RowBalancing

EXACT = {"jacobi": Jacobi(), "row-balancing": RowBalancing(), "none": Identity(), "lu": LU()}
ALL = EXACT | {"ilu": ILU(), "rough ilu": ILU(drop_tolerance=0.1, fill_factor=1.5)}


@pytest.fixture(scope="module")
def A():
    """Not symmetric: the problem convects."""
    return poisson(2, 6, 2).A


def dense(name, A):
    """P itself, from its definition."""
    return {
        "jacobi": lambda: np.diag(np.diag(A.toarray())),
        "row-balancing": lambda: np.diag(np.linalg.norm(A.toarray(), axis=1)),
        "none": lambda: np.eye(A.shape[0]),
        "lu": lambda: A.toarray(),
    }[name]()


def from_factors(lu):
    """P from SuperLU's permutations and triangles: Pr P Pc = L U."""
    n = lu.shape[0]
    Pr = sp.csc_matrix((np.ones(n), (lu.perm_r, np.arange(n))))
    Pc = sp.csc_matrix((np.ones(n), (np.arange(n), lu.perm_c)))
    return (Pr.T @ (lu.L @ lu.U) @ Pc.T).toarray()


@pytest.mark.parametrize("shape", [(), (1,), (3,)])
@pytest.mark.parametrize("name", EXACT)
def test_inverse_of_the_dense_matrix(A, name, shape):
    p = EXACT[name]
    state, P = p.build(A), dense(name, A)
    r = np.random.default_rng(0).normal(size=(A.shape[0], *shape))
    np.testing.assert_allclose(P @ p.apply(state, r), r, atol=1e-10)
    np.testing.assert_allclose(P.T @ p.apply_transpose(state, r), r, atol=1e-10)
    assert p.apply(state, r).shape == p.apply_transpose(state, r).shape == r.shape


@pytest.mark.parametrize("name", ["ilu", "rough ilu"])
def test_inverse_of_the_product_of_the_factors(A, name):
    p = ALL[name]
    state = p.build(A)
    P = from_factors(state.lu)
    r = np.random.default_rng(0).normal(size=(A.shape[0], 3))
    np.testing.assert_allclose(P @ p.apply(state, r), r, atol=1e-10)
    np.testing.assert_allclose(P.T @ p.apply_transpose(state, r), r, atol=1e-10)
    assert np.abs(P - A.toarray()).max() > 1e-12


@pytest.mark.parametrize("name", ALL)
def test_transpose_is_the_adjoint(A, name):
    p = ALL[name]
    state = p.build(A)
    x, y = np.random.default_rng(1).normal(size=(2, A.shape[0]))
    assert p.apply(state, x) @ y == pytest.approx(x @ p.apply_transpose(state, y), rel=1e-11)


@pytest.mark.parametrize("name", ALL)
def test_columns_are_treated_one_by_one(A, name):
    p = ALL[name]
    state = p.build(A)
    r = np.random.default_rng(2).normal(size=(A.shape[0], 4))
    for method in (p.apply, p.apply_transpose):
        each = np.column_stack([method(state, r[:, k]) for k in range(4)])
        np.testing.assert_allclose(method(state, r), each, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(method(state, np.asfortranarray(r)), each, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ALL)
def test_arguments_are_left_alone(A, name):
    p = ALL[name]
    before, r = A.copy(), np.ones(A.shape[0])
    p.apply(p.build(A), r)
    assert abs(A - before).nnz == 0
    assert np.all(r == 1)


def test_smaller_drop_tolerance_comes_closer_to_the_matrix(A):
    def distance(tolerance):
        p = ILU(tolerance, fill_factor=50)
        state = p.build(A)
        return np.abs(p.apply(state, A.toarray()) - np.eye(A.shape[0])).max(), state.fill

    errors, fills = zip(*(distance(t) for t in (1e-1, 1e-2, 1e-4, 1e-8)), strict=True)
    assert np.all(np.diff(errors) < 0)
    assert np.all(np.diff(fills) > 0)
    assert errors[-1] < 1e-6


def test_lu_is_exact(A):
    p = LU()
    np.testing.assert_allclose(p.apply(p.build(A), A.toarray()), np.eye(A.shape[0]), atol=1e-11)


def test_descriptions_are_plain(A):
    assert ILU(1e-3, 5.0).describe(ILU(1e-3, 5.0).build(A)).keys() == {"drop_tolerance", "fill_factor", "fill"}
    assert LU().describe(LU().build(A))["fill"] > 1
    assert Jacobi().describe(Jacobi().build(A)) == {}


SINGULAR = {
    "zero diagonal": sp.csr_matrix([[0.0, 1.0], [1.0, 2.0]]),
    "empty row": sp.csr_matrix([[1.0, 1.0], [0.0, 0.0]]),
    "rank one": sp.csr_matrix([[1.0, 2.0], [2.0, 4.0]]),
    "nothing": sp.csr_matrix((2, 2)),
}


@pytest.mark.parametrize(
    ("name", "matrix", "message"),
    [
        ("jacobi", "zero diagonal", "1 of 2 entries vanish"),
        ("jacobi", "nothing", "2 of 2 entries vanish"),
        ("row-balancing", "empty row", "a row of the matrix is empty"),
        ("lu", "empty row", "factorisation"),
        ("lu", "rank one", "factorisation"),
        ("lu", "nothing", "factorisation"),
        ("ilu", "empty row", "factorisation"),
        ("ilu", "nothing", "factorisation"),
        ("ilu", "rank one", "factorisation"),
    ],
)
def test_singular_matrices_are_refused(name, matrix, message):
    with pytest.raises(PcpinnError, match=message) as caught:
        ALL[name].build(SINGULAR[matrix])
    assert caught.value.remedy


def test_zero_diagonal_is_no_trouble_for_others():
    for name in ("row-balancing", "lu", "none"):
        ALL[name].build(SINGULAR["zero diagonal"])
