"""Points that meshes are graded towards, told from lines."""

import numpy as np
import pytest

import pcpinn as pc
from pcpinn.mesh.bisect import bisected
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.graded import graded_points
from pcpinn.mesh.mesh import Mesh


def refined_at(mesh, distance, times=9):
    """Cells cut again and again where `distance` (of points, (n, 2)) is about zero."""
    for _ in range(times):
        corners = mesh.nodes[mesh.vertices]
        size = np.ptp(corners, axis=1).max(axis=1)
        mesh, _ = bisected(mesh, distance(corners.mean(axis=1)) < size)
    return mesh


@pytest.mark.parametrize("point", [(0.0, 1.0), (1.0, 1.0), (0.5, 0.5)])
def test_a_point_is_found_at_corners_and_inside(point):
    mesh = generate_mesh(pc.Rectangle((0, 0), (1, 1)), cells=(6, 6))
    mesh = refined_at(mesh, lambda x: np.linalg.norm(x - point, axis=1))
    (found,) = graded_points(mesh)
    assert found.at == pytest.approx(point, abs=1e-12)
    assert found.size < 2e-3


def test_a_layer_is_no_point():
    mesh = refined_at(generate_mesh(pc.Rectangle((0, 0), (1, 1)), cells=(4, 4)), lambda x: x[:, 0], 7)
    assert graded_points(mesh) == []


def test_an_even_mesh_has_none():
    assert graded_points(generate_mesh(pc.Rectangle((0, 0), (1, 1)), size=0.1)) == []


def test_a_thin_cell_is_none():
    """Its middle is far from its corners: no cell lies around these."""
    nodes = np.array([[0, 0], [1, 0], [0.5, 1e-8], [0.5, 1], [0.5, -1]])
    assert graded_points(Mesh(nodes, np.array([[0, 1, 2], [0, 2, 3], [2, 1, 3], [0, 4, 1]]), {})) == []
