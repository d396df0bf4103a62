"""Curved tetrahedra: nodes on walls, volumes, refinement, and cells that cannot be bent."""

from functools import cache

import numpy as np
import pytest
import skfem

from pcpinn.errors import PcpinnError
from pcpinn.mesh.bend import bent
from pcpinn.mesh.bisect import bisected
from pcpinn.mesh.check import check_mesh
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.mesh import Mesh
from pcpinn.mesh.refine import refined
from pcpinn.mesh.topology import EDGES, edges_of, facets_of
from pcpinn.problem.shapes import Ball, Box, Cylinder

BALL = Ball((0, 0, 0), 1.0, name="rim")
VOID = Box((-1, -1, -1), (1, 1, 1), name="outer") - Ball((0.1, 0, 0), 0.5, name="hole")
TANK = Cylinder((0, 0, 0), (0, 0, 1), 0.5)


@cache
def void():
    return generate_mesh(VOID, size=0.9)


def volume(mesh):
    return skfem.Basis(mesh.skfem, skfem.ElementTetP1(), intorder=4).dx.sum()


def lowest(mesh):
    """The least determinant of each cell's map, sampled, in parts of that of the straight cell."""
    at = np.random.default_rng(0).dirichlet(np.ones(4), size=8)[:, 1:].T
    corners = np.hstack([np.zeros((3, 1)), np.eye(3)])
    sampled = mesh.skfem.mapping().detDF(np.hstack([at, corners]))
    straight = Mesh(mesh.nodes, mesh.vertices).skfem.mapping().detDF(at[:, :1])
    return (sampled / straight).min()


def middles(mesh, name):
    """Ends and middle nodes of the edges of a boundary's faces."""
    ends, (of_cell, of_face) = edges_of(mesh.vertices, mesh.boundaries[name])
    number = np.empty(len(ends), dtype=int)
    number[of_cell] = mesh.cells[:, 4:]
    edges = np.unique(of_face)
    return mesh.nodes[ends[edges]], mesh.nodes[number[edges]]


def test_middles_are_on_the_wall_and_volumes_of_fourth_order():
    mesh, errors = void(), []
    for round_ in range(2):
        mesh = check_mesh(refined(mesh, VOID)) if round_ else check_mesh(mesh)
        assert lowest(mesh) > 0.1
        np.testing.assert_allclose(np.linalg.norm(middles(mesh, "hole")[1] - [0.1, 0, 0], axis=1), 0.5, rtol=1e-12)
        ends, found = middles(mesh, "outer")
        np.testing.assert_allclose(found, ends.mean(axis=1), atol=1e-13)
        errors.append(abs(volume(mesh) - (8 - np.pi / 6)))
    assert np.log2(errors[0] / errors[1]) > 3.5


def test_rims_of_a_cylinder_are_round_and_its_ends_flat():
    mesh = check_mesh(refined(generate_mesh(TANK, size=0.5), TANK))
    assert lowest(mesh) > 0.1
    assert volume(mesh) == pytest.approx(np.pi / 4, rel=1e-3)
    faces = facets_of(mesh.vertices).boundary
    ends, (of_cell, of_face) = edges_of(mesh.vertices, faces)
    number = np.empty(len(ends), dtype=int)
    number[of_cell] = mesh.cells[:, 4:]
    on_end = np.abs(mesh.nodes[faces][:, :, 2] - 1).max(axis=1) < 1e-9
    at_end = mesh.nodes[number[np.unique(of_face[on_end])]]
    np.testing.assert_allclose(at_end[:, 2], 1, atol=1e-12)
    assert np.linalg.norm(at_end[:, :2], axis=1).max() == pytest.approx(0.5, rel=1e-12)


def test_a_cell_with_two_faces_on_a_sphere_stays_straight_and_does_little_harm():
    mesh, errors = generate_mesh(BALL, size=0.8), []
    faces = facets_of(mesh.vertices)
    assert (np.sum(faces.count[faces.of_cell] == 1, axis=1) > 1).any()
    radius = np.linalg.norm(middles(mesh, "rim")[1], axis=1)
    assert 0 < np.mean(radius < 1 - 1e-6) < 0.3
    for _ in range(2):
        mesh = check_mesh(refined(mesh, BALL))
        assert lowest(mesh) > 0
        errors.append(4 / 3 * np.pi - volume(mesh))
    assert np.log2(errors[-2] / errors[-1]) > 2.8


def test_local_cuts():
    mesh, random = void(), np.random.default_rng(0)
    for _ in range(2):
        mesh, _ = bisected(mesh, random.random(mesh.cell_count) < 0.02, VOID)
        check_mesh(mesh)
        assert lowest(mesh) > 0
    radius = np.linalg.norm(middles(mesh, "hole")[1] - [0.1, 0, 0], axis=1)
    assert np.mean(np.abs(radius - 0.5) < 1e-12) > 0.98
    assert volume(mesh) == pytest.approx(8 - np.pi / 6, rel=1e-4)


def test_folded_cells_are_found_and_straightened():
    mesh = void()
    inner = np.flatnonzero(~np.isin(mesh.vertices, np.concatenate(list(mesh.boundaries.values()))).all(axis=1))[0]
    nodes = mesh.nodes.copy()
    nodes[mesh.cells[inner, 4]] += 3 * (nodes[mesh.cells[inner, 2]] - nodes[mesh.cells[inner, 4]])
    folded = Mesh(nodes, mesh.cells, mesh.boundaries)
    with pytest.raises(PcpinnError, match="tetrahedra fold over themselves"):
        check_mesh(folded)
    good = check_mesh(bent(folded, VOID))
    i, j = EDGES[3][0]
    np.testing.assert_array_equal(good.nodes[good.cells[inner, 4]], good.nodes[good.cells[inner, [i, j]]].mean(axis=0))


def test_tetrahedra_with_different_middle_nodes_are_found():
    mesh = void()
    cells = mesh.cells.copy()
    cells[0, 4] = len(mesh.nodes)
    apart = Mesh(np.vstack([mesh.nodes, mesh.nodes[mesh.cells[0, 4]] + 0.01]), cells, mesh.boundaries)
    with pytest.raises(PcpinnError, match="tetrahedra have different middle nodes"):
        check_mesh(apart)


def test_straight_when_asked_or_over_time():
    assert not generate_mesh(BALL, size=0.8, curved=False).curved
    assert not generate_mesh(Box((0, 0, 0), (1, 1, 1)), size=0.8).curved
