"""Mesh files for the tests of the reader."""

import meshio
import numpy as np

from pcpinn.mesh.generate import generate_mesh
from pcpinn.problem.shapes import Box, Rectangle

SQUARE = generate_mesh(Rectangle((0, 0), (1, 1)), cells=(3, 3))
CUBE = generate_mesh(Box((0, 0, 0), (1, 1, 1)), cells=(2, 2, 2))
CELL, FACET = {1: "line", 2: "triangle", 3: "tetra"}, {1: "vertex", 2: "line", 3: "triangle"}


def flat3(nodes):
    return np.column_stack([nodes, np.zeros((len(nodes), 3 - nodes.shape[1]))])


def save(path, mesh, tag="gmsh:physical", named=True, file_format=None, groups=None, **options):
    """Write a Mesh with one tag per boundary name."""
    groups = mesh.boundaries if groups is None else groups
    rows = [np.asarray(r) for r in groups.values()]
    d = mesh.dimension
    blocks = [(CELL[d], mesh.cells), (FACET[d], np.concatenate(rows))]
    tags = [np.full(len(mesh.cells), 77), np.concatenate([np.full(len(r), i + 1) for i, r in enumerate(rows)])]
    data = {tag: tags}
    if file_format and file_format.startswith("gmsh"):
        data["gmsh:geometrical"] = tags
    fields = {name: np.array([i + 1, d - 1]) for i, name in enumerate(groups)} if named else {}
    meshio.Mesh(flat3(mesh.nodes), blocks, cell_data=data, field_data=fields).write(
        path, file_format=file_format, **options
    )
    return path


GMSH41 = """$MeshFormat
4.1 0 8
$EndMeshFormat
$PhysicalNames
3
1 5 "floor"
1 6 "rest"
2 9 "domain"
$EndPhysicalNames
$Entities
0 2 1 0
1 0 0 0 1 0 0 1 5 0
2 0 0 0 1 1 0 1 6 0
1 0 0 0 1 1 0 1 9 2 1 2
$EndEntities
$Nodes
1 4 1 40
2 1 0 4
10
20
30
40
0 0 0
1 0 0
1 1 0
0 1 0
$EndNodes
$Elements
3 6 1 6
1 1 1 1
1 10 20
1 2 1 3
2 20 30
3 30 40
4 40 10
2 1 2 2
5 10 20 30
6 10 30 40
$EndElements
"""
