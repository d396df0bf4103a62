"""The loss of Algorithm 1 over parameters: mean of ||P^-1 (A u_theta - b)||^2 / ||u||^2 over a fresh batch of them in every step.

P^-1 is a few Krylov steps with the P of the nearest anchor. They give e ~ u_theta - u_h at the present weights, the
preconditioned residual; near these weights it is u - (u_theta - e), so a step is one of least squares on nodal values of all
samples. For a nonlinear family A and b are those of Newton's method at the network's own values. No solution is ever given to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..network.protocol import Network
from ..precondition import misfit
from ..train import LeastSquares
from ..train.damping import Nielsen
from ..train.forms import choose_form
from ..train.loss import Loss
from ..train.model import Forms, Model
from ..train.optimiser import State
from .anchors import Anchors, Values
from .nodal import NodalNetwork
from .sampling import Sampling
from .system import System

_LINEAR_START = 6  # steps on the linear part before Newton's method begins
_FACTORS = (1.0, 0.5, 0.25, 0.125)  # lengths of Newton steps that are tried
_LEAST = 0.05  # of a field's usual size: where it is smaller, relative errors do not count in full
_GAIN = 0.25  # a step of length s must shrink the correction by a factor of 1 - s / 4
ROUND = 10  # steps whose weights are averaged: each fits its own samples best, their mean all of them
_REBUILT = (0, 4, 12, 28, 60, 124, 252)  # steps after the linear start at which P of a nonlinear family is built anew
_CHOSEN = (12, 60)  # those of them at which its anchors are chosen anew: until then linear parts alone were known


@dataclass(frozen=True)
class Corrections:
    """What is to be subtracted from values (S, N), and what comes of it.

    Attributes:
        target: (S, N) where the network is to go: values less their corrections, of a nonlinear family perhaps part of these.
        whole: (S, N) values less their whole corrections.
        errors: (S,) size of the corrections relative to the target: the estimated training error.
    """

    target: Tensor
    whole: Tensor
    errors: Tensor


def corrected(
    system: System,
    anchors: Anchors,
    v: Tensor,
    z: Tensor,
    at_zero: bool = False,
    damped: bool = True,
    enough: float = 0.0,
) -> Corrections:
    """Values v (S, N) corrected by Krylov steps; of a nonlinear family by one damped Newton step.

    Where answers are sums of a few that are known, they are what comes of it.

    Args:
        system, anchors: equations, P.
        v: values of the network.
        z: (S, K) scaled parameters.
        at_zero: take the linear part of a nonlinear family.
        damped: shorten steps of Newton's method that are too long; if not, the target is the whole step.
        enough: part of a correction that the steps may leave, for those who want to know its size alone.
    """
    mu = system.family.value(z)
    if anchors.answers is not None:
        target = whole = anchors.answers(z).to(v)
    elif system.linear and anchors.exact:
        target = whole = v - anchors.solved(system.residual(v, mu), z)
    elif system.linear or at_zero:
        A, at_rest = system.linearise_with(None, mu)
        target = whole = v - anchors.inverse(A, A.apply(v) + at_rest, z, enough=enough)
    else:
        A, residual = system.linearise_with(v, mu)
        correction = anchors.inverse(A, residual, z, enough=enough)
        target = whole = v - correction
        if damped:
            target = _damped(system, lambda r: anchors.inverse(A, r, z), v, correction, mu)
    return Corrections(target, whole, system.relative(v - whole, whole))


def _damped(system: System, solve: Callable[[Tensor], Tensor], v: Tensor, c: Tensor, mu: Tensor) -> Tensor:
    """v - s c with the longest s of `_FACTORS` for which the next correction is smaller (the natural test), sample by sample."""
    size, result = system.norm(c), v - _FACTORS[-1] * c
    done = torch.zeros(len(v), dtype=torch.bool, device=v.device)
    for factor in _FACTORS:
        trial = v - factor * c
        after = system.norm(solve(system.residual(trial, mu)))
        good = (after <= (1 - _GAIN * factor) * size) & ~done
        result[good], done = trial[good], done | good
        if bool(done.all()):
            break
    return result


class FamilyLoss(Loss):
    """The loss on one batch of parameters, redrawn before every step.

    Args:
        network: u_theta on (z, x).
        system: the equations.
        anchors: P.
        sampling: which parameters.
        choose: chooses anchors of a nonlinear family, linearised at given values; None keeps those that there are.

    Attributes:
        fresh: the mean error over parameters that the network had not seen, before each step.
        since: steps that were taken with smaller networks.
    """

    rule = Nielsen()
    patience = 0  # the noise of fresh samples is no stagnation
    round = ROUND  # steps between two looks at the error

    def __init__(
        self,
        network: Network,
        system: System,
        anchors: Anchors,
        sampling: Sampling,
        choose: Callable[[Values], None] | None = None,
    ) -> None:
        self.network, self.system, self.anchors, self.sampling = network, system, anchors, sampling
        self._choose = choose
        self.nodal = NodalNetwork(network, system.nodes)
        self.fresh: list[float] = []
        self.since = 0
        self._anchor_u: Tensor | None = None
        self._inner: LeastSquares | None = None
        self._sum, self._settled = torch.zeros_like(network.theta.detach()), 0

    @property
    def theta(self) -> nn.Parameter:
        """The weights (p,)."""
        return self.network.theta

    @property
    def size(self) -> int:
        """Number of residuals of a step."""
        return self.sampling.count * self.system.size

    def prepare(self) -> None:
        """Nothing is done before training."""

    # --- parameters -------------------------------------------------------------------------------------------------

    def adapt(self, iteration: int) -> int:
        """Draw parameters, correct the network's values there; asked before every step."""
        self._rebuild(iteration)
        self.settle(iteration)
        z = self.sampling.draw()
        found = corrected(self.system, self.anchors, self.nodal.values(z), z, self._at_zero(iteration))
        self.fresh.append(float(self.sampling.fresh(found.errors).mean()))
        self.sampling.learn(z, found.errors)
        self._inner = self._least_squares(z, found.target)
        self.layout += 1
        return 1

    def _least_squares(self, z: Tensor, target: Tensor) -> LeastSquares:
        system = self.system
        size = system.sizes(target)
        unit = torch.maximum(size, _LEAST * size.mean(0))  # each field of each sample counts by its own size
        unit = torch.where(unit > 0, unit, 1.0)[:, system.field_of]
        weights = (system.weights / unit**2).reshape(-1)
        dtype, device = self.theta.dtype, self.theta.device
        operator = misfit(target.reshape(-1), weights, dtype, device, "krylov")
        return LeastSquares(self.network, self.nodal.nodes(z), operator, self.nodal.placed(z))

    def settle(self, iteration: int) -> None:
        """Every `ROUND` steps, go to the mean of the weights since the last time, if the error at new parameters is less there.

        Asked before a step, and by those who want to judge the weights before that step; once per iteration.
        """
        if not iteration or iteration == self._settled:
            return
        self._settled = iteration
        self._sum += self.theta.detach()
        if iteration % ROUND:
            return
        z, here = self.sampling.draw(), self.theta.detach().clone()
        before = self._errors(z, iteration)
        with torch.no_grad():
            self.theta.copy_(self._sum / ROUND)
            if not float(self._errors(z, iteration).square().mean()) < float(before.square().mean()):
                self.theta.copy_(here)
        self._sum.zero_()

    def _errors(self, z: Tensor, iteration: int) -> Tensor:
        return corrected(self.system, self.anchors, self.nodal.values(z), z, self._at_zero(iteration)).errors

    # --- P of a nonlinear family ------------------------------------------------------------------------------------

    def _at_zero(self, iteration: int) -> bool:
        return not self.system.linear and iteration < _LINEAR_START

    def _rebuild(self, iteration: int) -> None:
        """P at the network's own values, now and then: as these settle, more rarely."""
        after = iteration - _LINEAR_START
        if self.system.linear or after not in _REBUILT:
            return
        if self._choose is not None and after in _CHOSEN:
            self._choose(self.nodal.values)
            self._anchor_u = self.nodal.values(self.anchors.z)
        else:
            self._anchor_u = self.nodal.values(self.anchors.z)
            self.anchors.build(self.anchors.z, self._anchor_u)

    # --- what optimisers ask ------------------------------------------------------------------------------------------

    @property
    def _now(self) -> LeastSquares:
        assert self._inner is not None, "no parameters have been drawn"
        return self._inner

    def loss(self) -> Tensor:
        """0.5 times the mean squared relative error of the step's samples."""
        return self._now.loss()

    def value(self) -> float:
        """The loss, no derivatives."""
        return self._now.value()

    def resolve(self, recipe: Forms) -> tuple[str, int]:
        """The form of Gauss-Newton's matrix and the number of rows in it, of all nodes of all samples."""
        return choose_form(recipe, self.network.parameter_count, self.size, self.theta.device)

    def model_here(self, recipe: Forms, state: State) -> Model:
        """At the present weights."""
        return self._now.model_here(recipe, state)

    def describe(self) -> dict[str, Any]:
        """Of the anchors, for the report."""
        return self.anchors.describe()

    def state(self) -> dict[str, Tensor]:
        """Random numbers, remembered errors, and where P was built."""
        own = {
            **self.sampling.state(),
            "fresh": torch.tensor(self.fresh, dtype=torch.float64),
            "sum": self._sum,
            "settled": torch.tensor(self._settled),
            "since": torch.tensor(self.since),
        }
        if self._anchor_u is None:
            return own
        quality = torch.tensor(self.anchors.quality, dtype=torch.float64)
        return {**own, "anchor_u": self._anchor_u, "anchor_z": self.anchors.z, "anchor_quality": quality}

    def continued_by(self, other: FamilyLoss) -> None:
        """Hand over to the loss of a larger network: what was drawn and seen stays."""
        other.fresh, other.since, other._settled = self.fresh, len(self.fresh), self._settled
        other._anchor_u, other._choose, other.sampling = self._anchor_u, self._choose, self.sampling

    def restore(self, state: dict[str, Tensor]) -> None:
        """Inverse of `state`."""
        self.sampling.restore(state)
        self.fresh = state["fresh"].tolist()
        self._sum, self._settled = state["sum"].to(self._sum).clone(), int(state["settled"])
        self.since = int(state["since"])
        if "anchor_u" in state:
            u = state["anchor_u"].to(self.system.device)
            if self._anchor_u is None or u.shape != self._anchor_u.shape or not torch.equal(u, self._anchor_u):
                self._anchor_u = u
                self.anchors.build(state["anchor_z"].cpu(), u)
                self.anchors.quality = state["anchor_quality"].tolist()
