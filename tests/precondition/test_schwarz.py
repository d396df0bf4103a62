"""P in parts: its definition in dense algebra, its transpose, its quality by the number of parts, what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import poisson

from pcpinn import Dirichlet, Field, Initial, Interval, Periodic, Problem, Rectangle
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.system import linear_system
from pcpinn.errors import PcpinnError
from pcpinn.mesh.generate import generate_mesh
from pcpinn.precondition import Schwarz, estimate_quality
from pcpinn.precondition.operator import PreconditionedResidual
from pcpinn.precondition.partition import bisected_places, grown, neighbours
from pcpinn.precondition.schwarz import FittedSchwarz
from pcpinn.solve.build import make_discretisation, make_mesh
from pcpinn.solve.linear import settings_of
from pcpinn.team import ALONE


def fitted(system, **keys):
    d = system.discretisation
    return FittedSchwarz(Schwarz(**keys), d.unknown_nodes, np.asarray(d.unknown_components), False, ALONE)


@pytest.fixture(scope="module")
def system():
    """Not symmetric: the problem convects."""
    return poisson(2, 8, 2)


def test_parts_have_the_same_size_and_are_compact():
    x = np.random.default_rng(0).random((1001, 2))
    part = bisected_places(x, 7)
    assert np.ptp(np.bincount(part, minlength=7)) <= 2
    for k in range(7):
        assert np.prod(np.ptp(x[part == k], axis=0)) < 0.3


def test_what_is_at_one_place_stays_together():
    x = np.random.default_rng(0).random((100, 2))
    assert np.array_equal(bisected_places(np.tile(x, (3, 1)), 8), np.tile(bisected_places(x, 8), 3))


def test_layers_of_neighbours(system):
    graph = neighbours(system.A)
    dense = graph.toarray()
    wanted = np.flatnonzero((np.linalg.matrix_power(dense, 2)[:, [5, 9]] > 0).any(axis=1))
    assert np.array_equal(grown(graph, np.array([5, 9]), 2), wanted)


def test_its_definition_in_dense_algebra(system):
    """I - P^-1 A = (I - C A)(I - S A)(I - C A), once for each step of refinement and once more."""
    p = fitted(system, parts=3, overlap=1, coarse=4, inner="lu", refinement=1)
    state, eye = p.build(system.A), np.eye(len(A := system.A.toarray()))
    S = np.zeros_like(A)
    part = bisected_places(system.discretisation.unknown_nodes, 3)
    for k in range(3):
        wide = grown(neighbours(system.A), np.flatnonzero(part == k), 1)
        own = part[wide] == k
        S[np.ix_(wide[own], wide)] += np.linalg.inv(A[np.ix_(wide, wide)])[own]
    Z, Y = state.coarse.Z.toarray(), state.coarse.Y.toarray()
    assert Z.shape[1] == 12
    C = Z @ np.linalg.inv(Y.T @ A @ Z) @ Y.T
    error = (eye - C @ A) @ (eye - S @ A) @ (eye - C @ A)
    inverse = (eye - error @ error) @ np.linalg.inv(A)
    np.testing.assert_allclose(p.apply(state, eye), inverse, atol=1e-9 * abs(inverse).max())
    np.testing.assert_allclose(p.apply_transpose(state, eye), inverse.T, atol=1e-9 * abs(inverse).max())


@pytest.mark.parametrize("shape", [(), (3,)])
def test_one_part_solved_exactly_is_the_inverse(system, shape):
    p = fitted(system, parts=1, inner="lu")
    state = p.build(system.A)
    r = np.random.default_rng(0).normal(size=(system.size, *shape))
    np.testing.assert_allclose(system.A @ p.apply(state, r), r, atol=1e-9)
    np.testing.assert_allclose(system.A.T @ p.apply_transpose(state, r), r, atol=1e-9)


def diffusion(n):
    """-Laplace u = 1 on a square, u = 0 around it: symmetric, so that every way to solve parts takes it."""
    sides = dict.fromkeys(("left", "right", "bottom", "top"), Dirichlet(0.0))
    problem = Problem(
        Rectangle((0, 0), (1, 1)), flux=lambda x, u: u.grad, source=lambda x, u: u.value - 1.0, boundary=sides
    )
    return linear_system(FiniteElements(problem, generate_mesh(problem.domain, cells=(n, n)), 1))


def quality(system, **keys):
    p, d = fitted(system, **keys), system.discretisation
    state = p.build(system.A)
    return estimate_quality(system.A, lambda r: p.apply(state, r), d.unknown_nodes, system.weights)


def test_quality_does_not_depend_on_the_number_of_parts():
    """With a coarse space; without one, smooth functions are lost as parts grow."""
    system = diffusion(24)
    many = [quality(system, parts=parts, inner="lu").smooth for parts in (4, 16, 48)]
    assert max(many) < 0.05
    assert quality(system, parts=48, coarse=0, inner="lu").smooth > 10 * many[-1]


@pytest.mark.parametrize("inner", ["ilu", "lu", "amg"])
def test_each_way_to_solve_a_part(inner):
    assert quality(diffusion(16), parts=4, inner=inner).smooth < 0.05


def test_overlap_makes_it_better():
    system = diffusion(24)
    thin, wide = (quality(system, parts=9, coarse=0, overlap=n, inner="lu").largest for n in (1, 4))
    assert wide < 0.8 * thin


def test_periodic_copies_are_part_of_the_coarse_space():
    sides = {"left": Periodic("right"), "bottom": Dirichlet(0.0), "top": Dirichlet(0.0)}
    problem = Problem(
        Rectangle((0, 0), (1, 1)), flux=lambda x, u: u.grad, source=lambda x, u: u.value - x[1], boundary=sides
    )
    mesh = generate_mesh(problem.domain, cells=(16, 16), periodic=problem.periodic_pairs)
    system = linear_system(FiniteElements(problem, mesh, 1))
    state = fitted(system, parts=4).build(system.A)
    Z, A = state.coarse.Z, system.A
    copies = np.flatnonzero((np.diff(A.indptr) == 2) & (abs(A.sum(axis=1)).A1 == 0))
    assert len(copies)
    assert abs(A[copies] @ Z).max() < 1e-14
    assert quality(system, parts=4).smooth < 0.1


def test_fields_have_coarse_functions_of_their_own():
    problem = Problem(
        Rectangle((0, 0), (1, 1)),
        flux=lambda x, u: u.grad,
        source=lambda x, u: u.value,
        boundary=dict.fromkeys(("left", "right", "bottom", "top"), Dirichlet((1.0, 0.0))),
        fields=Field("u", components=2),
    )
    system = linear_system(FiniteElements(problem, generate_mesh(problem.domain, cells=(12, 12)), 1))
    components = np.asarray(system.discretisation.unknown_components)
    Z = fitted(system, parts=2, coarse=3).build(system.A).coarse.Z.tocsc()
    assert Z.shape[1] == 2 * 3 * 3
    for k in range(Z.shape[1]):
        assert len(np.unique(components[Z[:, [k]].indices])) == 1


@pytest.mark.parametrize("time", [{"time": "simplex", "steps": 16}, {"time": "slabs", "steps": 8}])
def test_a_mesh_with_time_is_cut_across_space_alone(time):
    problem = Problem(
        Interval(0, 1).over(0, 1),
        density=lambda x, t, u: u.value,
        flux=lambda x, t, u: 0.1 * u.grad,
        source=lambda x, t, u: -1.0 + 0 * u.value,
        boundary={"left": Dirichlet(0.0), "right": Dirichlet(0.0), "initial": Initial(0.0)},
    )
    settings = settings_of("pcpinn", problem, {"cells": 16, **time}, {})
    system = linear_system(make_discretisation(problem, make_mesh(problem, settings), settings))
    P = Schwarz(parts=4, refinement=2).fitted(system.discretisation, 4.0)
    state, x = P.build(system.A), system.discretisation.unknown_nodes
    part = np.empty(system.size, dtype=int)
    for k in state.shards.parts:
        part[state.shards.here[state.shards.of_part(k)]] = k
    assert all(len(np.unique(part[x[:, 0] == place])) == 1 for place in np.unique(x[:, 0]))
    found = estimate_quality(system.A, lambda r: P.apply(state, r), x, system.weights)
    assert found.smooth < 0.05


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"inner": "lu", "drop_tolerance": 1e-3}, "drop_tolerance is of inner=ilu"),
        ({"parts": 0}, "parts=0 must be positive"),
        ({"overlap": 0}, "overlap=0 must be positive"),
        ({"inner": "none"}, "inner"),
    ],
)
def test_refused_keys(keys, words):
    with pytest.raises(PcpinnError, match=words):
        Schwarz(**keys)


def test_refused_numbers_of_parts(system):
    with pytest.raises(PcpinnError, match="too few for 500 parts"):
        fitted(system, parts=500).build(system.A)


def test_a_singular_part_is_named():
    A = sp.csr_matrix(sp.diags([np.r_[np.ones(60), np.zeros(20)], np.r_[np.ones(78), 0.0]], [0, 1]))
    nodes = np.linspace(0, 1, 80)[:, None]
    p = FittedSchwarz(Schwarz(parts=2, inner="lu"), nodes, np.zeros(80, int), False, ALONE)
    with pytest.raises(PcpinnError, match="part 2 of 2"):
        p.build(A)


def test_a_p_that_is_far_from_a_is_refused():
    """Waves on a circle of upwind differences: parts without a coarse space know nothing of each other."""
    n = 96
    A = sp.csr_matrix(sp.diags([np.ones(n), -0.999 * np.ones(n - 1), [-0.999]], [0, -1, n - 1]))
    x = np.linspace(0, 1, n)[:, None]
    p = FittedSchwarz(Schwarz(parts=8, overlap=1, coarse=0), x, np.zeros(n, int), False, ALONE)
    with pytest.raises(PcpinnError, match="is not near A"):
        PreconditionedResidual(A, np.ones(n), p, np.full(n, 1 / n), dense=False, nodes=x)
