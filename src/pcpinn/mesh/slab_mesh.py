"""A mesh of space times slabs of time: space keeps its (curved) triangles, time its own polynomials."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import PcpinnError
from .extrude import extrude
from .mesh import Mesh

ENDS = ("initial", "final")


@dataclass(frozen=True)
class SlabMesh:
    """The product of a mesh in space and slabs of time. The last coordinate is time.

    Attributes:
        space: the mesh in space.
        times: (s + 1,) ends of the slabs, ascending.
    """

    space: Mesh
    times: np.ndarray

    has_time = True

    def __post_init__(self) -> None:
        times = np.asarray(self.times, dtype=np.float64)
        if times.ndim != 1 or len(times) < 2 or not np.isfinite(times).all() or not (np.diff(times) > 0).all():
            raise PcpinnError("the ends of the time slabs are not ascending numbers", "give at least two, in order")
        if self.space.has_time:
            raise PcpinnError("the mesh has time already", "give the mesh of space alone")
        object.__setattr__(self, "times", times)

    @property
    def dimension(self) -> int:
        """Number of coordinates, time included."""
        return self.space.dimension + 1

    @property
    def boundary_names(self) -> tuple[str, ...]:
        """Names of the boundaries, sorted."""
        return tuple(sorted({*self.space.boundary_names, *ENDS}))

    @property
    def cell_count(self) -> int:
        """Number of cells: a cell of space in a slab of time."""
        return len(self.space.cells) * (len(self.times) - 1)

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of the box around it."""
        lower, upper = self.space.bounds
        return np.append(lower, self.times[0]), np.append(upper, self.times[-1])

    @cached_property
    def simplices(self) -> Mesh:
        """The same domain cut into straight simplices, for pictures, files and random points."""
        return extrude(_straight(self.space), self.times, ENDS, has_time=True)


AnyMesh = Mesh | SlabMesh


def _straight(mesh: Mesh) -> Mesh:
    """Corners only."""
    used, renumbered = np.unique(mesh.vertices, return_inverse=True)
    boundaries = {name: np.searchsorted(used, rows) for name, rows in mesh.boundaries.items()}
    return Mesh(mesh.nodes[used], renumbered.reshape(mesh.vertices.shape), boundaries)
