"""Answers at the nodes by corrections alone: rounds of Krylov steps with the shared P, or of Newton's method with these."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from .anchors import Anchors, Values, spread
from .budget import SNAPSHOTS, Budget
from .direct import direct_one_by_one, direct_solutions
from .discretise import AnySystem
from .loss import corrected
from .system import System

_ROUNDS = 20
_ROUNDING = 1e-10
_BATCH_ENTRIES = 400_000  # degrees of freedom of the systems that are assembled together
_ON_CPU = 50_000  # the same without a GPU: matrices that stay in its caches are twice as fast
_ONE_MATRIX = 4_000_000  # the same where all have one matrix: numbers in a right side for each
_SEED = 700_001  # added to that of a run: its samples are others
THRICE = 3  # times as many answers are made where functions leave too much of those that there are
_LEAST = 16  # answers with which this begins
FEWEST = 3  # parameters whose snapshots are dense at the ends of their ranges, and few
_SNAPSHOT = 1e-3  # relative size of the last correction of a snapshot: what is left after it is far less

Answers = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Settled:
    """Values (S, N) after rounds of corrections, and the relative sizes (S,) of the first and of the last of these."""

    u: Tensor
    first: Tensor
    last: Tensor


def settled(
    system: System,
    anchors: Anchors,
    z: Tensor,
    start: Tensor | None = None,
    tolerance: float = _ROUNDING,
    rounds: int = _ROUNDS,
) -> Settled:
    """Values at the nodes for scaled parameters (S, K).

    Args:
        system, anchors: equations, P.
        z: parameters.
        start: values to begin with; by default zero, of a nonlinear family the answer of its linear part.
        tolerance: it ends when all corrections are at most this, relative to the values.
        rounds: the most.
    """
    some = _together(system)
    if len(z) > some:
        starts = [None] * len(z) if start is None else list(start.split(some))
        parts = [settled(system, anchors, *p, tolerance, rounds) for p in zip(z.split(some), starts, strict=False)]
        return Settled(*(torch.cat([getattr(p, k) for p in parts]) for k in ("u", "first", "last")))
    again = _again(system, anchors, z)
    u, first, last = start, None, None
    if u is None:
        u = torch.zeros(len(z), system.size, dtype=torch.float64, device=system.device)
        u = u if system.linear else corrected(system, anchors, u, z, at_zero=True).whole
    for _ in range(rounds):
        u, last = again(u)
        first = last if first is None else first
        if float(torch.nan_to_num(last, nan=torch.inf).max()) <= tolerance:
            break
    assert first is not None
    assert last is not None
    return Settled(u, first, last)


def _together(system: System) -> int:
    """Samples that are corrected together."""
    most = _ON_CPU if system.device.type == "cpu" else _BATCH_ENTRIES
    return max(1, (_ONE_MATRIX if system.one_matrix else most) // system.size)


def _again(system: System, anchors: Anchors, z: Tensor) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
    """A round: corrected values, and sizes of corrections. Matrices of a linear family are the same in all rounds."""
    if not system.linear:

        def newton(u: Tensor) -> tuple[Tensor, Tensor]:
            found = corrected(system, anchors, u, z)
            return found.target, found.errors

        return newton
    mu = system.family.value(z)
    if anchors.exact and not system.one_matrix:

        def exactly(u: Tensor) -> tuple[Tensor, Tensor]:
            better = u - anchors.solved(system.residual(u, mu), z)
            return better, system.relative(u - better, better)

        return exactly
    A, at_rest = system.linearise_with(None, mu)

    def linear(u: Tensor) -> tuple[Tensor, Tensor]:
        r = A.apply(u) + at_rest
        better = u - (anchors.solved(r, z) if anchors.exact else anchors.inverse(A, r, z))
        return better, system.relative(u - better, better)

    return linear


def snapshots(
    system: AnySystem,
    anchors: Anchors,
    count: int,
    seed: int,
    budget: Budget | None = None,
    known: Answers | None = None,
) -> Answers:
    """Scaled parameters (S, K) and answers (S, N), where corrections settle; of few parameters the others by direct solves.

    Args:
        system, anchors: equations, P.
        count: how many parameters are tried, those before included.
        seed: of the run.
        budget: has an end to the time for them, and is told how many were tried; some always are.
        known: those from before, that this goes on from.
    """
    family, budget = system.family, budget or Budget()
    tried = budget.done.get(SNAPSHOTS, 0)
    few = family.count <= FEWEST
    drawn = dense_at_ends(count, family.count, seed) if few else family.scaled(family.sample(count, seed=_SEED + seed))
    z = [] if known is None else [known[0]]
    u = [] if known is None else [known[1]]
    found = _by_newton if few and not system.linear else _by_corrections
    for some, answers in found(system, anchors, drawn[tried : budget.most(SNAPSHOTS, count)], known):
        tried += len(some)
        good = torch.isfinite(answers).all(1)
        z.append(some[good.cpu()])
        u.append(answers[good])
        if budget.seconds(SNAPSHOTS) <= 0:
            break
    budget.done[SNAPSHOTS] = tried
    return torch.cat(z), torch.cat(u)


def choose_at(answers: Answers, choose: Callable[[Values], None]) -> None:
    """Choose anchors, linearised at the nearest of answers u (S, N) at parameters (S, K)."""
    z, u = answers
    if len(z):
        choose(lambda near: u[torch.cdist(near.cpu(), z).argmin(1).to(u.device)])


def _by_corrections(
    system: AnySystem, anchors: Anchors, z: Tensor, known: Answers | None
) -> Iterator[tuple[Tensor, Tensor]]:
    """Parameters and answers, some at a time; what does not settle is not finite, or solved for where parameters are few."""
    for some in z.split(_together(system)):
        found = settled(system, anchors, some, tolerance=_SNAPSHOT)
        u, bad = found.u.clone(), ~(found.last <= _SNAPSHOT)
        if bool(bad.any()):
            few = system.family.count <= FEWEST
            mu = system.family.value(some[bad.cpu()])
            u[bad] = torch.from_numpy(direct_solutions(system, mu)).to(u) if few else torch.nan
        yield some, u


def _by_newton(
    system: AnySystem, anchors: Anchors, z: Tensor, known: Answers | None
) -> Iterator[tuple[Tensor, Tensor]]:
    """The same for few parameters of a nonlinear family: one after the other from the nearest, each with matrices of its own.

    No P at the linear part serves all of such a range, and few answers are needed.
    """
    before = None if known is None else (known[0], known[1].cpu().numpy())
    for k, u in direct_one_by_one(system, z, before):
        yield z[k : k + 1], torch.from_numpy(u)[None].to(system.device)


def dense_at_ends(count: int, K: int, seed: int) -> Tensor:
    """(count, K) scaled parameters with the density of Chebyshev's points; the first of them are spread, too.

    Three times as many begin with the same ones: of one parameter, middles of intervals are those of the middle thirds.
    """
    if K == 1:
        first = count
        while first % THRICE == 0 and first > _LEAST:
            first //= THRICE
        even = torch.quasirandom.SobolEngine(1).draw(first, dtype=torch.float64) + 0.5 / first
        while len(even) < count:
            third = torch.full_like(even, 1 / (THRICE * len(even)))
            even = torch.cat(
                [even, (even - third).roll(1), (even + third).roll(2)]
            )  # thirds of a middle at other places in the order
    else:
        even = spread(count, K, seed)
    return -torch.cos(torch.pi * even.clamp(0, 1))
