"""Networks on the finer space of a level: what its solution leaves of the error, as later levels find it.

The finer solution is there anyway, to measure errors with. Its own error is not seen on its level; on earlier meshes it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from .inverses import Inverses
from .level import Level

_EARLIER = 2  # meshes that are asked, and must be there: a single one said 2.2 times too little of a smooth solution
WORTH = 0.7  # of the error: where the finer solution leaves more, its space is not worth its unknowns


def left(levels: Sequence[Level]) -> float | None:
    """The largest part of their error that finer solutions of earlier meshes still had, as the last level finds it.

    None where there were not enough earlier meshes with the same degrees.
    """
    now = levels[-1]
    degree = now.coarse.space.degree
    earlier = [level for level in levels[:-1] if level.coarse.space.degree == degree and level.mesh is not now.mesh]
    if len(earlier) < _EARLIER:
        return None
    parts = []
    for level in earlier[-_EARLIER:]:
        own = now.largest(now.distances_from(level.coarse, level.u))
        finer = now.largest(now.distances_from(level.fine, level.better))
        parts.append(finer / own if own > 0 else 1.0)
    return min(1.0, max(parts))


def lifted(level: Level) -> Level:
    """The level with its finer space and solution for both: networks are trained there, and measured there."""
    inverses = Inverses(level.fine)
    inverses.iterated = level.iterated
    return Level(level.fine, level.better, level.fine, level.better, inverses)
