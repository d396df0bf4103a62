"""Singular points, found and given to the network."""

import pytest
import torch

import pcpinn as pc
from pcpinn.mesh.generate import generate_mesh
from pcpinn.solve.adapt.singular import singular_points


def problem(domain, boundary):
    return pc.Problem(domain, flux=lambda x, u: u.grad, source=lambda x, u: -1.0, boundary=boundary)


def l_shape():
    domain = pc.Polygon([(0, 0), (1, 0), (1, 1), (-1, 1), (-1, -1), (0, -1)], names="w")
    return problem(domain, {"w": pc.Dirichlet(0.0)})


def test_a_re_entrant_corner_is_found_on_any_mesh():
    found = singular_points(l_shape(), generate_mesh(l_shape().domain, size=0.3))
    assert found["corners"] == ((0.0, 0.0),)
    assert 0.01 < found["corner_size"] < 0.1


def test_places_where_conditions_change_are_found_and_square_corners_are_not():
    sides = {"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0), "top": pc.Dirichlet(0.0)}
    square = pc.Rectangle((0, 0), (1, 1))
    even = problem(square, {**sides, "bottom": pc.Dirichlet(0.0)})
    assert singular_points(even, generate_mesh(square, size=0.2)) == {}
    cut = pc.Polygon([(0, 0), (0.5, 0), (1, 0), (1, 1), (0, 1)], names=["a", "b", "a", "a", "a"])
    mixed = problem(cut, {"a": pc.Dirichlet(0.0), "b": pc.Neumann(0.0)})
    assert singular_points(mixed, generate_mesh(cut, size=0.2))["corners"] == ((0.5, 0.0),)


def test_the_network_of_a_solve_to_an_accuracy_sees_the_corner():
    solution = pc.solve(l_shape(), accuracy=0.2, device="cpu")
    corners = solution.network.architecture.features.corners
    assert [pytest.approx(c) for c in corners] == [(0.0, 0.0)]
    assert torch.isfinite(solution.network.theta).all()
