"""What is asked of a solve: an accuracy, and whatever the user has fixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...discretize.jumps import derivatives
from ...discretize.samples import sample_points
from ...errors import PcpinnError
from ...mesh.generate import generate_mesh
from ...mesh.mesh import Mesh
from ...mesh.meshing import Meshing
from ...mesh.netgen_mesher import NotMeshed
from ...mesh.onto_points import with_vertices_at
from ...problem.problem import Problem
from ...problem.shape_base import Domain, SpaceTime
from ...problem.shapes import Box, Interval, Rectangle
from ...recipes import PerAxis
from ..quantity.wanted import Wanted
from ..settings import Settings, resolve
from ..start import Start

FIRST_CELLS = {1: 20, 2: 8, 3: 5}  # along the longest side of the domain
DEGREE = {1: 3, 2: 3, 3: 2}
# Rules with positive weights: that of order 7 on triangles has a negative one, and a mass matrix with a rough coefficient then
# need not be positive, which blows waves up.
QUADRATURE = {1: 7, 2: 8, 3: 5}
_STEPS = 8  # along time as a coordinate
_SECOND_ORDER = 1e-9  # of the other coefficients: less is no second derivative in time
_MOST_FIRST = 6000  # cells of a first mesh that is long in time
_SAMPLES = 16
_SMALLER = 3  # halvings of a size with which no mesh is found
_OPEN = (
    "degree",
    "element",
    "quadrature",
    "curved",
    "curvature",
    "grading",
)  # keys of meshes that leave their size open


@dataclass(frozen=True)
class Wish:
    """What the user wants, and what is fixed.

    Attributes:
        asked: settings as the user gave them, with an accuracy.
        start: where Newton's method begins.
        mesh: of space, to begin with; None to make one.
        quantity: what the accuracy is of, if not of the fields.
    """

    asked: Settings
    start: Start | None = None
    mesh: Mesh | None = None
    quantity: Wanted | None = None

    @property
    def accuracy(self) -> float:
        """Relative L2 error, the largest over the fields; relative error of the quantity, if there is one."""
        accuracy = self.asked.run.accuracy
        assert accuracy is not None
        return accuracy

    def fixes(self, *slots: str) -> bool:
        """Whether something in one of these slots was given that leaves nothing to choose."""
        for key in self.asked.asked:
            slot, _, name = key.partition(".")
            if slot in slots and name not in _OPEN:
                return True
        return False

    def fixes_but(self, free: str, slot: str) -> bool:
        """Whether something in a slot was given other than one key."""
        return any(key.partition(".")[0] == slot and key != free for key in self.asked.asked)

    @property
    def adaptable(self) -> bool:
        """Whether mesh and time are left to the solver."""
        return not self.fixes("mesh", "time") and isinstance(self.asked.mesh, Meshing)

    def settings(self, dimension: int, chosen: Mapping[str, Any] | None = None) -> Settings:
        """What was given, completed by what is chosen here, in a number of dimensions that are meshed."""
        elements: dict[str, Any] = {"degree": DEGREE[dimension]}
        if "mesh.degree" not in self.asked.asked:
            elements["quadrature"] = QUADRATURE[dimension]
        method, over_time, given = self.asked.method, self.asked.over_time, self.asked.asked
        return resolve(method, over_time, given, {**elements, **(chosen or {})}, checked=True)


def first_mesh(problem: Problem, settings: Settings, given: Mesh | None = None, planes: PerAxis = ()) -> Mesh:
    """A coarse mesh to begin with, with vertices at pins; the given one, or the problem's own, if there is one.

    Args:
        problem: the PDE.
        settings: of its meshing.
        given: a mesh to take.
        planes: coordinates along each axis through which lines of the mesh must run; of boxes alone.
    """
    domain = problem.domain
    wanted = problem.dimension if problem.over_time else domain.dimension
    if given is not None and given.dimension != wanted:
        raise PcpinnError(f"the mesh has {given.dimension} coordinates, not {wanted}", "give a mesh of the domain")
    if given is not None:
        return given
    if isinstance(domain, Mesh):
        return domain
    assert isinstance(domain, Domain)
    mesh, pins = _generated(problem, domain, settings, planes), [pin.at for pin in problem.pins]
    return mesh if mesh.has_time else with_vertices_at(mesh, pins, periodic=bool(problem.periodic_pairs))


def _generated(problem: Problem, domain: Domain, settings: Settings, planes: PerAxis) -> Mesh:
    shape = domain.shape if isinstance(domain, SpaceTime) else domain
    size = shape.extent / FIRST_CELLS[shape.dimension]  # type: ignore[attr-defined]
    options = {**settings.mesh.options(), "periodic": problem.periodic_pairs, "size": size, "cells": None}
    meshed = shape if problem.over_time else domain
    if any(planes) and follows_planes(meshed, settings):
        sides = zip(*(np.asarray(b) for b in shape.bounds), planes, strict=True)
        cells = [max(int(np.ceil((b - a) / size)), 1 + len(at)) for a, b, at in sides]
        return generate_mesh(meshed, **{**options, "size": None, "cells": cells, "kinks": planes})
    if isinstance(meshed, SpaceTime):
        size, steps = _with_time(problem, meshed, size)
        return generate_mesh(meshed, **{**options, "size": size, "steps": steps})
    for halvings in range(_SMALLER):
        try:
            return generate_mesh(meshed, **{**options, "size": size / 2**halvings})
        except NotMeshed:  # as gaps that are far thinner than cells are
            continue
    return generate_mesh(meshed, **{**options, "size": size / 2**_SMALLER})


def _with_time(problem: Problem, domain: SpaceTime, size: float) -> tuple[float, int]:
    """Size of cells and number of steps where time is a coordinate.

    Where the equation is of second order in time, cells are as long as they are wide, in lengths by which the equation is the
    same in all directions, as far as a first mesh has so many of them.
    """
    d = domain.shape.dimension
    derivative = np.abs(derivatives(problem)(sample_points(problem, _SAMPLES).numpy()))
    each = np.array([np.nan_to_num(derivative[:, :, 1 + k, :, 1 + k]).mean(axis=0).max() for k in range(d + 1)])
    if not each[-1] > _SECOND_ORDER * each.max() or not each[:-1].min() > 0:
        return size, _STEPS
    span = (domain.end - domain.start) * np.sqrt(each[:-1].mean() / each[-1])
    sides = np.ptp(np.asarray(domain.shape.bounds), axis=0)
    cubes = _MOST_FIRST / (2 if d == 1 else 6)
    h = max(size, float((sides.prod() * span / cubes) ** (1 / (d + 1))))
    return min(h, domain.shape.extent / 2), max(_STEPS, int(np.ceil(span / h)))


def follows_planes(domain: object, settings: Settings) -> bool:
    """Whether a first mesh of the domain can have lines through given coordinates."""
    free = settings.mesh.options()
    return isinstance(domain, Interval | Rectangle | Box) and free["grading"] is None and free["curvature"] is None
