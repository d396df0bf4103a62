"""Functions of space and time that stand in for solutions, and meshes for them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pcpinn import Disk, Field, Interval, Mesh, Rectangle
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.slab_mesh import SlabMesh


@dataclass
class Formula:
    """The least that films and series ask for."""

    mesh: Any
    function: Any
    fields: tuple = (Field("u"),)

    def __call__(self, x):
        return self.function(*x.T)


def line_slabs(times=(0.0, 0.5, 2.0)):
    return SlabMesh(generate_mesh(Interval(0, 1), cells=4), np.array(times))


def plate_slabs(times=(0.0, 1.0), size=0.5):
    """A square with a round hole, in curved triangles."""
    return SlabMesh(generate_mesh(Rectangle((-1, -1), (1, 1)) - Disk((0, 0), 0.5), size=size), np.array(times))


def square_simplices():
    return generate_mesh(Rectangle((0, 0), (1, 2)).over(1.0, 3.0), cells=(3, 3), steps=2)


def sheared(mesh, speed=1.0):
    """The same domain, but moving along x."""
    nodes = mesh.nodes.copy()
    nodes[:, 0] += speed * (nodes[:, -1] - nodes[:, -1].min())
    return Mesh(nodes, mesh.cells, mesh.boundaries, True)
