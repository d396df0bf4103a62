"""How time is treated when it is solved for as a whole: recipes of the slot `time`. (Marching is one of solve/march.)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..recipes import Recipe, Registry

TIMES: Registry[type[Recipe]] = Registry("treatment of time", "times")


@TIMES.register
@dataclass(frozen=True)
class Simplices(Recipe):
    """Time is one more coordinate of the mesh: all of it at once, on simplices of space-time.

    Attributes:
        steps: cells along time; by default as many as along the longest side of the domain.
    """

    steps: int | None = None

    name: ClassVar[str] = "simplex"
    positive: ClassVar[tuple[str, ...]] = ("steps",)


@TIMES.register
@dataclass(frozen=True)
class Slabs(Recipe):
    """All of time at once: finite elements in space times polynomials in slabs of time.

    Attributes:
        steps: number of slabs.
        scheme: radau (first order in time, damping), gauss (first order in time, conserving) or galerkin (conditions at both
            ends of time).
        order: time levels per slab.
        halvings: how often the first slab is cut in half, for a sudden start; the network then gets sqrt(t) as an input, too.
    """

    steps: int = 10
    scheme: Literal["radau", "gauss", "galerkin"] = "radau"
    order: int = 3
    halvings: int = 0

    name: ClassVar[str] = "slabs"
    positive: ClassVar[tuple[str, ...]] = ("steps", "order")
    not_negative: ClassVar[tuple[str, ...]] = ("halvings",)
