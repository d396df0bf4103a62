"""What is asked of a solve: an accuracy, and whatever the user has fixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import PcpinnError
from ...mesh.generate import generate_mesh
from ...mesh.mesh import Mesh
from ...problem.problem import Problem
from ...problem.shape_base import Domain, SpaceTime
from ..method import METHODS
from ..settings import Settings, recipes_with, resolve
from ..start import Start

FIRST_CELLS = {1: 20, 2: 8, 3: 5}  # along the longest side of the domain
DEGREE = {1: 3, 2: 3, 3: 2}
_FREE = (
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
        accuracy: relative L2 error, the largest over the fields.
        given: settings by key, as given to `solve`.
        start: where Newton's method begins.
    """

    accuracy: float
    given: Mapping[str, Any]
    start: Start | None = None

    def __post_init__(self) -> None:
        if not 0 < self.accuracy < 1:
            raise PcpinnError(f"accuracy={self.accuracy:g} is no relative error", "give one below 1, such as 1e-3")
        if self.accuracy < 1e-8:
            raise PcpinnError(
                f"accuracy={self.accuracy:g} is beyond what double precision allows here", "ask for 1e-8 or more"
            )

    def fixes(self, *slots: str) -> bool:
        """Whether something in one of these slots was given."""
        return any(slot in slots and key not in _FREE for key in self.given for slot in _slots(key))

    def settings(self, over_time: bool, chosen: Mapping[str, Any]) -> Settings:
        """What was given, completed by what is chosen here."""
        return resolve(METHODS.find("pcpinn"), over_time, self.given, chosen)


def _slots(key: str) -> list[str]:
    prefix, _, name = key.rpartition(".")
    return [prefix] if prefix else [key, *(slot for slot, _ in recipes_with(name))]


def first_mesh(problem: Problem, settings: Settings) -> Mesh:
    """A coarse mesh to begin with; the user's own, if the problem has one."""
    domain = problem.domain
    if isinstance(domain, Mesh):
        return domain
    assert isinstance(domain, Domain)
    shape = domain.shape if isinstance(domain, SpaceTime) else domain
    size = shape.extent / FIRST_CELLS[shape.dimension]  # type: ignore[attr-defined]
    options = {**settings.mesh.options(), "periodic": problem.periodic_pairs, "size": size, "cells": None}
    if problem.over_time:
        return generate_mesh(shape, kinks=settings.mesh.kinks or (), **options)
    steps = 8 if isinstance(domain, SpaceTime) else None
    return generate_mesh(domain, steps=steps, kinks=settings.mesh.kinks or (), **options)
