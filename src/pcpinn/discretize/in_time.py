"""How time is treated when all of it is solved at once: recipes of the slot `time`. (The march is in solve/march.)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from ..recipes import Recipe, Registry

TIMES: Registry[type[Recipe]] = Registry("treatment of time", "times")


@TIMES.register
@dataclass(frozen=True)
class Simplices(Recipe):
    """All of time at once, as one more axis of the mesh: simplices of space-time.

    Attributes:
        steps: cells along time; by default as many as along the longest side of the domain.
    """

    steps: int | None = None

    name: ClassVar[str] = "simplex"
    positive: ClassVar[tuple[str, ...]] = ("steps",)


@TIMES.register
@dataclass(frozen=True)
class Slabs(Recipe):
    """All of time at once: finite elements in space, polynomials in time on slabs.

    Attributes:
        steps: number of slabs.
        scheme: radau (first order in time, damping), gauss (first order in time, conserving) or galerkin (conditions at both
            ends of time).
        order: time levels per slab.
        halvings: how often the first slab is halved, for data that jump at the start; the network then also gets sqrt(t).
    """

    steps: int = 10
    scheme: Literal["radau", "gauss", "galerkin"] = "radau"
    order: int = 3
    halvings: int = 0

    name: ClassVar[str] = "slabs"
    positive: ClassVar[tuple[str, ...]] = ("steps", "order")
    not_negative: ClassVar[tuple[str, ...]] = ("halvings",)
    at_most: ClassVar[Mapping[str, float]] = {"order": 12, "halvings": 1000}
