"""Table 1: which challenges the problems have, as far as their definitions say."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
import torch

from ..bench import suite
from ..catalog import find_entry
from ..discretize.check import check_pointwise
from ..discretize.pointwise import Pointwise
from ..problem.shape_base import Domain, SpaceTime
from ..problem.shapes import Box, Interval, Rectangle
from .compare import Comparison, Line, of_claim
from .found import Found
from .item import ITEMS, Item, nothing


@dataclass(frozen=True)
class Challenges:
    """Whether a problem depends on time, is nonlinear, and lives on something other than a box."""

    time: bool
    nonlinear: bool
    geometry: bool


_OVER_TIME = ("burgers", "heat", "ns", "wave", "gs", "ks")  # it marks whole classes
_NONLINEAR = ("burgers", "heat2d-lt", "ns", "gs", "ks")
_GEOMETRY = ("poisson2d-c", "poisson2d-cg", "poisson3d-cg", "heat2d-cg", "ns2d-cg")
HEADER = ("problem", "time", "paper", "nonlinear", "paper", "geometry", "paper")
_POINTS = 20  # at which linearity is tried


def marked(problem: str) -> Challenges:
    """The paper's marks."""
    return Challenges(problem.startswith(_OVER_TIME), problem.startswith(_NONLINEAR), problem in _GEOMETRY)


def actual(name: str) -> Challenges:
    """What the definition says."""
    entry = find_entry(name)
    problem = entry.problem(**entry.parameters)
    domain = problem.domain
    assert isinstance(domain, Domain)
    shape = domain.shape if isinstance(domain, SpaceTime) else domain
    lower, upper = domain.bounds
    x = torch.from_numpy(np.random.default_rng(0).uniform(lower, upper, (_POINTS, len(lower))))
    linear = check_pointwise(Pointwise(problem, strong=True), x)
    return Challenges(isinstance(domain, SpaceTime), not linear, not isinstance(shape, Interval | Rectangle | Box))


def compare(found: Found) -> Comparison:
    """One line per problem."""
    lines = []
    for problem in found.choice.of_problems(suite("paper")):
        ours, paper = actual(problem), marked(problem)
        why = "the problem is steady, in the paper's own equations too" if ours.time != paper.time else ""
        pairs = zip(astuple(ours), astuple(paper), strict=True)
        cells = (problem, *("yes" if v else "no" for pair in pairs for v in pair))
        lines.append(Line(cells, of_claim(ours == paper), why))
    notes = (
        "The paper's other columns (scales, jumps, high frequencies) are matters of judgement and are not compared.",
    )
    return Comparison(HEADER, tuple(lines), notes)


TABLE_1 = ITEMS.register(
    Item(
        "table-1", "Challenges of the problems",
        "marks time-dependence, nonlinearity, geometry, scales, jumps and high frequencies by class of problems.",
        nothing, compare, order=10,
    )
)  # fmt: skip
