"""Mesh files from outside: names, curved cells, planar meshes, and every way to be broken."""

import math

import meshio
import numpy as np
import pytest
import skfem
from mesh_files import CUBE, GMSH41, SQUARE, flat3, save

from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.read import read_mesh
from pcpinn.problem.shapes import Ball, Disk, Interval


def sides(mesh):
    """Name -> set of facets, each a set of points."""
    return {
        name: {tuple(sorted(map(tuple, np.round(mesh.nodes[f], 12).tolist()))) for f in rows}
        for name, rows in mesh.boundaries.items()
    }


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("mesh", [SQUARE, CUBE], ids=["square", "cube"])
def test_gmsh_22_with_physical_names(tmp_path, mesh, binary):
    found = read_mesh(save(tmp_path / "m.msh", mesh, file_format="gmsh22", binary=binary))
    assert found.dimension == mesh.dimension
    assert len(found.cells) == len(mesh.cells)
    assert sides(found) == sides(mesh)


def test_gmsh_41_with_physical_names_and_gaps_in_numbers(tmp_path):
    path = tmp_path / "m.msh"
    path.write_text(GMSH41)
    mesh = read_mesh(path)
    assert mesh.nodes.shape == (4, 2)
    assert sides(mesh)["floor"] == {((0.0, 0.0), (1.0, 0.0))}
    assert {name: len(rows) for name, rows in mesh.boundaries.items()} == {"floor": 1, "rest": 3}


@pytest.mark.parametrize("suffix", [".vtu", ".xdmf"])
@pytest.mark.parametrize("tag", ["gmsh:physical", "boundary", "medit:ref", "my_tags"])
def test_integer_cell_data_become_names(tmp_path, suffix, tag):
    found = read_mesh(save(tmp_path / f"m{suffix}", SQUARE, tag=tag, named=False))
    assert sides(found) == {str(i + 1): s for i, s in enumerate(sides(SQUARE).values())}


def test_interval_in_a_file(tmp_path):
    mesh = generate_mesh(Interval(0, 2), cells=4)
    found = read_mesh(save(tmp_path / "m.vtu", mesh, named=False))
    assert found.dimension == 1
    assert sides(found) == {"1": {((0.0,),)}, "2": {((2.0,),)}}


def test_facets_without_a_group_are_called_boundary(tmp_path):
    meshio.Mesh(flat3(SQUARE.nodes), [("triangle", SQUARE.cells)]).write(tmp_path / "m.vtu")
    assert {name: len(rows) for name, rows in read_mesh(tmp_path / "m.vtu").boundaries.items()} == {"boundary": 12}
    some = {"left": SQUARE.boundaries["left"]}
    found = read_mesh(save(tmp_path / "m.msh", SQUARE, file_format="gmsh22", groups=some))
    assert {name: len(rows) for name, rows in found.boundaries.items()} == {"left": 3, "boundary": 9}
    found = read_mesh(save(tmp_path / "m.msh", SQUARE, file_format="gmsh22", groups={"boundary": some["left"]}))
    assert {name: len(rows) for name, rows in found.boundaries.items()} == {"boundary": 3, "unnamed": 9}


def test_unused_nodes_are_dropped(tmp_path):
    points = np.vstack([[[9, 9, 9]], flat3(SQUARE.nodes)])
    meshio.Mesh(points, [("triangle", SQUARE.cells + 1)]).write(tmp_path / "m.vtu")
    np.testing.assert_array_equal(read_mesh(tmp_path / "m.vtu").nodes, SQUARE.nodes)


@pytest.mark.parametrize("suffix", [".msh", ".vtu"])
def test_second_order_triangles_stay_curved(tmp_path, suffix):
    disk = generate_mesh(Disk((0, 0), 1), size=0.4)
    tags = [np.zeros(len(disk.cells), int)]
    data = {"gmsh:physical": tags, "gmsh:geometrical": tags} if suffix == ".msh" else {}
    path = tmp_path / f"m{suffix}"
    meshio.Mesh(flat3(disk.nodes), [("triangle6", disk.cells)], cell_data=data).write(
        path, file_format="gmsh22" if suffix == ".msh" else None
    )
    found = read_mesh(path)
    assert found.curved
    area = skfem.Basis(found.skfem, skfem.ElementTriP1(), intorder=4).dx.sum()
    assert area == pytest.approx(math.pi, rel=1e-4)
    assert len(found.boundaries["boundary"]) == len(disk.boundaries["boundary"])


def second_order(mesh, edges):
    """Middle nodes for every edge of every cell, one node per edge."""
    pairs = np.sort(mesh.cells[:, edges], axis=2)
    unique, number = np.unique(pairs.reshape(-1, 2), axis=0, return_inverse=True)
    nodes = np.vstack([mesh.nodes, mesh.nodes[unique].mean(axis=1)])
    return nodes, np.hstack([mesh.cells, len(mesh.nodes) + number.reshape(len(mesh.cells), -1)])


def test_second_order_cells_without_curvature_become_straight(tmp_path):
    nodes, cells = second_order(SQUARE, [(0, 1), (1, 2), (0, 2)])
    meshio.Mesh(flat3(nodes), [("triangle6", cells)]).write(tmp_path / "m.vtu")
    found = read_mesh(tmp_path / "m.vtu")
    assert not found.curved
    assert len(found.nodes) == len(SQUARE.nodes)


def test_second_order_tetrahedra_stay_curved(tmp_path):
    nodes, cells = second_order(CUBE, [(0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)])
    meshio.Mesh(nodes, [("tetra10", cells)]).write(tmp_path / "flat.vtu")
    assert read_mesh(tmp_path / "flat.vtu").cells.shape == CUBE.cells.shape
    ball = generate_mesh(Ball((0, 0, 0), 1), size=0.4)
    meshio.Mesh(ball.nodes, [("tetra10", ball.cells)]).write(tmp_path / "ball.vtu")
    found = read_mesh(tmp_path / "ball.vtu")
    assert found.curved
    assert volume(found) == pytest.approx(4 / 3 * math.pi, rel=3e-3)
    assert volume(found) == pytest.approx(volume(ball), rel=1e-12)


def volume(mesh):
    return skfem.Basis(mesh.skfem, skfem.ElementTetP1(), intorder=4).dx.sum()
