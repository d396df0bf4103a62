"""Jumps of a problem's coefficients, and meshes that follow them from the first to the last."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...discretize.jump_facets import jump_facets
from ...discretize.jumps import at_moment, crossed_edges, followed_values, slope_jumps, slope_values, sources_jump
from ...discretize.onto_jumps import OntoJumps
from ...mesh.bisect import evened_out
from ...mesh.crossed import uncrossed
from ...mesh.mesh import Mesh
from ...problem.problem import Problem
from ...problem.shape_base import Domain
from ...recipes import PerAxis
from ..refinement import refined_everywhere, refined_where, shape_of
from ..settings import Settings
from .wish import first_mesh

_RATIO = 3.0  # of the lengths of cells beside each other, where a layer between two jumps is thin
_FINEST = 4000  # cells of a first mesh that is made finer so that it can be fitted
_ROUNDS = 5  # of fitting again
_MOST = 4000  # pieces of interfaces that a network measures its distance from


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
        if given is not None or not isinstance(problem.domain, Domain) or problem.periodic_pairs or self.onto is None:
            return mesh
        return _evened(self._fitted(self.onto, mesh, problem))

    def _fitted(self, onto: OntoJumps, mesh: Mesh, problem: Problem) -> Mesh:
        """A mesh fitted to the jumps; where its cells are too large for that, as beside a thin ring, a finer one."""
        shape, finer = shape_of(problem, mesh), mesh
        while True:
            fitted = onto.fitted(finer, shape)
            if fitted is not finer:
                return _unmixed(onto, fitted, problem)
            if mesh.dimension != 2 or 4 * finer.cell_count > _FINEST or not onto.crossed(finer):
                return mesh
            finer = refined_everywhere(finer, problem)

    def on_cut(self, problem: Problem, mesh: Mesh) -> tuple[Interfaces, Mesh]:
        """The jumps that a mesh shows whose cells were cut for them, as the sides of a thin layer, and the mesh fitted to them.

        Solids and periodic sides stay as they are.
        """
        plain = mesh.dimension < 3 and not mesh.has_time and not problem.periodic_pairs
        if not plain or not crossed_edges(problem, mesh):
            return self, mesh
        onto = self.onto or OntoJumps(followed_values(problem))
        fitted = onto.fitted(mesh, shape_of(problem, mesh))
        if fitted is mesh:
            return self, mesh
        return replace(self, onto=onto), _evened(_unmixed(onto, fitted, problem))

    def along(self, problem: Problem, mesh: Mesh) -> Interfaces:
        """With the jumps that the sides of cells of a mesh run along, where they were found on it alone."""
        there = self.onto is None and len(jump_facets(slope_values(problem), mesh))
        return replace(self, onto=OntoJumps(followed_values(problem))) if there else self

    def settled(self, mesh: Mesh) -> Mesh:
        """A refined mesh with its new nodes on the jumps."""
        return mesh if self.onto is None else self.onto.settled(mesh)

    def kinks(self, mesh: Mesh) -> PerAxis:
        """The planes that cut no cell: the network gets the distance from them as inputs."""
        return uncrossed(mesh, self.planes)


def _evened(mesh: Mesh) -> Mesh:
    """The units of a network are as far apart as cells are: beside a thin layer there must be some that are not far wider."""
    return evened_out(mesh, _RATIO) if mesh.dimension == 1 and not mesh.has_time else mesh


def _unmixed(onto: OntoJumps, mesh: Mesh, problem: Problem) -> Mesh:
    """A fitted mesh, cut and fitted again where cells still have a jump inside, as those that are too large for its bend."""
    for _ in range(_ROUNDS):
        mixed = onto.mixed(mesh)
        if not mixed.any() or mesh.cell_count > _FINEST:
            break
        finer = refined_where(mesh, mixed, problem)
        mesh = onto.fitted(finer, shape_of(problem, finer))
    return mesh


def interfaces_of(problem: Problem) -> Interfaces:
    """The jumps of coefficients that make slopes jump; over time, those that stay where they are; else those of sources, too."""
    there, planes = slope_jumps(problem)
    return Interfaces(planes, OntoJumps(followed_values(problem))) if there or sources_jump(problem) else Interfaces()


def pieces_of(problem: Problem, mesh: Mesh) -> PerAxis:
    """The sides of cells of a mesh of space across which slopes jump, for the network; none where they are very many."""
    found = jump_facets(at_moment(problem, slope_values(problem)), mesh)
    return tuple(map(tuple, found.reshape(len(found), mesh.dimension**2).tolist())) if len(found) <= _MOST else ()
