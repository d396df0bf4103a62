"""Sizes of the networks of a march, one after the other: more units, or finer cells where units do not help.

A march of networks takes the values of one at the nodes, makes a step, and fits the next to it. The step sees values of a smooth
function where a discrete march would see those that its own cells agree with: what is wrong by that adds up from step to step, is
more than the error of the discrete march itself, and falls with the size of the cells alone. Where there are kinks to follow it
is units that lack.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ...problem.problem import Problem
from ...solution.verdict import SAFETY
from .limits import Limits
from .steps import AdaptedMarch

_UNITS = {1: (2, 80, 640), 2: (6, 300, 1500), 3: (6, 400, 1000)}  # nodes per unit of the first network; least, most
_ON_GPU = 4  # times as many at most: they cost hardly more there than fewer
_MOST_GROWTH = 16.0  # of the first network's width in all
# In one round: the first time, later at most, and at least.
_ONCE, _LATER, _LEAST = 2.0, 4.0, 1.3
_COST = 2.0  # power of the width that a round costs: least squares of the last layer
_POWER = 0.25  # of the width that the estimate must fall by: else wider networks are not worth their time
_HALVINGS = 1  # of the planned cells, at most
_HELPED = 0.8  # finer cells did, if the estimate fell to less than this part

Why = tuple[str, str]  # what limits, and what to do about it


@dataclass(frozen=True)
class Size:
    """Of a network and its cells.

    Attributes:
        width: units; 0 for those that the user gave.
        halvings: of the planned cells.
    """

    width: int
    halvings: int = 0


@dataclass(frozen=True)
class Round:
    """A network that was tried."""

    size: Size
    estimate: float


def first_width(problem: Problem, adapted: AdaptedMarch, device: torch.device) -> int:
    """Units of the first network, by the size of the mesh."""
    each, least, most = _UNITS[problem.dimension]
    most *= _ON_GPU if device.type == "cuda" and problem.dimension > 1 else 1
    nodes = adapted.level.base.space.size // problem.components
    return int(np.clip(nodes / each, least, most))


def next_size(
    rounds: Sequence[Round], asked: float, took: float, limits: Limits, dofs: int, dimension: int
) -> tuple[Size | None, Why | None]:
    """What is tried next: what seems to be needed, and there is time for.

    None where nothing is, with what limits and what to do about it if that is not the network's size alone.

    Args:
        rounds: the networks so far.
        asked: the accuracy.
        took: seconds of the last one.
        limits: of the run.
        dofs: of the planned cells.
        dimension: of space.
    """
    last = rounds[-1].size
    alike = [r for r in rounds if r.size.halvings == last.halvings]
    before = [r.estimate for r in rounds if r.size.halvings < last.halvings]
    stalls = not rounds[-1].estimate <= _HELPED * min(before) if before and len(alike) == 1 else _stalls(alike)
    if not last.width:  # the user's own
        return None, None
    if not stalls:
        return _wider(alike, rounds[0].size.width, asked, took, limits)
    first, second = rounds[-2:] if len(alike) == 1 else alike[-2:]
    found = f"{second.estimate:.1e} with {second.size.width} units, {first.estimate:.1e} with {first.size.width}"
    cells = dofs * 2 ** (dimension * (last.halvings + 1))
    if last.halvings == _HALVINGS:
        return None, (
            "network",
            f"neither wider networks nor finer cells help ({found}): smooth what is rough in the data, or ask for less",
        )
    if not limits.affords(cells, dimension):
        return None, ("memory", f"allow more memory, for finer cells: wider networks hardly help ({found})")
    needed = took * 2**dimension
    if needed > limits.left:
        more = math.ceil(1.1 * (limits.seconds - limits.left + needed))
        return None, (
            "time",
            f"allow more time (time_limit={more}), for finer cells: wider networks hardly help ({found})",
        )
    return Size(first.size.width, last.halvings + 1), None


def _stalls(alike: Sequence[Round]) -> bool:
    """Whether the last network is hardly better than a narrower one before it."""
    if len(alike) < 2:
        return False
    narrow, wide = alike[-2:]
    return not wide.estimate <= narrow.estimate * (narrow.size.width / wide.size.width) ** _POWER


def _wider(
    alike: Sequence[Round], first: int, asked: float, took: float, limits: Limits
) -> tuple[Size | None, Why | None]:
    """A wider network on the same cells."""
    last = alike[-1].size
    factor = min(_needed(alike, asked), _MOST_GROWTH * first / last.width)
    if factor < _LEAST:  # the largest that is tried
        return None, None
    affordable = (limits.left / max(took, 1e-3)) ** (1 / _COST)
    if limits.left < 0.1 * limits.seconds or affordable < _LEAST:
        more = math.ceil(1.1 * (limits.seconds - limits.left + took * factor**_COST))
        wider = f"for a network of {int(factor * last.width)} units instead of {last.width}"
        return None, ("time", f"allow more time (time_limit={more}), {wider}")
    return Size(int(min(factor, affordable) * last.width), last.halvings), None


def _needed(alike: Sequence[Round], asked: float) -> float:
    """Times the width of the last network that are likely to be enough, as far as one round goes."""
    if len(alike) < 2 or not alike[-2].estimate < np.inf:
        return _ONCE
    (w0, e0), (w1, e1) = ((r.size.width, r.estimate) for r in alike[-2:])
    power = math.log(e0 / e1) / math.log(w1 / w0)
    return float(np.clip((SAFETY * e1 / asked) ** (1 / power), _ONCE, _LATER))
