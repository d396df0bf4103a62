"""Steps in time: orders of convergence, matrices against differences, conditions, what is refused."""

import numpy as np
import pytest
import torch
from over_time import convection, membrane, ring, travelling

from pcpinn import Dirichlet, Initial, Interval, PcpinnError, Problem
from pcpinn.discretize.newton import newton
from pcpinn.discretize.step_scheme import Layers, step_scheme
from pcpinn.discretize.window import MarchSpace, Window
from pcpinn.mesh.generate import generate_mesh
from pcpinn.precondition.refined import RefinedSolver
from pcpinn.precondition.stages import Stages


def space_of(problem, cells, degree):
    mesh = generate_mesh(problem.domain.shape, cells=cells, periodic=problem.periodic_pairs)
    return MarchSpace(problem, mesh, (problem.domain.start, problem.domain.end), degree)


def march(space, name, order, steps, per_window=1):
    """The discrete solution at the end, by Newton's method."""
    scheme, times = step_scheme(name, order), np.linspace(0, 1, steps + 1)
    known = space.initial_values()[None].repeat(scheme.history, 1)
    for k in range(0, steps, per_window):
        window = Window(space, Layers(scheme, times[k : k + per_window + 1], first=k == 0), known)
        U = known[-1][None].repeat(window.layers.count, 1)
        found = newton(window, U, lambda A: RefinedSolver(Stages().build(A).on(A), A, 4).apply, 1e-12, 8, damped=False)
        U = found.u
        known = torch.cat([known, U])[-scheme.history :]
    return known[-1]


@pytest.mark.parametrize(
    ("name", "layers", "order", "steps"),
    [
        ("euler", 1, 1, (10, 20)),
        ("crank-nicolson", 1, 2, (10, 20)),
        ("bdf2", 1, 2, (16, 32)),
        ("radau", 2, 3, (6, 12)),
        ("radau", 3, 4, (4, 8)),  # five, but for boundary values that change
        ("gauss", 2, 3, (4, 8)),  # four, likewise
    ],
)
def test_order(name, layers, order, steps):
    space = space_of(convection(), (10,), 5 - 1)
    x = torch.from_numpy(space.form.space.unknown_nodes[:, 0])
    exact = torch.stack([travelling(torch.stack([a, torch.ones(())])) for a in x])
    errors = [float((march(space, name, layers, n) - exact).abs().max()) for n in steps]
    assert np.log2(errors[0] / errors[1]) > order - 0.35


def test_waves_conserve_and_converge():
    space = space_of(membrane(), (4, 4), 3)
    nodes = space.form.space.unknown_nodes
    exact = np.prod(np.sin(np.pi * nodes), axis=1) * np.cos(np.sqrt(2) * np.pi)
    of_u = space.form.space.unknown_components == 0
    errors = [np.abs(march(space, "gauss", 2, n).numpy() - exact)[of_u].max() for n in (3, 12)]
    assert errors[0] > 3 * errors[1]
    assert errors[1] < 2e-3


@pytest.mark.parametrize("per_window", [1, 2])
def test_periodic_field_that_does_not_evolve(per_window):
    space = space_of(ring(), (8,), 3)
    end = march(space, "radau", 3, 4, per_window).numpy()
    nodes = space.form.space.unknown_nodes[:, 0]
    decay = np.exp(-1e-3 * (2 * np.pi) ** 4)
    of_u = space.form.space.unknown_components == 0
    np.testing.assert_allclose(end[of_u], decay * np.sin(2 * np.pi * nodes[of_u]), atol=2e-4)
    np.testing.assert_allclose(end[~of_u], -((2 * np.pi) ** 2) * decay * np.sin(2 * np.pi * nodes[~of_u]), atol=0.15)


@pytest.mark.parametrize(("name", "order", "within"), [("euler", 1, 0.5), ("radau", 2, 0.04), ("radau", 3, 2e-3)])
def test_the_start_of_a_field_that_does_not_evolve_is_continued_from_the_first_step(name, order, within):
    space, scheme = space_of(ring(), (8,), 3), step_scheme(name, order)
    nodes, of_u = space.form.space.unknown_nodes[:, 0], space.form.space.unknown_components == 0
    wave = np.where(of_u, 1.0, -((2 * np.pi) ** 2)) * np.sin(2 * np.pi * nodes)
    first = torch.from_numpy(np.exp(-0.5 * scheme.nodes)[:, None] * wave)
    start = space.first_values(scheme, first)
    assert torch.equal(start[of_u], space.initial_values()[of_u])
    error = np.linalg.norm(start.numpy() - wave) / np.linalg.norm(wave)
    assert error < within
    assert not space.initial_values()[~of_u].any()


@pytest.mark.parametrize(("name", "order"), [("gauss", 2), ("crank-nicolson", 1)])
def test_schemes_that_look_back_keep_what_they_stepped_from(name, order):
    space, scheme = space_of(ring(), (4,), 2), step_scheme(name, order)
    assert scheme.looks_back
    assert space.first_values(scheme, torch.ones(scheme.order, space.size, dtype=torch.float64)) is None


def test_a_start_that_is_given_stays():
    space, scheme = space_of(convection(), (4,), 2), step_scheme("radau", 3)
    assert space.first_values(scheme, torch.ones(3, space.size, dtype=torch.float64)) is None


@pytest.mark.parametrize(("name", "order"), [("radau", 3), ("gauss", 2), ("crank-nicolson", 1), ("bdf2", 1)])
def test_matrix_against_differences(name, order):
    space = space_of(convection(), (3,), 2)
    scheme = step_scheme(name, order)
    generator = torch.Generator().manual_seed(0)
    known = torch.randn(scheme.history, space.size, generator=generator, dtype=torch.float64)
    window = Window(space, Layers(scheme, np.array([0.2, 0.5, 0.8])), known)
    U, V = (torch.randn(window.layers.count, space.size, generator=generator, dtype=torch.float64) for _ in range(2))
    matrix, h = window.linearise(U), 1e-6
    difference = (window.residual(U + h * V) - window.residual(U - h * V)) / (2 * h)
    torch.testing.assert_close(matrix.apply(V), difference, rtol=1e-6, atol=1e-6)
    A = matrix.to_scipy()
    np.testing.assert_allclose(A @ V.reshape(-1).numpy(), matrix.apply(V).reshape(-1).numpy(), atol=1e-12)
    np.testing.assert_allclose(A.T @ V.reshape(-1).numpy(), matrix.apply_transpose(V).reshape(-1).numpy(), atol=1e-12)


def test_constant_matrices_are_found():
    assert space_of(membrane(), (2, 2), 1).form.constant
    assert not space_of(convection(), (3,), 1).form.constant


def test_what_cannot_march():
    with pytest.raises(PcpinnError, match="does not march"):
        step_scheme("galerkin")
    second = Problem(
        Interval(0, 1).over(0, 1),
        density=lambda x, u: u.dt,
        flux=lambda x, u: u.grad,
        boundary={"left": Dirichlet(0.0), "right": Dirichlet(0.0), "initial": Initial(0.0, rate=0.0)},
    )
    with pytest.raises(PcpinnError, match="second order in time"):
        space_of(second, (3,), 1)
    silent = Problem(
        Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: u.grad,
        boundary={"left": Dirichlet(0.0), "right": Dirichlet(0.0)},
    )
    with pytest.raises(PcpinnError, match="'u' has no initial value"):
        space_of(silent, (3,), 1)
    coordinate = Problem(
        Interval(0, 1).over(0, 1, coordinate=True),
        flux=lambda x, u: u.grad,
        boundary={name: Dirichlet(0.0) for name in ("left", "right", "initial", "final")},
    )
    with pytest.raises(PcpinnError, match="a march steps through time, which is a coordinate"):
        space_of(coordinate, (3,), 1)
