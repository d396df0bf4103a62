"""Inverses for planning: multigrid and factors give the same, each where it suits."""

import sys

import numpy as np
import pytest

import pcpinn as pc
from pcpinn.discretize.discrete_equation import DiscreteEquation
from pcpinn.discretize.linear_solves import Factors
from pcpinn.mesh.generate import generate_mesh
from pcpinn.progress import Progress
from pcpinn.solve.adapt import inverses
from pcpinn.solve.adapt.inverses import Inverses, Iterated
from pcpinn.solve.adapt.level import Elements
from pcpinn.solve.adapt.limits import Limits
from pcpinn.solve.adapt.space import adapt

CUBE = pc.Box((0, 0, 0), (1, 1, 1))


def cube(wind=0.0, bent=0.0, wave=0.0):
    return pc.Problem(
        CUBE,
        flux=lambda x, u: (1 + x[0]) * u.grad,
        source=lambda x, u: wind * u.grad[0] + bent * u.value**3 - wave**2 * u.value - 1,
        boundary={"left": pc.Dirichlet(lambda x: x[1]), "right": pc.Dirichlet(0.0)}
        | {side: pc.Neumann(0.0) for side in ("back", "bottom", "front", "top")},
    )


def matrix(problem, cells=4):
    discretisation = Elements(2).on(problem, generate_mesh(CUBE, cells=(cells, cells, cells)))
    return discretisation, DiscreteEquation(discretisation).linearise(np.zeros(discretisation.size)).A


def test_multigrid_and_factors_give_the_same():
    _, A = matrix(cube())
    r = np.random.default_rng(0).normal(size=A.shape[0])
    by_cycles, by_factors = Iterated(A), Factors(A)
    np.testing.assert_allclose(by_cycles.apply(r), by_factors.apply(r), atol=1e-8)
    np.testing.assert_allclose(by_cycles.apply_transpose(r), by_factors.apply_transpose(r), atol=1e-8)


@pytest.mark.parametrize(
    ("terms", "kind"), [({}, Iterated), ({"wind": 3.0}, Factors), ({"wave": 6.0}, Factors), ({"wave": 9.0}, Factors)]
)
def test_only_symmetric_and_positive_matrices_are_left_to_multigrid(terms, kind, monkeypatch):
    monkeypatch.setattr(inverses, "_FACTORS", 100)
    discretisation, A = matrix(cube(**terms), cells=6)
    found = Inverses(discretisation).of(A)
    assert type(found) is kind
    r = np.random.default_rng(1).normal(size=A.shape[0])
    np.testing.assert_allclose(A @ found.apply(r), r, atol=1e-6)


def test_small_matrices_and_plane_ones_are_factorised():
    discretisation, A = matrix(cube())
    assert type(Inverses(discretisation).of(A)) is Factors


def test_the_same_matrix_is_not_inverted_twice():
    discretisation, A = matrix(cube())
    kept = Inverses(discretisation)
    first = kept.of(A)
    assert kept.of(A.copy()) is first
    assert kept.of(2 * A) is not first
    second = kept.of(2 * A)
    kept.drop()
    assert kept.of(2 * A) is not second


@pytest.mark.parametrize("bent", [0.0, 5.0])
def test_levels_are_the_same_by_either(bent, monkeypatch):
    def levels():
        mesh = generate_mesh(CUBE, cells=(2, 2, 2))
        return adapt(cube(bent=bent), mesh, Elements(2), 8e-3, Limits(60), Progress())

    by_factors = levels()
    monkeypatch.setattr(inverses, "_FACTORS", 100)
    by_cycles = levels()
    assert len(by_factors.history) > 1
    np.testing.assert_allclose(by_cycles.history, by_factors.history, rtol=1e-6)
    np.testing.assert_allclose(by_cycles.level.better, by_factors.level.better, atol=1e-8)


def test_multigrid_affords_more_than_factors():
    limits = Limits(60, memory=4)
    assert not limits.affords(200_000, 3)
    assert limits.affords(200_000, 3, iterated=True)
    assert limits.exceeded(2e6, 3, iterated=True) == "memory"


def test_without_pyamg_factors_are_taken_and_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyamg", None)  # an import fails
    with pytest.warns(pc.PcpinnWarning, match="pip install 'pyamg"):
        assert inverses.iterated(*matrix(cube(), 9)) is None
