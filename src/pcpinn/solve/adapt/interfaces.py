"""Jumps of a problem's coefficients, and meshes that follow them from the first to the last."""

from __future__ import annotations

from dataclasses import dataclass

from ...discretize.jumps import flux_jumps, flux_values
from ...discretize.onto_jumps import OntoJumps
from ...mesh.crossed import uncrossed
from ...mesh.mesh import Mesh
from ...problem.problem import Problem
from ...problem.shape_base import Domain
from ...recipes import PerAxis
from ..settings import Settings
from .wish import first_mesh


@dataclass(frozen=True)
class Interfaces:
    """Where coefficients jump.

    Attributes:
        planes: coordinates along each axis.
        onto: fits plane meshes to all jumps; None where nothing jumps.
    """

    planes: PerAxis = ()
    onto: OntoJumps | None = None

    def first_mesh(self, problem: Problem, settings: Settings, given: Mesh | None = None) -> Mesh:
        """A coarse mesh to begin with, fitted to the jumps where it is made here; one that is given stays as it is."""
        mesh = first_mesh(problem, settings, given, self.planes)
        own = given is None and isinstance(problem.domain, Domain) and not problem.periodic_pairs
        return self.onto.fitted(mesh) if own and self.onto is not None else mesh

    def settled(self, mesh: Mesh) -> Mesh:
        """A refined mesh with its new nodes on the jumps."""
        return mesh if self.onto is None else self.onto.settled(mesh)

    def kinks(self, mesh: Mesh) -> PerAxis:
        """The planes that cut no cell: the network gets the distance from them as inputs."""
        return uncrossed(mesh, self.planes)


def interfaces_of(problem: Problem) -> Interfaces:
    """The jumps of the coefficients of the flux of a steady problem."""
    there, planes = flux_jumps(problem)
    return Interfaces(planes, OntoJumps(flux_values(problem))) if there else Interfaces()
