"""How good P is, how refinement makes it better, and how the drop tolerance is found."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from cases import poisson, two_fields

from pcpinn.errors import PcpinnError
from pcpinn.precondition import (
    ILU,
    LU,
    AutoILU,
    Identity,
    Jacobi,
    PreconditionedResidual,
    Refined,
    estimate_quality,
    tighten,
)
from pcpinn.precondition.quality import constrained_rows, smooth_functions


@pytest.fixture(scope="module")
def system():
    return poisson(2, 16, 2)


def nodes(system):
    return system.discretisation.unknown_nodes


def measured(system, p):
    return estimate_quality(system.A, partial(p.apply, p.build(system.A)), nodes(system), system.weights)


def error_matrix(system, p):
    """I - P^-1 A, dense, in the weighted norm."""
    w = np.sqrt(system.weights)
    E = np.eye(system.size) - p.apply(p.build(system.A), system.A.toarray())
    return w[:, None] * E / w


def test_exact_is_zero(system):
    assert measured(system, LU()).smooth < 1e-11
    assert measured(system, LU()).largest < 1e-10


@pytest.mark.parametrize("p", [ILU(1e-2, 5.0), ILU(1e-3), Jacobi()])
def test_bounds_from_dense_algebra(system, p):
    """Nothing exceeds the norm; the power steps come near the spectral radius."""
    found, E = measured(system, p), error_matrix(system, p)
    norm = np.linalg.norm(E, 2)
    assert found.smooth <= found.largest <= norm * (1 + 1e-9)
    assert found.largest >= 0.8 * abs(np.linalg.eigvals(E)).max()
    assert found.applications <= 20


def test_falls_with_the_drop_tolerance(system):
    values = [measured(system, ILU(t, 50)).smooth for t in (1e-1, 1e-2, 1e-3, 1e-5)]
    assert np.all(np.diff(values) < 0)


def test_it_foretells_the_residual_of_smooth_errors(system):
    """||P^-1 A e|| differs from ||e|| by no more than `smooth` says, for a smooth e that was no probe."""
    p = ILU(1e-3)
    found = measured(system, p)
    x, y = nodes(system).T
    e = np.exp(-x) * np.sin(2 * y + 1)
    r = p.apply(p.build(system.A), system.A @ e)
    assert abs(system.norm(r) / system.norm(e) - 1) <= 1.2 * found.smooth


def test_several_components():
    system = two_fields(4)
    components = system.discretisation.unknown_components
    waves = smooth_functions(nodes(system), components, np.random.default_rng(0))
    assert waves.shape == (system.size, 8)
    found = estimate_quality(
        system.A, partial(ILU().apply, ILU().build(system.A)), nodes(system), system.weights, components
    )
    assert 0 < found.smooth < 0.1


def test_no_quality_where_the_inverse_overflows(system):
    found = estimate_quality(
        system.A, partial(Identity().apply, np.full(system.size, 1e-320)), nodes(system), system.weights
    )
    assert found.smooth == np.inf
    assert found.describe() == {"smooth": None, "largest": None}


def test_constrained_rows():
    A = sp.csr_matrix([[2.0, 0, 0], [1, 1, 0], [1, 0, 0]])
    assert constrained_rows(A).tolist() == [0]


def test_one_point_and_flat_domains():
    A = sp.csr_matrix(np.eye(3))
    flat = np.array([[0.0, 1], [0.5, 1], [1, 1]])
    assert estimate_quality(A, partial(LU().apply, LU().build(A)), flat, np.ones(3)).smooth < 1e-14
    assert estimate_quality(A[:1, :1], partial(LU().apply, LU().build(A[:1, :1])), flat[:1], np.ones(1)).smooth < 1e-14


@pytest.mark.parametrize("wrong", ["nodes", "weights", "components"])
def test_wrong_lengths_are_refused(system, wrong):
    given = {"nodes": nodes(system), "weights": system.weights, "components": np.zeros(system.size, int)}
    given[wrong] = given[wrong][:-1]
    with pytest.raises(
        PcpinnError, match=f"{wrong} has {system.size - 1} entries for {system.size} degrees of freedom"
    ):
        estimate_quality(system.A, partial(Jacobi().apply, Jacobi().build(system.A)), **given)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_refinement_takes_powers_of_the_error(system, steps):
    inner = ILU(1e-2, 5.0)
    p = Refined(inner, steps)
    state = p.build(system.A)
    plain = np.eye(system.size) - inner.apply(inner.build(system.A), system.A.toarray())
    refined = np.eye(system.size) - p.apply(state, system.A.toarray())
    np.testing.assert_allclose(refined, np.linalg.matrix_power(plain, steps + 1), atol=1e-9)
    x, y = np.random.default_rng(0).normal(size=(2, system.size))
    Px = p.apply(state, x)
    assert abs(Px @ y - x @ p.apply_transpose(state, y)) <= 1e-12 * np.linalg.norm(Px) * np.linalg.norm(y)
    assert p.describe(state)["refinement"] == steps
    assert p.name == "ilu"


def test_negative_refinement_is_refused():
    with pytest.raises(PcpinnError, match="refinement=-1"):
        Refined(LU(), -1)


@pytest.mark.parametrize("target", [0.3, 0.01])
def test_tighten_reaches_the_target(system, target):
    result = tighten(system.A, nodes(system), system.weights, target)
    assert result.quality.smooth <= target
    assert "within quality_target" in result.reason
    drops = [a.drop_tolerance for a in result.trail]
    assert drops == sorted(drops, reverse=True)
    assert all(a.quality.smooth > target for a in result.trail[:-1])
    again = estimate_quality(
        system.A, partial(result.preconditioner.apply, result.state), nodes(system), system.weights
    )
    assert again.smooth == pytest.approx(result.quality.smooth)


def test_little_memory_is_made_up_by_refinement(system):
    free = tighten(system.A, nodes(system), system.weights, 1e-3)
    gib = 0.75 * free.trail[-1].fill * system.A.nnz * 12 / 2**30
    result = tighten(system.A, nodes(system), system.weights, 1e-3, memory_budget_gib=gib)
    assert isinstance(result.preconditioner, Refined)
    assert "would not fit" in result.reason
    assert "refinement" in result.reason
    assert result.quality.smooth < min(a.quality.smooth for a in result.trail[:-1])
    assert all(a.fill * system.A.nnz * 12 / 2**30 <= gib for a in result.trail)


def test_refinement_that_does_not_contract_is_left_out():
    """A wave: with entries left out, P is far from A, and refinement would only make that worse."""
    n = 400
    A = sp.csr_matrix(sp.diags_array([1.0, -1.9, 1.0, 0.3], offsets=[0, -1, -2, 7], shape=(n, n)))
    x = np.linspace(0, 1, n)[:, None]
    result = tighten(A, x, np.full(n, 1 / n), memory_budget_gib=2.05 * A.nnz * 12 / 2**30)
    assert isinstance(result.preconditioner, ILU)
    assert "refinement does not contract" in result.reason
    assert result.quality.smooth > 0.7
    assert result.quality == min((a.quality for a in result.trail), key=lambda q: q.smooth)


def test_too_little_memory_is_refused(system):
    with pytest.raises(PcpinnError, match=r"1e-06 GiB of memory are too little.*GiB") as caught:
        tighten(system.A, nodes(system), system.weights, memory_budget_gib=1e-6)
    assert "set memory=" in caught.value.remedy


def test_singular_matrices_are_refused():
    A = sp.csr_matrix(np.ones((5, 5)))
    with pytest.raises(PcpinnError, match="factorisation"):
        tighten(A, np.random.default_rng(0).random((5, 2)), np.ones(5), memory_budget_gib=1)


def test_operator_reports_quality_and_trail(system):
    op = PreconditionedResidual(system.A, system.b, AutoILU(0.01), system.weights, dense=False, nodes=nodes(system))
    facts = op.describe()
    assert facts["quality"]["smooth"] <= 0.01
    assert facts["trail"][0]["drop_tolerance"] == 0.01
    assert "quality_target" in facts["reason"]
    assert facts["name"] == "ilu"
    plain = PreconditionedResidual(system.A, system.b, ILU(1e-3), system.weights, nodes=nodes(system)).describe()
    assert plain["quality"]["smooth"] == pytest.approx(measured(system, ILU(1e-3)).smooth, rel=1e-2)
    assert "quality" not in PreconditionedResidual(system.A, system.b, ILU(), system.weights).describe()


def test_automatic_needs_nodes(system):
    with pytest.raises(PcpinnError, match="auto-ilu needs the positions"):
        PreconditionedResidual(system.A, system.b, AutoILU(), system.weights)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ILU(drop_tolerance="small"), "drop_tolerance='small' does not fit"),
        (lambda: ILU(drop_tolerance=None), "drop_tolerance=None does not fit"),
        (lambda: ILU(0), "must be positive"),
        (lambda: ILU(ordering="up"), "ordering='up' does not fit"),
        (lambda: AutoILU(-1), "must be positive"),
        (lambda: AutoILU(sweep_tolerance=0), "must be positive"),
        (lambda: ILU(refinement=-1), "refinement=-1"),
        (lambda: AutoILU(refinement=1), "is not read"),
    ],
)
def test_wrong_settings_are_refused(make, message):
    with pytest.raises(PcpinnError, match=message):
        make()
