"""The hidden units that a trunk begins with: of some kinds those with which it fits the functions of a span best, untrained.

Answers tell where units are of use. Units of tanh sit where answers are steep, along their slopes; those of a sine have the
frequencies that answers have, found one after the other by what they take off (matching pursuit). Training moves them from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..network.initialisation import initialise_layer
from .discretise import AnySystem
from .projected import STEEPNESS, fitted
from .span import Span, Units
from .superposed import Part, parts_of

_NODES, _FEWEST = 6, 3000  # nodes that a trunk is fitted at: for each of its units, and at least
_LOOK = 4  # the same for a look at units, which are compared alone
_ANSWERS = 16  # whose slopes are looked at
_POINTS = 4_000_000  # numbers in a table of these
_BELOW, _ABOVE = 0.5, 1.5  # of a slope: how steep a unit is
_HIGHEST = 2.5  # frequencies that are tried, in root mean squares of those of answers
_TRIED, _ROUNDS = 6, 12  # frequencies for each unit; rounds in which they are chosen
_CLOSER = 6  # candidates of a round, for each that is taken
_TINY = 1e-12
_NEW = 0.05  # of a candidate: what those before must leave of it


@dataclass(frozen=True)
class _Slopes:
    """Of answers in units of their usual size, at places in the box scaled to [-1, 1].

    Attributes:
        x: (n, d) places.
        slopes: (n, m, d) of m components of answers.
        weights: (n,) of an integral.
    """

    x: Tensor
    slopes: Tensor
    weights: Tensor

    @property
    def usual(self) -> Tensor:
        """(d,) root mean square along each axis."""
        mean = (self.slopes.square().mean(1) * self.weights[:, None]).sum(0) / self.weights.sum()
        return mean.sqrt()

    def drawn(self, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Slopes (count, d) and where they are (count, d), the steeper the more of them."""
        size = self.slopes.norm(dim=2) * self.weights[:, None]
        total = size.flatten().cumsum(0)
        at = torch.rand(count, generator=generator, dtype=torch.float64).to(total) * total[-1]
        found = torch.searchsorted(total, at).clamp(max=len(total) - 1)
        place = found // size.shape[1]
        return self.slopes.flatten(0, 1)[found], self.x[place]


def first_units(
    system: AnySystem,
    span: Span,
    encode: Callable[[Tensor], Tensor],
    width: int,
    activations: tuple[str, ...],
    seed: int,
) -> Units:
    """The best of all that are tried.

    Args:
        system: the equations.
        span: functions, and answers.
        encode: places (n, d) -> what units see there, scaled coordinates first and then features; if it is anything else, no
            unit follows answers.
        width: number of units.
        activations: that they may have.
        seed: of what is drawn.
    """
    lower, upper = (torch.as_tensor(b, dtype=torch.float64, device=system.device) for b in system.form.mesh.bounds)
    centre, half = (lower + upper) / 2, (upper - lower) / 2
    places = torch.as_tensor(system.nodes.points, dtype=torch.float64, device=system.device)
    x, parts = encode(places), parts_of(system, span.answers, _LOOK * width, seed)
    scaled = (places - centre) / half
    follow = x.shape[1] >= scaled.shape[1] and torch.allclose(x[:, : scaled.shape[1]], scaled)
    best: Units | None = None
    slopes = _slopes(system, span, centre, half, seed) if follow else None
    for units in _tried(slopes, x, parts, width, activations, seed):
        phi = units.at(x)
        fits = [fitted(phi, p.points, p.weights, p.target[1:].permute(1, 2, 0)) for p in parts]
        left = math.sqrt(2 * sum(fit.loss for fit in fits))
        if best is None or left < best.left:
            best = Units(units.activation, units.weight, units.bias, left)
    assert best is not None
    return best


def nodes_for(width: int) -> int:
    """How many a trunk is fitted at, if there are so many."""
    return max(_NODES * width, _FEWEST)


def _tried(
    slopes: _Slopes | None, x: Tensor, parts: list[Part], width: int, activations: tuple[str, ...], seed: int
) -> Iterator[Units]:
    for name in activations:
        generator = torch.Generator().manual_seed(seed)
        if name == "sin" and slopes is not None:
            yield _by_pursuit(slopes, x, parts, width, generator)
            continue
        weight, bias = (x.new_empty(width, *more, device="cpu") for more in ((x.shape[1],), ()))
        initialise_layer(weight, bias, "spread", generator)
        kinds = [(weight.to(x), bias.to(x))]
        if slopes is not None:
            own, at = slopes.drawn(width, generator)
            steep = _BELOW + (_ABOVE - _BELOW) * torch.rand(width, 1, generator=generator, dtype=torch.float64)
            along = own * steep.to(own)
            kinds.append((_among_features(along, x), -(along * at).sum(1)))
        for w, c in kinds:
            yield from (Units(name, factor * w, factor * c) for factor in STEEPNESS)


def _among_features(weight: Tensor, x: Tensor) -> Tensor:
    """(w, inputs) weights of scaled coordinates (w, d), for units that see features x (n, inputs), too."""
    return nn.functional.pad(weight, (0, x.shape[1] - weight.shape[1]))


def _slopes(system: AnySystem, span: Span, centre: Tensor, half: Tensor, seed: int) -> _Slopes:
    count = max(1, min(_ANSWERS, len(span.u), _POINTS // (system.size * 20)))
    some = torch.randperm(len(span.u), generator=torch.Generator().manual_seed(seed))[:count]
    u = span.u[some.to(span.u.device)]
    size = system.sizes(u) / system.sizes(torch.ones_like(u[:1]))  # (S, F)
    components = torch.tensor([f.components for f in system.form.problem.unknowns], device=u.device)
    unit = torch.where(size > 0, size, 1.0).repeat_interleave(components, 1)
    x, slopes, weights = system.slopes(u)
    scaled = slopes * half / unit[:, None, :, None]
    return _Slopes((x - centre) / half, scaled.movedim(0, 1).flatten(1, 2), weights)


def _by_pursuit(slopes: _Slopes, x: Tensor, parts: list[Part], width: int, generator: torch.Generator) -> Units:
    """Sines of frequencies that take most off the functions, one after the other; both phases of each are tried."""
    highest = _HIGHEST * slopes.usual
    drawn = 2 * torch.rand(_TRIED * width, len(highest), generator=generator, dtype=torch.float64) - 1
    frequencies = _among_features(drawn.to(x) * highest, x)
    waves = Units("sin", frequencies.repeat(2, 1), x.new_tensor([0.0, math.pi / 2]).repeat_interleave(len(drawn)))
    rows, chosen = [_Rows(part, waves.at(x[part.points])) for part in parts], torch.empty(0, dtype=torch.long)
    for k in range(_ROUNDS):
        more = (k + 1) * width // _ROUNDS - len(chosen)
        worth = sum((r.worth() for r in rows), x.new_zeros(()))
        close = worth.topk(_CLOSER * more).indices
        for r in rows:
            r.compare(close)
        for _ in range(more):
            at = int(sum((r.gain() for r in rows), x.new_zeros(())).argmax())
            chosen = torch.cat([chosen, close[at : at + 1].cpu()])
            for r in rows:
                r.take(at)
    chosen = chosen.to(x.device)
    return Units("sin", waves.weight[chosen], waves.bias[chosen])


class _Rows:
    """The targets of a part in a matching pursuit by waves (n, k) there, and what is left of them."""

    def __init__(self, part: Part, waves: Tensor) -> None:
        root = (part.weights / part.weights.sum()).sqrt()[:, None]
        self._waves = waves * root
        self._wanted = part.target[1:].permute(2, 1, 0).flatten(1) * root  # (n, C T)
        self._known = root / root.norm()  # orthonormal columns, the constant first

    def worth(self) -> Tensor:
        """(k,) what each wave has of what is left, which is computed anew: many steps leave rounding in it."""
        self._left = self._wanted - self._known @ (self._known.T @ self._wanted)
        return (self._waves.T @ self._left).square().sum(1)

    def compare(self, close: Tensor) -> None:
        """Take some of these waves from now on."""
        own = self._waves[:, close]
        self._close = own - self._known @ (self._known.T @ own)
        self._least = _NEW * own.norm(dim=0)
        self._size2, self._common = self._close.square().sum(0), self._close.T @ self._left

    def gain(self) -> Tensor:
        """(k,) what each of them would take off."""
        gain = self._common.square().sum(1) / self._size2.clamp(min=_TINY)
        return torch.where(self._size2 > self._least**2, gain, 0.0)

    def take(self, at: int) -> None:
        """Have one of them."""
        q = self._close[:, at] / self._size2[at].sqrt().clamp(min=_TINY)
        self._known = torch.cat([self._known, q[:, None]], 1)
        has, takes = q @ self._close, q @ self._left
        self._close = self._close - q[:, None] * has
        self._size2, self._common = self._size2 - has**2, self._common - has[:, None] * takes
