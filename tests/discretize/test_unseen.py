"""What coefficients do between points of quadrature: strips and patterns are found, what a rule sees is not."""

import numpy as np
import pytest
import torch

from pcpinn import Dirichlet, Interval, Problem, Rectangle
from pcpinn.discretize.onto_jumps import OntoJumps
from pcpinn.discretize.space import Space
from pcpinn.discretize.unseen import coefficients, crossings, resolved, spread, unseen_cells, unseen_values
from pcpinn.mesh.generate import generate_mesh


def flux_of(k, domain):
    """A problem whose flux is k(x) grad u."""
    sides = ("left", "right") if domain.dimension == 1 else ("bottom", "left", "right", "top")
    return Problem(domain, flux=lambda x, u: k(x) * u.grad, boundary=dict.fromkeys(sides, Dirichlet(1.0)))


def looked(k, cells):
    domain = Interval(0, 1) if len(cells) == 1 else Rectangle((0, 0), (1, 1))
    problem, mesh = flux_of(k, domain), generate_mesh(domain, cells=cells)
    return coefficients(problem), mesh, Space(mesh, problem.unknowns, 2).quadrature.X


def strip(x):
    return torch.where((x[0] - 0.5137).abs() < 0.002, 1e-3, 1.0)


@pytest.mark.parametrize("cells", [(20,), (8, 8)])
def test_a_strip_is_found_in_the_cells_that_hide_it_and_these_are_cut(cells):
    values, mesh, X = looked(strip, cells)
    found = unseen_cells(values, mesh, X)
    left, right = (mesh.nodes[mesh.vertices][:, :, 0].min(axis=1), mesh.nodes[mesh.vertices][:, :, 0].max(axis=1))
    assert found.any()
    assert np.all((left[found] < 0.5157) & (right[found] > 0.5117))
    cut = resolved(mesh, values, X, most=10_000)
    assert not cut.unseen.any()
    assert np.ptp(cut.mesh.nodes[cut.mesh.vertices][:, :, 0], axis=1).min() < 0.02


def test_spots_are_found_though_hardly_a_line_meets_them():
    at = torch.tensor(np.random.default_rng(3).uniform(0.1, 0.9, (10, 2)))

    def source(x, u):
        return torch.where(((x - at.to(x)) ** 2).sum(dim=1).min() < 0.003**2, 1.0, 0.0)

    domain = Rectangle((0, 0), (1, 1))
    sides = dict.fromkeys(("bottom", "left", "right", "top"), Dirichlet(0.0))
    problem = Problem(domain, flux=lambda x, u: u.grad, source=source, boundary=sides)
    mesh = generate_mesh(domain, cells=(8, 8))
    X = Space(mesh, problem.unknowns, 3).quadrature.X
    cut = resolved(mesh, coefficients(problem), X, most=10_000).mesh
    corners = cut.nodes[cut.vertices]
    near = np.linalg.norm(corners.mean(axis=1)[:, None] - at.numpy(), axis=2).argmin(axis=0)
    assert np.ptp(corners[near], axis=1).max() < 0.02


@pytest.mark.parametrize(
    "k",
    [
        lambda x: 1.0 + 0.0 * x[0],
        lambda x: torch.exp(2 * x[0]),
        lambda x: torch.where(x[0] < 0.5137, 1.0, 100.0),
        lambda x: 2 + torch.sin(12 * x[0]),
    ],
    ids=["constant", "smooth", "jump", "waves"],
)
@pytest.mark.parametrize("cells", [(20,), (10, 10)])
def test_what_a_rule_sees_is_left_alone(k, cells):
    values, mesh, X = looked(k, cells)
    assert resolved(mesh, values, X, most=10_000).mesh is mesh


def test_patterns_that_are_too_fine_stay_unseen_and_their_means_are_known():
    values, mesh, X = looked(lambda x: torch.where(torch.remainder(x[0], 0.01) < 0.005, 1.0, 0.1), (20,))
    found = resolved(mesh, values, X, most=30)
    assert found.unseen.all()
    assert spread(values, mesh, np.arange(20), X).mean() == pytest.approx(0.55 / (2 / 11) - 1, rel=0.1)


def test_what_a_rule_sees_in_a_cell_does_not_count_beside_what_it_does_not_see():
    """A source that passes through zero in cells whose coefficient has thin layers."""

    def values(x):
        layers = np.where(np.remainder(x[:, 0], 0.01) < 0.005, 2.0, 1.0)
        return np.stack([x[:, 0] - 0.512, layers], axis=1)[:, None, :]

    _, mesh, X = looked(lambda x: 1.0 + 0.0 * x[0], (20,))
    assert unseen_cells(values, mesh, X).all()
    np.testing.assert_array_equal(unseen_values(values, mesh, X).any(axis=0), [False, True])
    np.testing.assert_allclose(spread(values, mesh, np.arange(20), X), 1.5 / (4 / 3) - 1, atol=0.03)


def test_crossings_of_jumps_are_found_at_vertices_and_meshes_graded_towards_them():
    values, mesh, X = looked(lambda x: torch.where((x[0] - 0.5) * (x[1] - 0.5) > 0, 100.0, 1.0), (8, 8))
    at = mesh.nodes[crossings(values, mesh)]
    np.testing.assert_allclose(at, [[0.5, 0.5]])
    finer = resolved(mesh, values, X, most=10_000).mesh
    assert np.ptp(finer.nodes[finer.vertices], axis=1).min() < 0.125 / 200
    assert finer.cell_count < 1000
    values, mesh, _ = looked(lambda x: torch.where(x[0] > 0.5, 100.0, 1.0), (8, 8))
    assert not crossings(values, mesh).any()
    values, mesh, _ = looked(lambda x: torch.sin(6.283185307 * x[0]) * torch.sin(6.283185307 * x[1]), (8, 8))
    assert not crossings(values, mesh).any()  # it changes signs, and does not jump


def test_intervals_are_cut_at_a_jump():
    values, mesh, _ = looked(lambda x: torch.where(x[0] < 0.5137, 1.0, 100.0), (20,))
    fitted = OntoJumps(lambda x: values(x).reshape(len(x), -1)).fitted(mesh)
    assert fitted.cell_count == 21
    assert np.abs(fitted.nodes - 0.5137).min() < 1e-9


def test_a_source_of_rounding_errors_is_none():
    """What is left of a sum that vanishes varies from point to point, and the answer was said to be in doubt for it."""
    domain = Rectangle((5e5, 4e6), (5e5 + 100, 4e6 + 60))

    def noise(x):
        a, b = (x[0] - 5e5) / 30, (x[1] - 4e6) / 30
        return torch.sin(a) * torch.cosh(b) / 900 * 1.1 - 1.1 * (torch.sin(a) / 900) * torch.cosh(b)

    def problem(source):
        sides = dict.fromkeys(("bottom", "left", "right", "top"), Dirichlet(1.0))
        return Problem(domain, lambda x, u: u.grad, lambda x, u: source(x), sides)

    mesh = generate_mesh(domain, cells=(6, 4))
    X = Space(mesh, problem(noise).unknowns, 2).quadrature.X
    assert np.abs(coefficients(problem(noise))(mesh.nodes)[..., 0]).max() > 0
    assert not unseen_cells(coefficients(problem(noise)), mesh, X).any()
    assert unseen_cells(coefficients(problem(lambda x: 1e13 * noise(x))), mesh, X).any()
