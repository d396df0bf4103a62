"""Meshes fitted to curves that coefficients jump across."""

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.discretize.jumps import flux_values
from pcpinn.discretize.onto_jumps import OntoJumps
from pcpinn.discretize.space import Space
from pcpinn.mesh.bisect import bisected
from pcpinn.mesh.check import check_mesh
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.refine import refined

SQUARE = pc.Rectangle((-1, -1), (1, 1), name="w")
REFERENCE = np.random.default_rng(0).dirichlet(np.ones(3), 60)[:, 1:]


def onto(inside):
    problem = pc.Problem(SQUARE, flux=lambda x, u: torch.where(inside(x) < 0, 1000.0, 1.0) * u.grad,
                         source=lambda x, u: -1.0, boundary={"w": pc.Dirichlet(0.0)})  # fmt: skip
    return OntoJumps(flux_values(problem))


def circle(x):
    return x[0] ** 2 + x[1] ** 2 - 0.25


def slanted(x):
    return x[0] - 0.3 * x[1] - 0.11


def crossed(mesh, inside):
    """(c,) the smaller part of each cell, by points in it."""
    x = mesh.skfem.mapping().F(REFERENCE.T)  # (2, c, q)
    part = np.mean(inside(x) < 0, axis=1)
    return np.minimum(part, 1 - part)


@pytest.mark.parametrize("inside", [circle, slanted])
def test_no_cell_is_crossed_on_the_first_mesh_and_finer_ones(inside):
    fit, plain = onto(inside), generate_mesh(SQUARE, size=0.25)
    assert (crossed(plain, inside) > 0).sum() > 10
    mesh = check_mesh(fit.fitted(plain))
    assert mesh.cell_count < 1.5 * plain.cell_count
    for _ in range(2):
        assert crossed(mesh, inside).max() < 0.02
        assert crossed(mesh, inside).mean() < 1e-3
        mesh = check_mesh(fit.settled(refined(mesh)))
    half = check_mesh(fit.settled(bisected(mesh, np.arange(50))[0]))
    assert crossed(half, inside).mean() < 1e-3
    assert {name: len(rows) > 0 for name, rows in half.boundaries.items()} == {"w": True}


def test_meshes_of_curved_domains_are_fitted_and_stay_curved():
    """A disk in a disk: jumps run along edges, and the rim is as round as before."""
    disk = pc.Disk((0, 0), 1.0, name="rim")
    plain = generate_mesh(disk, size=0.25)
    mesh = check_mesh(onto(circle).fitted(plain, disk))
    assert crossed(plain, circle).max() > 0.2
    assert crossed(mesh, circle).max() < 0.02
    area = [float(Space(m, [pc.Field("u")], 2, 6).quadrature.dx.sum()) for m in (plain, mesh)]
    assert abs(area[1] - np.pi) <= 1.01 * abs(area[0] - np.pi)
    assert onto(circle).fitted(plain) is plain  # what is curved there is not known


def test_points_of_an_edge_along_a_jump_are_on_either_side_of_it_by_rounding():
    def tilted(x):
        return np.cos(0.4) * x[0] + np.sin(0.4) * x[1] - 0.75

    plain = generate_mesh(pc.Rectangle((0, 0), (1, 1)), size=0.125)
    mesh = check_mesh(onto(tilted).fitted(plain))
    assert crossed(mesh, tilted).max() < 1e-9
    assert mesh.cell_count < 1.1 * plain.cell_count


def test_middles_of_edges_follow_the_circle():
    mesh = onto(circle).fitted(generate_mesh(SQUARE, size=0.25))
    assert mesh.curved
    radius = np.linalg.norm(mesh.nodes, axis=1)
    assert (np.abs(radius - 0.5) < 1e-9).sum() >= 30  # corners, and middles between them


def test_a_straight_jump_keeps_cells_straight_and_none_changes_nothing():
    plain = generate_mesh(SQUARE, size=0.25)
    assert not onto(slanted).fitted(plain).curved
    assert onto(lambda x: x[0] + 5).fitted(plain) is plain


def test_a_pattern_finer_than_the_mesh_is_left_alone():
    plain = generate_mesh(SQUARE, size=0.5)
    assert onto(lambda x: torch.sin(40 * x[0]) * torch.sin(40 * x[1])).fitted(plain) is plain
