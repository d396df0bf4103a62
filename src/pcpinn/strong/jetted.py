"""A network at points that stay where they are: its derivatives go forward with its values (see network/jets.py).

A step then takes one reverse pass through one product of matrices per layer, where reverse mode over reverse mode launches
several times as many small kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.func import jvp, vmap

from ..discretize.pointwise import Pointwise
from ..network.ansatz import Ansatz
from ..network.jets import jet_of, times
from ..network.protocol import Placed
from ..network.seconds import Pairs, Seconds, all_pairs
from ..network.sloped import place_of

_PROBES = (1.0, -1.0, 30.0)  # sizes of the states at which dependence is looked for
_FAR = (1e-3, 1e3)  # and at which weights must be the same, too
_SAME = 1e-12


class Jetted:
    """A network whose jets are known; points are remembered by the tensor that holds them, which must not change."""

    def __init__(self, network: Any) -> None:
        self.network = network
        self._placed: dict[int, tuple[Tensor, Placed]] = {}
        self._states: dict[int, tuple[Tensor, Callable[[], Tensor]]] = {}
        self._slopes: dict[int, tuple[Tensor, Callable[[], Tensor] | None]] = {}
        self._residuals: dict[int, tuple[Tensor, Callable[[], Tensor]]] = {}

    def __call__(self, x: Tensor) -> Tensor:
        """The network itself, with what does not depend on its weights computed once."""
        if self.network.ansatz is not None:
            values: Tensor = self.network(x)
            return values
        if id(x) not in self._placed:
            self._placed[id(x)] = (x, self.network.place(x))
        return self._placed[id(x)][1].evaluate(self.network.theta, fused=True)

    def state(self, x: Tensor) -> Tensor:
        """Value and gradient of each output at points x (n, d): (n, C, 1 + d), differentiable in the weights."""
        if id(x) not in self._states:
            jets = self._jets(x, Seconds())
            self._states[id(x)] = (x, lambda: jets().permute(1, 2, 0))
        return self._states[id(x)][1]()

    def residual(self, pointwise: Pointwise, x: Tensor) -> Tensor:
        """source - div flux at points x (n, d): (n, C), differentiable in the weights; `pointwise` is always the same."""
        if id(x) not in self._residuals:
            self._residuals[id(x)] = (x, self._residual_at(pointwise, x))
        return self._residuals[id(x)][1]()

    def residual_slopes(self, pointwise: Pointwise, x: Tensor) -> Tensor | None:
        """The gradient of `residual` at points x (n, d): (d, n, C); None where reverse mode is the way to them."""
        if id(x) not in self._slopes:
            self._slopes[id(x)] = (x, self._slopes_at(pointwise, x))
        slopes = self._slopes[id(x)][1]
        return None if slopes is None else slopes()

    def _residual_at(self, pointwise: Pointwise, x: Tensor) -> Callable[[], Tensor]:
        where = x.detach().double()
        seconds = needed_seconds(pointwise, where, self.network.outputs)
        jets, of_jet = self._jets(x, seconds), _of_jet(pointwise, where, seconds)
        return lambda: of_jet(where, jets().double()).to(x.dtype)

    def _slopes_at(self, pointwise: Pointwise, x: Tensor) -> Callable[[], Tensor] | None:
        where, d = x.detach().double(), x.shape[1]
        seconds = needed_seconds(pointwise, where, self.network.outputs)
        sloped_jets = getattr(self.network, "sloped_jets", None)
        if sloped_jets is None or self.network.ansatz is not None or seconds.rows != 1:
            return None
        jets, of_jet = sloped_jets(x, seconds), _of_jet(pointwise, where, seconds)
        if jets is None:
            return None
        last = 1 + d + len(all_pairs(d))
        rows = [[1 + k, *(place_of(d, i, k) for i in range(d)), last + k] for k in range(d)]
        which = torch.tensor(rows, device=x.device)  # of each slope of a jet, in a sloped one
        along = _units(where)

        def slopes() -> Tensor:
            rows = jets(self.network.theta).double()
            sum_of = [c * rows[place_of(d, i, j)] for _, i, j, c in seconds.terms]
            jet = torch.cat([rows[: 1 + d], torch.stack(sum_of).sum(0, keepdim=True)])

            def rate(direction: Tensor, change: Tensor) -> Tensor:
                return jvp(of_jet, (where, jet), (direction, change))[1]

            return vmap(rate)(along, rows[which]).to(x.dtype)

        return slopes

    def _jets(self, x: Tensor, seconds: Seconds) -> Callable[[], Tensor]:
        """The jets at points, the ansatz included: u = g + d N, with g and d that have no weights."""
        bare, ansatz, d = self.network.jets(x, seconds), self.network.ansatz, x.shape[1]
        if ansatz is None:
            return lambda: bare(self.network.theta)
        g, factor = _ansatz_jets(ansatz, x, seconds, self.network.outputs)
        return lambda: g + times(factor, bare(self.network.theta), d, seconds)


def _of_jet(pointwise: Pointwise, where: Tensor, seconds: Seconds) -> Callable[[Tensor, Tensor], Tensor]:
    """source - div flux as a function of points (n, d) and of a jet there, all in float64: (n, C)."""
    d = where.shape[1]
    along, table = _units(where), _table(d, seconds).to(where)

    def residual(x: Tensor, jet: Tensor) -> Tensor:
        state = jet[: 1 + d].permute(1, 2, 0)
        if not pointwise.has_flux:
            return pointwise.evaluate(x, state)[:, :, 0]
        changes = torch.tensordot(table, jet, dims=1).permute(0, 2, 3, 1)  # (d, n, C, 1 + d)

        def both(direction: Tensor, change: Tensor) -> tuple[Tensor, Tensor]:
            return jvp(pointwise.evaluate, (x, state), (direction, change))  # type: ignore[return-value]

        out, rates = vmap(both, out_dims=(None, 0))(along, changes)  # type: ignore[arg-type]
        divergence = rates[..., 1:].diagonal(dim1=0, dim2=3).sum(-1)
        return out[:, :, 0] - divergence

    return residual


def _units(x: Tensor) -> Tensor:
    """(d, n, d) the directions of the axes at points (n, d)."""
    n, d = x.shape
    return torch.eye(d).to(x)[:, None, :].expand(d, n, d)


def jetted(network: Any) -> Any:
    """The network with its jets; the network itself, where it has none."""
    jets = getattr(network, "jets", None)
    probe = None if jets is None else jets(network.centre[None], Seconds())
    return network if probe is None else Jetted(network)


def needed_seconds(pointwise: Pointwise, x: Tensor, components: int) -> Seconds:
    """The second derivatives that the divergence takes; one sum of them, where it takes nothing but multiples of that."""
    if not pointwise.has_flux:
        return Seconds()
    pairs = needed_pairs(pointwise, x, components)
    weights = common_weights(pointwise, x, components, pairs) if len(pairs) > 1 else None
    return Seconds(pairs, weights)


@torch.no_grad()
def common_weights(pointwise: Pointwise, x: Tensor, components: int, pairs: Pairs) -> tuple[float, ...] | None:
    """Weights w_k, the largest of them one, such that every equation takes sum_k w_k u_k of every component, times a factor.

    The factor may differ from point to point and depend on the state: so it is for (1 + u^2) grad u. None where there are no
    such weights, as far as states of several sizes show.
    """
    d = x.shape[1]
    if x.device.type == "meta":
        return None
    random = torch.Generator().manual_seed(1)
    common: Tensor | None = None
    by_slopes = torch.eye(components * (1 + d)).to(x).reshape(components, 1 + d, 1, components, 1 + d)[:, 1:]
    for size in (*_PROBES, *_FAR):
        drawn = torch.randn(len(x), components, 1 + d, generator=random, dtype=torch.float64)
        rates = _rates(pointwise, x, size * drawn.to(x), by_slopes.flatten(0, 1)).unflatten(0, (components, d))
        for slopes in rates[..., 1:]:  # by those of each component
            by = [slopes[i][..., j] if i == j else slopes[i][..., j] + slopes[j][..., i] for i, j in pairs]
            taken = torch.stack(by, dim=-1).flatten(0, 1)  # (n C, s)
            if not bool(taken.isfinite().all()):
                return None
            taken = taken[taken.abs().amax(1) > 0]
            if not len(taken):
                continue
            if common is None:
                common = taken[0] / taken[0, taken[0].abs().argmax()]
            factor = taken[:, common.abs().argmax()][:, None]
            if bool(((taken - factor * common).abs() > _SAME * taken.abs().amax(1, keepdim=True)).any()):
                return None
    return None if common is None else tuple(common.tolist())


@torch.no_grad()
def needed_pairs(pointwise: Pointwise, x: Tensor, components: int) -> Pairs:
    """Pairs of axes whose second derivatives the divergence takes: flux j depends on slope i, or flux i on slope j.

    Seen by what a slope that is no number makes of the fluxes: a derivative that is multiplied by zero counts as taken, too.
    """
    d = x.shape[1]
    if x.device.type == "meta":  # shapes without numbers
        return all_pairs(d)
    random = torch.Generator().manual_seed(0)
    found = set()
    no_number = torch.zeros(d, 1, 1, 1 + d).to(x)
    no_number[range(d), :, :, range(1, 1 + d)] = torch.nan
    for size in _PROBES:
        drawn = torch.randn(len(x), components, 1 + d, generator=random, dtype=torch.float64)
        rates = _rates(pointwise, x, size * drawn.to(x), no_number)
        taken = rates[..., 1:].isnan().flatten(1, 2).any(1).tolist()
        found |= {(min(i, j), max(i, j)) for i in range(d) for j in range(d) if taken[i][j]}
    return tuple(pair for pair in all_pairs(d) if pair in found)


def _rates(pointwise: Pointwise, x: Tensor, state: Tensor, changes: Tensor) -> Tensor:
    """(k, n, C, 1 + d) how source and flux at points x (n, d) change with the state, along changes that broadcast to as many."""

    def along(change: Tensor) -> Tensor:
        return jvp(lambda s: pointwise.evaluate(x, s), (state,), (change.expand_as(state),))[1]

    return vmap(along)(changes)


def _table(d: int, seconds: Seconds) -> Tensor:
    """(d, 1 + d, 1 + d + s): which part of a jet is the change along axis j of each part of the state.

    A sum stands in the place of the pair whose weight in it is one: the divergence sees the same of it as of its parts.
    """
    table = torch.zeros(d, 1 + d, 1 + d + seconds.rows)
    for j in range(d):
        table[j, 0, 1 + j] = 1.0
    own = seconds.terms if not seconds.summed else [next(term for term in seconds.terms if term[3] == 1.0)]
    for k, i, j, _ in own:
        table[j, 1 + i, 1 + d + k] = table[i, 1 + j, 1 + d + k] = 1.0
    return table


def _ansatz_jets(ansatz: Ansatz, x: Tensor, seconds: Seconds, outputs: int) -> tuple[Tensor, Tensor]:
    def at(value: float) -> Callable[[Tensor], Tensor]:
        return lambda p: ansatz(p, torch.full((len(p), outputs), value, dtype=p.dtype, device=p.device))

    g = jet_of(at(0.0), x, seconds)
    return g, jet_of(at(1.0), x, seconds) - g
