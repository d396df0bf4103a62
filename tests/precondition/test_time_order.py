"""Marching through slabs, and fast diagonalisation."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from cases import poisson

from pcpinn import Dirichlet, Initial, Interval, Neumann, PcpinnError, Problem
from pcpinn.discretize.linear_solves import solve_sparse
from pcpinn.discretize.slabs import TimeSlabs
from pcpinn.discretize.system import linear_system
from pcpinn.discretize.time_scheme import slab_times
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.slab_mesh import SlabMesh
from pcpinn.precondition import Separable, TimeOrder

SIDES = {"left": Dirichlet(0.0), "right": Dirichlet(0.0)}


def slabs(problem_of, scheme, times, order=2):
    """Stepped through time, or (galerkin) with time as a coordinate and its end natural."""
    coordinate = scheme == "galerkin"
    ends = {"initial": Dirichlet(0.0), "final": Neumann(0.0)} if coordinate else {"initial": Initial(0.0)}
    problem = Problem(Interval(0.0, 1.0).over(0.0, 1.0, coordinate), boundary=SIDES | ends, **problem_of)
    return TimeSlabs(problem, SlabMesh(generate_mesh(Interval(0.0, 1.0), cells=(6,)), times), scheme, order, 2)


def heat(a=lambda t: 1.0):
    return {
        "density": lambda x, u: u.value,
        "flux": lambda x, t, u: a(t) * u.grad,
        "source": lambda x, u: -1.0,
    }


@pytest.fixture
def marched():
    d = slabs(heat(), "radau", slab_times(0.0, 1.0, 5))
    return d, linear_system(d)


def test_march_is_exact_without_dropping(marched):
    d, system = marched
    P = TimeOrder(d.slab_starts.tolist(), drop_tolerance=1e-12)
    state = P.build(system.A)
    r = np.random.default_rng(0).normal(size=(d.size, 3))
    np.testing.assert_allclose(system.A @ P.apply(state, r), r, atol=1e-9)
    np.testing.assert_allclose(system.A.T @ P.apply_transpose(state, r), r, atol=1e-9)
    np.testing.assert_allclose(P.apply(state, r[:, 0]), P.apply(state, r)[:, 0])


def test_equal_slabs_share_factors(marched):
    d, system = marched
    facts = TimeOrder(d.slab_starts.tolist()).describe(TimeOrder(d.slab_starts.tolist()).build(system.A))
    assert (facts["slabs"], facts["blocks"]) == (5, 2)  # the initial values, and all slabs
    graded = slabs(heat(), "radau", slab_times(0.0, 1.0, 5, 2))
    P = TimeOrder(graded.slab_starts.tolist())
    assert P.describe(P.build(linear_system(graded).A))["blocks"] == 4
    changing = slabs(heat(lambda t: 1 + t), "radau", slab_times(0.0, 1.0, 5))
    P = TimeOrder(changing.slab_starts.tolist())
    assert P.describe(P.build(linear_system(changing).A))["blocks"] == 6


def test_device_form_does_the_same(marched):
    d, system = marched
    P = TimeOrder(d.slab_starts.tolist(), drop_tolerance=1e-2)
    state = P.build(system.A)
    solver = P.on_device(state, torch.float64, "cpu")
    r = np.random.default_rng(0).normal(size=d.size)
    np.testing.assert_allclose(solver.apply(torch.from_numpy(r)).numpy(), P.apply(state, r), atol=1e-10)
    np.testing.assert_allclose(
        solver.apply_transpose(torch.from_numpy(r)).numpy(), P.apply_transpose(state, r), atol=1e-10
    )
    assert solver.describe() == {"block_solves": "dense inverses"}


def test_device_form_with_factors_does_the_same(marched, monkeypatch):
    monkeypatch.setattr("pcpinn.precondition.time_order._memory", lambda device: 0)
    P = TimeOrder(marched[0].slab_starts.tolist())
    state = P.build(marched[1].A)
    solver = P.on_device(state, torch.float64, "cpu")
    r = np.random.default_rng(0).normal(size=marched[0].size)
    np.testing.assert_allclose(solver.apply(torch.from_numpy(r)).numpy(), P.apply(state, r), atol=1e-5)


def test_later_times_are_refused(marched):
    d, system = marched
    with pytest.raises(PcpinnError, match="later times"):
        TimeOrder(d.slab_starts.tolist()).build(sp.csr_matrix(system.A.T))


def test_separable_is_exact():
    d = slabs({"flux": lambda x, u: torch.stack([2 * u.grad[0], u.grad[1]]), "source": lambda x, u: -1.0}, "galerkin",
              slab_times(0.0, 1.0, 4), 3)  # fmt: skip
    system = linear_system(d)
    P = Separable().fitted(d, 4.0)
    assert isinstance(P, Separable)
    state = P.build(system.A)
    np.testing.assert_allclose(P.apply(state, system.b), solve_sparse(system.A, system.b), atol=1e-10)
    r = np.random.default_rng(0).normal(size=(d.size, 2))
    np.testing.assert_allclose(system.A.T @ P.apply_transpose(state, r), r, atol=1e-8)
    assert P.describe(state) == {"modes_in_time": 12, "modes_in_space": 11}


def test_separable_refuses_what_it_cannot_invert():
    varying = {"flux": lambda x, u: torch.stack([(1 + x[1]) * u.grad[0], u.grad[1]]), "source": lambda x, u: -1.0}
    d = slabs(varying, "galerkin", slab_times(0.0, 1.0, 2))
    with pytest.raises(PcpinnError, match="depend on time"):
        Separable().fitted(d, 4.0)
    reacting = {"flux": lambda x, u: u.grad, "source": lambda x, u: x[0] * u.value - 1.0}
    d = slabs(reacting, "galerkin", slab_times(0.0, 1.0, 2))
    P = Separable().fitted(d, 4.0)
    np.testing.assert_allclose(linear_system(d).A @ P.apply(P.build(linear_system(d).A), np.ones(d.size)), 1, atol=1e-8)
    d = slabs(heat(), "radau", slab_times(0.0, 1.0, 2))
    with pytest.raises(PcpinnError, match="symmetric"):
        Separable().fitted(d, 4.0).build(linear_system(d).A)


def test_both_need_slabs():
    d = poisson(1, 4, 1).discretisation
    for recipe in (TimeOrder(), Separable()):
        with pytest.raises(PcpinnError, match="needs slabs"):
            recipe.fitted(d, 4.0)
