"""How exact the incomplete factorisation must be: lower its drop tolerance until P is close enough to A."""

from __future__ import annotations

import math
import time
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, get_args

import numpy as np
import scipy.sparse as sp

from ..discretize.system import Discretisation
from ..errors import PcpinnError
from .factorised import ILU, Factors
from .protocol import Preconditioner
from .quality import Quality, estimate_quality
from .recipe import PRECONDITIONERS, Assembled, Ordering
from .refined import Refined

_BYTES = 12  # per entry of a factor: a double and a 32-bit index
_MOST_ENTRIES = 1.5e9  # SuperLU counts them in 32 bits, with its own reserve
_FIRST_FILL, _FILL_GROWTH, _LEAST_FILL = 10.0, 4.0, 2.0
_SMALLEST_DROP = 1e-10
_MOST_REFINEMENT = 8


@dataclass(frozen=True)
class Attempt:
    """One factorisation on the way: its drop tolerance, entries of L + U per entry of A, quality and seconds."""

    drop_tolerance: float
    fill: float
    quality: Quality
    seconds: float
    refinement: int = 0

    def describe(self) -> dict[str, Any]:
        """Numbers for the report."""
        return {
            "drop_tolerance": self.drop_tolerance,
            "fill": round(self.fill, 2),
            "quality": self.quality.describe()["smooth"],
            "seconds": round(self.seconds, 3),
            "refinement": self.refinement,
        }


@dataclass(frozen=True)
class Tightened:
    """The preconditioner chosen, built, and the way to it.

    Attributes:
        preconditioner, state: an ILU, or one with refinement around it.
        quality: of the choice.
        trail: all attempts in order.
        reason: one sentence why it stopped there.
    """

    preconditioner: Preconditioner
    state: Any
    quality: Quality
    trail: tuple[Attempt, ...]
    reason: str

    def describe(self) -> dict[str, Any]:
        """For the report."""
        return {"trail": [a.describe() for a in self.trail], "reason": self.reason}


@PRECONDITIONERS.register
@dataclass(frozen=True)
class AutoILU(Assembled):
    """An ILU whose drop tolerance is lowered until P is close enough to A; order of elimination and fill are chosen, too.

    Attributes:
        quality_target: largest ||I - P^-1 A|| on smooth functions.
        sweep_tolerance: relative error that triangular solves on a GPU may have.
        memory: GiB that L and U may take.
    """

    quality_target: float = 0.02
    sweep_tolerance: float = 1e-6
    memory: float = field(default=4.0, metadata={"hidden": True})

    name: ClassVar[str] = "auto-ilu"
    positive: ClassVar[tuple[str, ...]] = ("quality_target", "sweep_tolerance")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.refinement:
            raise PcpinnError(
                f"auto-ilu adds refinement itself where it helps, so refinement={self.refinement} is not read",
                "leave refinement out, or use preconditioner=ilu with a drop tolerance of your own",
            )

    def meant_by(self, keys: Collection[str]) -> Assembled:
        """An ILU whose drop tolerance, fill or order is given is no longer an automatic one."""
        return ILU() if {"drop_tolerance", "fill_factor", "ordering"} & set(keys) else self

    def fitted(self, discretisation: Discretisation, memory: float) -> AutoILU:
        """With the memory that the run may use."""
        return replace(self, memory=memory)

    def choose(
        self, A: sp.csr_matrix, nodes: np.ndarray, weights: np.ndarray, components: np.ndarray | None = None
    ) -> Tightened:
        """See `tighten`."""
        return tighten(
            A,
            nodes,
            weights,
            self.quality_target,
            memory_budget_gib=self.memory,
            components=components,
            sweep_tolerance=self.sweep_tolerance,
        )


def tighten(
    A: sp.csr_matrix,
    nodes: np.ndarray,
    weights: np.ndarray,
    target: float = 0.02,
    start_drop: float = 1e-2,
    memory_budget_gib: float = 4.0,
    components: np.ndarray | None = None,
    sweep_tolerance: float = 1e-6,
) -> Tightened:
    """Lower the drop tolerance tenfold at a time until the quality on smooth functions is below the target.

    It stops early where the memory would not hold the next factors; refinement then makes up for what is missing, if it
    contracts.

    Args:
        A: (N, N).
        nodes: (N, d) position of each degree of freedom; weights: (N,) of the norm; components: (N,) or None.

    Raises:
        PcpinnError: when not even the first factorisation fits, or none can be made.
    """
    most = min(memory_budget_gib * 2**30 / _BYTES, _MOST_ENTRIES) / A.nnz
    if most < _LEAST_FILL:
        raise _too_little(A, memory_budget_gib, _LEAST_FILL)
    trail: list[Attempt] = []
    best: tuple[ILU, Factors, Quality] | None = None
    drop, limit, reason = start_drop, min(most, _FIRST_FILL), ""
    ordering = _smaller(A, drop, limit)
    while not reason:
        started = time.perf_counter()
        ilu = ILU(drop, limit, sweep_tolerance, ordering)
        try:
            state = ilu.build(A)
        except PcpinnError as error:
            if best is not None:
                reason = f"with drop_tolerance={drop:g} {error.problem}"
                break
            if drop <= _SMALLEST_DROP:
                raise
            drop, limit = _lower(drop), min(most, _FILL_GROWTH * limit)  # a larger P may avoid the zero pivot
            continue
        if state.fill > most and best is None:
            raise _too_little(A, memory_budget_gib, state.fill)
        quality = estimate_quality(A, partial(ilu.apply, state), nodes, weights, components)
        trail.append(Attempt(drop, state.fill, quality, time.perf_counter() - started))
        spoilt = best is not None and quality.smooth > best[2].smooth  # by leaving entries out to save memory
        if not spoilt and state.fill <= most:
            best = (ilu, state, quality)
        if quality.smooth <= target and state.fill <= most:
            reason = f"the quality {quality.smooth:.2g} is within quality_target={target:g}"
        elif limit == most and (spoilt or state.fill > 0.7 * most):
            gib = state.fill * A.nnz * _BYTES / 2**30
            reason = f"L and U hold {gib:.2g} of {memory_budget_gib:g} GiB; a smaller drop tolerance would not fit"
        elif drop <= _SMALLEST_DROP:
            reason = f"the drop tolerance is {drop:.0e} and the rest is rounding"
        drop, limit = _lower(drop), min(most, max(limit, round(_FILL_GROWTH * state.fill, 1)))
    assert best is not None
    return _refine(A, best, trail, reason, target, (nodes, weights, components))


def _smaller(A: sp.csr_matrix, drop: float, limit: float) -> Ordering:
    """The order of elimination with the smaller factors at the first, cheapest drop tolerance."""
    fills: dict[Ordering, float] = {}
    for ordering in get_args(Ordering):
        try:
            fills[ordering] = ILU(drop, limit, ordering=ordering).build(A).fill
        except PcpinnError:
            fills[ordering] = math.inf
    return min(fills, key=fills.__getitem__)


def _too_little(A: sp.csr_matrix, memory_gib: float, fill: float) -> PcpinnError:
    needed = fill * A.nnz * _BYTES / 2**30
    return PcpinnError(
        f"{memory_gib:g} GiB of memory are too little for P: the factors of a matrix with {A.nnz} entries need at least "
        f"{needed:.3g} GiB",
        f"set memory={4 * needed:.2g} or more, or use preconditioner=amg or a coarser mesh",
    )


def _lower(drop: float) -> float:
    return float(f"{drop / 10:.3g}")


def _refine(
    A: sp.csr_matrix,
    best: tuple[ILU, Factors, Quality],
    trail: list[Attempt],
    reason: str,
    target: float,
    geometry: tuple[np.ndarray, np.ndarray, np.ndarray | None],
) -> Tightened:
    """Add as many refinement steps as the target asks for, if they help."""
    ilu, state, quality = best
    plain = Tightened(ilu, state, quality, tuple(trail), reason)
    if quality.smooth <= target:
        return plain
    missed = f"; the quality stays at {quality.smooth:.2g}, above quality_target={target:g}"
    if not (quality.smooth < 0.7 and quality.largest < 1):
        return Tightened(ilu, state, quality, tuple(trail), reason + missed + ", and refinement does not contract")
    rate = max(quality.smooth, quality.largest)
    steps = min(_MOST_REFINEMENT, math.ceil(math.log(target) / math.log(rate)) - 1)
    started = time.perf_counter()
    refined = Refined(ilu, max(1, steps))
    refined_state = refined.around(A, state)
    better = estimate_quality(A, partial(refined.apply, refined_state), *geometry)
    trail.append(Attempt(ilu.drop_tolerance, state.fill, better, time.perf_counter() - started, refined.steps))
    if better.smooth >= quality.smooth:
        return Tightened(ilu, state, quality, tuple(trail), reason + missed + ", and refinement does not help")
    words = "refinement step brings" if refined.steps == 1 else "refinement steps bring"
    reached = "within" if better.smooth <= target else "still above"
    reason += f"; {refined.steps} {words} the quality to {better.smooth:.2g}, {reached} the target"
    return Tightened(refined, refined_state, better, tuple(trail), reason)
