"""How far an estimate can be trusted: what earlier levels estimated, against what the newest level finds their error to be.

A finer space sees only a part of the error where the solution is not smooth. The part that it saw on earlier, coarser levels can
be measured with the newest solution, and it is the least of these parts that the newest estimate is divided by.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

LEAST_TRUST = 0.05
FIRST_TRUST = 0.5  # of a march's only level: the first levels of 22 problems over time saw 0.59 of their error or more
_FEWER = (1.5, 2.5, 4.0, 8.0)  # the earlier levels that are asked have so many times fewer degrees of freedom

L = TypeVar("L")


def trust(
    levels: Sequence[L], size: Callable[[L], int], seen: Callable[[L], float], found: Callable[[L], float]
) -> float:
    """The least part of its error that an earlier level saw, from LEAST_TRUST to 1; LEAST_TRUST for a first level.

    Args:
        levels: all of them, the newest last.
        size: degrees of freedom of a level.
        seen: the error that a level estimated for itself.
        found: its error, measured with the newest level.
    """
    earlier = list(levels[:-1])
    if not earlier:
        return LEAST_TRUST
    now = size(levels[-1])
    asked = {len(earlier) - 1}
    for fewer in _FEWER:
        known = [k for k, level in enumerate(earlier) if size(level) <= now / fewer]
        if known:
            asked.add(known[-1])
    if len(earlier) > 3:
        asked |= {len(earlier) - 3}  # where cells are added one by one, sizes say little
    parts = []
    for k in sorted(asked):
        own, true = seen(earlier[k]), found(earlier[k])
        if not (math.isfinite(own) and math.isfinite(true)):
            return LEAST_TRUST
        parts.append(own / true if true else 1.0)
    if len(parts) > 2 and asked >= {0}:
        parts = parts[1:]  # the first mesh knew nothing yet
    return min(1.0, max(LEAST_TRUST, min(parts)))
