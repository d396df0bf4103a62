"""Good meshes pass whatever the order of their corners; each kind of damage is found."""

import time

import numpy as np
import pytest

from pcpinn.errors import PcpinnError
from pcpinn.mesh.check import check_mesh
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.mesh import Mesh
from pcpinn.mesh.topology import facets_of, row_keys
from pcpinn.problem.shapes import Box, Disk, Interval, Rectangle

SQUARE = generate_mesh(Rectangle((0, 0), (1, 1)), cells=(4, 4))
CUBE = generate_mesh(Box((0, 0, 0), (1, 1, 1)), cells=(3, 3, 3))
LINE = generate_mesh(Interval(0, 1), cells=5)
DISK = generate_mesh(Disk((0, 0), 1), size=0.5)


def with_nodes(mesh, change):
    nodes = mesh.nodes.copy()
    change(nodes)
    return Mesh(nodes, mesh.cells, mesh.boundaries)


@pytest.mark.parametrize("mesh", [LINE, SQUARE, CUBE], ids=["line", "square", "cube"])
def test_good_meshes_pass_with_corners_and_nodes_in_any_order(mesh):
    rng = np.random.default_rng(1)
    number = rng.permutation(len(mesh.nodes))
    nodes = np.empty_like(mesh.nodes)
    nodes[number] = mesh.nodes
    cells = rng.permuted(number[mesh.cells], axis=1)
    shuffled = Mesh(nodes, cells, {name: number[rows] for name, rows in mesh.boundaries.items()})
    assert check_mesh(shuffled) is shuffled


def test_good_curved_mesh_passes_with_corners_in_any_order():
    for turn in ([1, 2, 0, 4, 5, 3], [1, 0, 2, 3, 5, 4]):
        check_mesh(Mesh(DISK.nodes, DISK.cells[:, turn], DISK.boundaries))


def test_large_mesh_is_checked_quickly():
    mesh = generate_mesh(Box((0, 0, 0), (1, 1, 1)), cells=(30, 30, 30))  # 162 000 tetrahedra
    start = time.process_time()
    check_mesh(mesh)
    assert time.process_time() - start < 1.5


def test_a_vertex_pulled_through_the_opposite_side_is_found():
    inner = int(np.argmin(np.linalg.norm(SQUARE.nodes - 0.5, axis=1)))
    for mesh, centre in ((SQUARE, inner), (CUBE, int(np.argmin(np.linalg.norm(CUBE.nodes - 1 / 3, axis=1))))):
        small = with_nodes(mesh, lambda x, c=centre: x.__setitem__(c, x[c] + 0.05))
        check_mesh(small)
        with pytest.raises(PcpinnError, match="tangled"):
            check_mesh(with_nodes(mesh, lambda x, c=centre: x.__setitem__(c, x[c] + 0.45)))


def test_folded_line_is_found():
    with pytest.raises(PcpinnError, match="tangled"):
        check_mesh(Mesh(np.array([[0.0], [0.5], [0.2], [1.0]]), np.array([[0, 1], [1, 2], [2, 3]])))


def test_curved_triangle_that_folds_is_found():
    middle = DISK.cells[0, 3]

    def pull(x):
        x[middle] += 5.0 * (x[DISK.cells[0, 2]] - x[middle])

    with pytest.raises(PcpinnError, match="fold over themselves"):
        check_mesh(with_nodes(DISK, pull))


def test_curved_triangles_with_different_middle_nodes_are_found():
    cells = DISK.cells.copy()
    inner = np.flatnonzero(np.bincount(cells[:, 3:].ravel(), minlength=len(DISK.nodes)) == 2)[0]
    row, column = np.argwhere(cells == inner)[0]
    cells[row, column] = len(DISK.nodes)
    nodes = np.vstack([DISK.nodes, DISK.nodes[inner] + 0.01])
    with pytest.raises(PcpinnError, match="different middle nodes"):
        check_mesh(Mesh(nodes, cells, DISK.boundaries))


def test_pieces_are_counted():
    shifted = Mesh(
        np.vstack([SQUARE.nodes, SQUARE.nodes + 5]),
        np.vstack([SQUARE.cells, SQUARE.cells[:8] + len(SQUARE.nodes)]),
        SQUARE.boundaries,
    )
    with pytest.raises(PcpinnError, match="2 pieces that share no facets, of 32, 8 cells"):
        check_mesh(shifted)


def bad(nodes=SQUARE.nodes, cells=SQUARE.cells, boundaries=None):
    return Mesh(nodes, cells, SQUARE.boundaries if boundaries is None else boundaries)


NAN = SQUARE.nodes.copy()
NAN[3, 1] = np.nan


@pytest.mark.parametrize(
    ("mesh", "message"),
    [
        (bad(cells=np.empty((0, 3), int)), "mesh is empty"),
        (bad(nodes=np.empty((0, 2))), "mesh is empty"),
        (bad(nodes=np.zeros(5)), "nodes have shape \\(5,\\)"),
        (bad(nodes=NAN), "node 3 is"),
        (bad(nodes=SQUARE.nodes.astype(int)), "type is int64"),
        (bad(cells=SQUARE.cells.astype(float)), "type float64"),
        (bad(cells=SQUARE.cells[:, :2]), "shape \\(32, 2\\)"),
        (bad(cells=np.where(SQUARE.cells == 7, 99, SQUARE.cells)), "use node 99"),
        (bad(cells=np.where(SQUARE.cells == 7, -3, SQUARE.cells)), "use node -3"),
        (bad(cells=np.vstack([SQUARE.cells, [[0, 1, 2]]])), "cell 32 at \\(0.25, 0\\)"),
        (bad(cells=np.vstack([SQUARE.cells, [[0, 1, 1]]])), "no volume"),
        (bad(cells=np.vstack([SQUARE.cells, SQUARE.cells[5:6]])), "both cells lie on the same side|more than two"),
        (bad(boundaries={"wall": np.empty((0, 2), int)}), "'wall' has no facets"),
        (bad(boundaries={"wall": np.array([[0, 1, 2]])}), "'wall' have shape"),
        (bad(boundaries={"wall": np.array([[0, 99]])}), "'wall' use node 99"),
        (bad(boundaries={"wall": np.array([[0, 1], [6, 7]])}), "1 of 2 facets called 'wall' are not on the boundary"),
        (bad(boundaries={"wall": np.array([[0, 24]])}), "not on the boundary"),
    ],
)
def test_damage_is_found(mesh, message):
    with pytest.raises(PcpinnError, match=message) as caught:
        check_mesh(mesh)
    assert caught.value.remedy


def test_facets_of_a_grid():
    facets = facets_of(CUBE.vertices)
    assert len(facets.boundary) == 6 * 9 * 2
    assert np.sum(facets.count) == 4 * len(CUBE.cells)


def test_row_keys_also_for_huge_numbers():
    rows = np.array([[2**40, 5, 1], [1, 2, 3], [2**40, 5, 1], [1, 2, 4]])
    keys = row_keys(rows)
    assert keys[0] == keys[2]
    assert len(set(keys.tolist())) == 3
