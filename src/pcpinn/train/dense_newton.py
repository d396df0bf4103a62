"""Damped Gauss-Newton for losses of several kinds of residuals, which hand over their normal equations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from ..errors import PcpinnError
from .damping import Nielsen
from .loss import Loss
from .optimiser import Optimiser, State

_DIFFERENCE = 0.1  # step of the second difference along the path
_TRUSTED_BEND = 1.0  # largest ratio of acceleration to velocity that is believed
_FLOOR = 1e-8  # of a block's unit, relative to that of all


Rows = list[list[tuple[Tensor, slice]]]


@dataclass
class Model:
    """A least-squares loss near some weights: r(theta + d) ~ r + J d.

    Attributes:
        loss: 0.5 ||r||^2, or what stands for it (robust losses).
        H: (p, p) J^T J.
        gradient: (p,) J^T r.
        curvature: (p,) diagonal of H, or of a part of it: the unit of damping. Rows that hold values to narrow bounds do not
            belong in it: they would damp all that the others ask for.
        residual: r, in parts.
        push: d (p,) -> J d, in parts.
        pull: parts -> J^T of them.
    """

    loss: float
    H: Tensor
    gradient: Tensor
    curvature: Tensor
    residual: list[Tensor]
    push: Callable[[Tensor], list[Tensor]]
    pull: Callable[[list[Tensor]], Tensor]


@runtime_checkable
class LeastSquaresModel(Protocol):
    """A loss that can be modelled so."""

    @property
    def blocks(self) -> list[slice]:
        """Parts of theta whose weights have the same unit."""

    def model_here(self) -> Model:
        """At the present weights."""

    def residuals(self) -> list[Tensor]:
        """r at the present weights, weighted as in the last model."""

    def value(self) -> float:
        """The loss at the present weights, no derivatives."""


@dataclass(frozen=True)
class DenseGaussNewton(Optimiser):
    """(H + damping diag) delta = gradient, kept if the loss falls; damping by Nielsen's rule, in units of H's mean diagonal."""

    damping: float = 0.1
    accelerate: bool = True
    name = "gauss-newton"

    @property
    def _rule(self) -> Nielsen:
        return Nielsen(self.damping, quickest=1 / 8, smallest=1e-12, largest=1e12)

    def start(self, problem: Loss, seed: int) -> State:
        """Initial damping."""
        return self._rule.start()

    def step(self, problem: Loss, state: State) -> float:
        """One accepted step, or none if no damping helps; returns the loss after it."""
        if not isinstance(problem, LeastSquaresModel):
            raise PcpinnError("this loss is not one of least squares", "use optimiser=adam")
        model = problem.model_here()
        H, gradient = model.H, model.gradient
        start = problem.theta.detach().clone()
        unit = torch.empty_like(gradient)
        for part in problem.blocks:  # each in its own unit
            own = model.curvature[part].mean()
            unit[part] = (own if own > 0 else H.diagonal()[part].mean()) + _FLOOR * model.curvature.mean()

        def attempt(relative: float) -> tuple[Tensor, float] | None:
            damping = relative * unit
            factor = _factor(H, damping)
            delta = None if factor is None else _solved(factor, gradient)
            if factor is None or delta is None:
                return None
            move = -delta + self._bend(problem, model, factor, start, -delta)
            return move, 0.5 * float(delta @ (gradient + damping * delta))

        return self._rule.descend(problem.theta, model.loss, state, attempt, problem.value)

    def _bend(
        self, problem: LeastSquaresModel, model: Model, factor: Tensor, start: Tensor, v: Tensor
    ) -> Tensor | float:
        """Second-order correction of the path along v (geodesic acceleration, Transtrum and Sethna 2012).

        The valley of an inverse problem is narrow and bent: u and the coefficients have to change together.
        """
        if not self.accelerate:
            return 0.0
        theta = problem.theta  # type: ignore[attr-defined]
        with torch.no_grad():
            theta.copy_(start + _DIFFERENCE * v)
            ahead = problem.residuals()
            theta.copy_(start)
        pushed = model.push(v)
        second = [
            2 / _DIFFERENCE * ((a - r) / _DIFFERENCE - d) for a, r, d in zip(ahead, model.residual, pushed, strict=True)
        ]
        a = _solved(factor, model.pull(second))
        if a is None or not float(a.norm()) < _TRUSTED_BEND * float(v.norm()):
            return 0.0
        return -0.5 * a


def _factor(H: Tensor, damping: Tensor) -> Tensor | None:
    damped = H.clone()
    damped.diagonal().add_(damping)
    factor, info = torch.linalg.cholesky_ex(damped)
    return None if int(info) else factor


def _solved(factor: Tensor, right: Tensor) -> Tensor | None:
    x = torch.cholesky_solve(right[:, None], factor)[:, 0]
    return x if bool(torch.isfinite(x).all()) else None


def gram_of(rows: Rows, p: int, device: torch.device) -> Tensor:
    """J^T J (p, p), where J is given by rows of blocks of columns."""
    H = torch.zeros(p, p, dtype=torch.float64, device=device)
    for blocks in rows:
        for a, (first, at) in enumerate(blocks):
            for second, other in blocks[a:]:
                block = first.T @ second
                H[at, other] += block
                if at != other:
                    H[other, at] += block.T
    return H


def diagonal_of(rows: Rows, p: int, device: torch.device) -> Tensor:
    """The diagonal (p,) of J^T J."""
    result = torch.zeros(p, dtype=torch.float64, device=device)
    for blocks in rows:
        for J, at in blocks:
            result[at] += (J**2).sum(0)
    return result


def pulled(rows: Rows, residual: list[Tensor], p: int) -> Tensor:
    """J^T r (p,) of such rows."""
    g = torch.zeros(p, dtype=torch.float64, device=residual[0].device)
    for blocks, r in zip(rows, residual, strict=True):
        for J, at in blocks:
            g[at] += J.T @ r
    return g
