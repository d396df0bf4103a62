"""Vertices at points: moved inside and along straight sides, never off a corner, and cells stay good."""

import numpy as np
import pytest

import pcpinn as pc
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.onto_points import with_vertices_at

SQUARE = pc.Rectangle((0, 0), (1, 1))
SHAPES = [
    (pc.Interval(0, 1), 0.1, (0.234,)),
    (SQUARE, 0.125, (0.637, 0.27)),
    (SQUARE, 0.125, (0.3, 0.0)),  # on a side
    (SQUARE, 0.125, (1.0, 0.0)),  # there already
    (pc.Disk((0, 0), 1.0, name="rim"), 0.3, (0.11, 0.2)),  # curved cells
    (pc.Box((0, 0, 0), (1, 1, 1)), 0.25, (0.43, 0.61, 0.29)),
]


def volume(mesh):
    corners = mesh.nodes[mesh.vertices]
    return np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1]))


@pytest.mark.parametrize(("shape", "size", "point"), SHAPES)
def test_a_vertex_is_moved_onto_a_point(shape, size, point):
    before = generate_mesh(shape, size=size)
    mesh = with_vertices_at(before, [point])
    used = mesh.nodes[np.unique(mesh.vertices)]
    assert np.linalg.norm(used - point, axis=1).min() < 1e-12
    assert volume(mesh).sum() == pytest.approx(volume(before).sum(), rel=1e-12)
    assert volume(mesh).min() > 0.2 * volume(before).min()
    if mesh.curved:
        middles = mesh.nodes[mesh.cells[:, :2]].mean(axis=1)
        inside = np.linalg.norm(mesh.nodes[mesh.cells[:, :2]], axis=2).min(axis=1) < 0.9
        assert mesh.nodes[mesh.cells[inside, 3]] == pytest.approx(middles[inside], abs=1e-12)


@pytest.mark.parametrize(
    ("shape", "point", "periodic"),
    [(SQUARE, (0.3, 0.0), True), (pc.Disk((0, 0), 1.0, name="rim"), (1.0, 0.0), False), (SQUARE, (0.01, 0.0), False)],
)
def test_sides_with_partners_bent_ones_and_corners_stay(shape, point, periodic):
    before = generate_mesh(shape, size=0.3)
    rim = np.unique(np.concatenate(list(before.boundaries.values())))
    mesh = with_vertices_at(before, [point], periodic)
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
    if periodic or before.curved:
        assert np.array_equal(mesh.nodes[rim], before.nodes[rim])
    else:
        assert all(np.linalg.norm(mesh.nodes - corner, axis=1).min() == 0 for corner in corners)
