"""How the memory that a march may take is divided: its matrices, P, the features of its network, and their least squares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ...environment import free_on_gpu
from ...network.placed import PART, least_part_bytes, table_bytes
from ...network.separated import LARGE
from ...precondition import Stages
from ...precondition.dense_step import dense_bytes, dense_precision
from ...train.head_factors import orthogonal_bytes, seminormal_bytes
from ...train.panels import panel_bytes
from ..cost import PROGRAM, factor_bytes, system_bytes
from ..method import OPTIMISERS_PART, Options
from ..settings import Settings

_OF_FREE = 0.9  # of what is free on a GPU


@dataclass(frozen=True)
class Sizes:
    """What the memory of a march depends on.

    Attributes:
        points: of the mesh where the network is evaluated; dofs: of one time level; levels: of a window.
        dimension: of space.
        inputs: what the first layer of the network sees; width: what the last one does; deep: whether these differ.
        inverted: for each dense inverse in P whether it is complex; none where P has none.
        dense: P has no other form, so that its inverses count whether they fit or not.
        factored: the same for each pair of complete factors in the memory that is divided; none where they are elsewhere.
        separated: features are products of functions of one axis on a grid, and have no table, nor has their least squares.
        trained: part of the memory that an optimiser of all weights takes; 0 where the last layer alone is solved for.
    """

    points: float
    dofs: float
    levels: int
    dimension: int
    inputs: int
    width: int
    deep: bool
    inverted: Sequence[bool] = ()
    dense: bool = False
    factored: Sequence[bool] = ()
    separated: bool = False
    trained: float = 0.0

    @property
    def table(self) -> float:
        """Bytes of the features at the points."""
        return 0.0 if self.separated else table_bytes(self.points, self.inputs, self.width, self.deep)

    @property
    def part(self) -> float:
        """Bytes of the smallest part of them."""
        return 0.0 if self.separated else least_part_bytes(self.inputs, self.width)

    @property
    def least(self) -> float:
        """Bytes that the least squares for the last layer can do with."""
        if self.separated:
            return 0.0
        return panel_bytes(self.width + 1) if self.normal else seminormal_bytes(0, self.width)

    @property
    def whole(self) -> float:
        """Bytes that it takes where it may."""
        return self.least if self.normal else max(self.least, orthogonal_bytes(self.points, self.width))

    @property
    def system(self) -> float:
        """Bytes of matrices and vectors."""
        return system_bytes(self.dofs * self.levels, self.dimension)

    @property
    def factors(self) -> float:
        """Bytes of P as factors."""
        return sum(factor_bytes(self.dofs, self.dimension, is_complex) for is_complex in self.factored)

    @property
    def normal(self) -> bool:
        """Whether there are so many features that the last layer is solved for by normal equations."""
        return self.points * self.width > LARGE


@dataclass(frozen=True)
class Rooms:
    """Bytes for the large parts of a march; without a limit each takes what is fastest.

    Attributes:
        inverses: in P.
        heads: factors of the least squares for the last layer.
        features: tables of features, kept or made a part at a time.
    """

    inverses: float = math.inf
    heads: float = math.inf
    features: float = math.inf


def march_limit(run: Options, device: torch.device) -> float:
    """Bytes that a march may take beside the program: as asked for, and on a GPU no more than is free there."""
    limit = min(run.limit, _OF_FREE * free_on_gpu() * 2**30) if device.type == "cuda" else run.limit
    return limit - PROGRAM * 2**30


def divided(limit: float, sizes: Sizes) -> Rooms:
    """Rooms within a limit in bytes: inverses in double or in single precision, then least squares, then features.

    What is left may be negative, or too small for anything: see `parts`.
    """
    if math.isinf(limit):
        return Rooms()
    left = limit * (1 - sizes.trained) - sizes.system - sizes.factors
    table, inverses = sizes.table / (1 - PART), 0.0
    if sizes.inverted:
        n = round(sizes.dofs)
        precision = dense_precision(n, sizes.inverted, left - sizes.least - min(table, sizes.part))
        if precision is not None or sizes.dense:
            inverses = dense_bytes(n, sizes.inverted, precision != torch.float64)
    left -= inverses
    heads = sizes.whole if sizes.whole + table <= left else sizes.least
    return Rooms(inverses, heads, left - heads)


def parts(sizes: Sizes, rooms: Rooms) -> dict[str, float]:
    """What each part of a march takes in these rooms, in bytes."""
    tiled = sizes.table > (1 - PART) * rooms.features
    inverses = dense_bytes(round(sizes.dofs), sizes.inverted) if sizes.inverted else 0.0
    return {
        "matrices and vectors": sizes.system,
        "factors in P": sizes.factors,
        "dense inverses in P": min(inverses, rooms.inverses),
        "least squares of the last layer": sizes.whole if sizes.whole <= rooms.heads else sizes.least,
        "features at the nodes": min(sizes.table, max(sizes.part, PART * rooms.features))
        if tiled
        else sizes.table + sizes.part,
    }


def forms_of(
    P: object, dofs: int, stages: int, device: torch.device
) -> tuple[tuple[bool, ...], bool, tuple[bool, ...]]:
    """`inverted`, `dense` and `factored` of `Sizes` for steps of so many stages.

    Whether a polynomial will do instead of factors is not known yet, so that they count only where they are asked for.
    """
    modes = (True,) * (stages // 2) + (False,) * (stages % 2)
    if isinstance(P, Stages) and P.may_be_dense(dofs, device):
        return modes, P.solves == "dense", ()
    factored = isinstance(P, Stages) and P.solves == "factors" and device.type == "cpu"
    return (), False, modes if factored else ()


def part_of_optimiser(settings: Settings) -> float:
    """Of the memory, for the optimiser of all weights; none where the last layer alone is solved for."""
    trains = settings.optimiser.iterations or settings.time.start_iterations
    return OPTIMISERS_PART if trains else 0.0
