"""Damped Gauss-Newton for losses of several kinds of residuals, which hand over their normal equations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from ..errors import PcpinnError
from .loss import Loss
from .optimiser import Optimiser, State

_LARGEST_DAMPING = 1e12
_SMALLEST_DAMPING = 1e-12
_FLOOR = 1e-8  # of a block's unit, relative to that of all


@runtime_checkable
class NormalEquations(Protocol):
    """A loss that knows J^T J and J^T r of all its residuals r."""

    @property
    def blocks(self) -> list[slice]:
        """Parts of theta whose weights have the same unit."""

    def normal_equations(self) -> tuple[float, Tensor, Tensor]:
        """Loss 0.5 ||r||^2, matrix (p, p) and gradient (p,)."""

    def value(self) -> float:
        """The loss at the present weights, no derivatives."""


@dataclass(frozen=True)
class DenseGaussNewton(Optimiser):
    """(H + damping diag) delta = gradient, kept if the loss falls; damping by Nielsen's rule, in units of H's mean diagonal."""

    damping: float = 1e-3
    name = "gauss-newton"

    def start(self, problem: Loss, seed: int) -> State:
        """Initial damping."""
        return {
            "damping": torch.tensor(self.damping, dtype=torch.float64),
            "growth": torch.tensor(2.0, dtype=torch.float64),
        }

    def step(self, problem: Loss, state: State) -> float:
        """One accepted step, or none if no damping helps; returns the loss after it."""
        if not isinstance(problem, NormalEquations):
            raise PcpinnError("this loss has no normal equations", "use optimiser=adam")
        theta = problem.theta
        loss, H, gradient = problem.normal_equations()
        start = theta.detach().clone()
        unit = torch.empty_like(gradient)
        for part in problem.blocks:  # each in its own unit
            unit[part] = H.diagonal()[part].mean() + _FLOOR * H.diagonal().mean()
        while float(state["damping"]) < _LARGEST_DAMPING:
            damping = float(state["damping"]) * unit
            delta = _solve(H, gradient, damping)
            trial = float("inf")
            if delta is not None:
                with torch.no_grad():
                    theta.copy_(start - delta)
                trial = problem.value()
            if delta is not None and trial < loss:
                predicted = 0.5 * float(delta @ (gradient + damping * delta))
                ratio = (loss - trial) / max(predicted, 1e-300)
                state["damping"] *= max(1 / 8, 1 - (2 * ratio - 1) ** 3)
                state["damping"].clamp_(min=_SMALLEST_DAMPING)
                state["growth"].fill_(2.0)
                return trial
            with torch.no_grad():
                theta.copy_(start)
            state["damping"] *= state["growth"]
            state["growth"] *= 2
        state["damping"].fill_(self.damping)
        state["growth"].fill_(2.0)
        return loss


def _solve(H: Tensor, gradient: Tensor, damping: Tensor) -> Tensor | None:
    damped = H.clone()
    damped.diagonal().add_(damping)
    factor, info = torch.linalg.cholesky_ex(damped)
    if int(info):
        return None
    x = torch.cholesky_solve(gradient[:, None], factor)[:, 0]
    return x if bool(torch.isfinite(x).all()) else None
