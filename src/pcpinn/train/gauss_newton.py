"""Damped Gauss-Newton (Levenberg-Marquardt) for networks of a few thousand weights."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import PcpinnError
from .least_squares import LeastSquares
from .loss import Loss
from .optimiser import State

_LARGEST_DAMPING = 1e12
_MAX_PARAMETERS = 20_000


@dataclass(frozen=True)
class GaussNewton:
    """Each step solves (H + damping I) delta = gradient and keeps it if the loss falls.

    The gradient is always exact, through P and its transpose on all nodes. The matrix H is
      * "gram": the network's own Gram matrix J^T W J on a sample of nodes: no P in it, because P^-1 A ~ I;
      * "exact": J^T (P^-1 A)^T W (P^-1 A) J, for a P that is far from A.

    Attributes:
        form: "gram" or "exact".
        sample: number of nodes in the Gram matrix, drawn anew in each step; 0 takes all.
        damping: initial damping, relative to the mean diagonal of H.
    """

    form: str = "gram"
    sample: int = 0
    damping: float = 1e-2
    name = "gauss-newton"

    def __post_init__(self) -> None:
        if self.form not in ("gram", "exact"):
            raise PcpinnError(f"form={self.form!r} is not a choice", "use gram or exact")

    def start(self, problem: Loss, seed: int) -> State:
        """Initial damping and the random state of the sampling."""
        problem = _least_squares(problem)
        if problem.network.parameter_count > _MAX_PARAMETERS:
            raise PcpinnError(
                f"Gauss-Newton with {problem.network.parameter_count} weights would need a matrix of that size",
                f"use optimiser=adam, or a network of at most {_MAX_PARAMETERS} weights",
            )
        return {
            "damping": torch.tensor(self.damping, dtype=torch.float64),
            "growth": torch.tensor(2.0, dtype=torch.float64),
            "random": torch.Generator().manual_seed(seed).get_state(),
        }

    def step(self, problem: Loss, state: State) -> float:
        """One accepted step, or none if no damping helps; returns the loss after it."""
        problem = _least_squares(problem)
        theta = problem.theta
        loss_tensor = problem.loss()
        (gradient,) = torch.autograd.grad(loss_tensor, theta)
        loss = float(loss_tensor.detach())
        H = self._matrix(problem, state)
        unit = float(H.diagonal().mean())
        start = theta.detach().clone()
        while float(state["damping"]) < _LARGEST_DAMPING:
            damping = float(state["damping"]) * unit
            delta = _solve(H, damping, gradient)
            trial = float("inf")
            if delta is not None:
                with torch.no_grad():
                    theta.copy_(start - delta)
                    trial = float(problem.loss())
            if delta is not None and trial < loss:
                predicted = 0.5 * float(delta @ (gradient + damping * delta))
                ratio = (loss - trial) / max(predicted, 1e-300)
                # Nielsen's rule: the better the model foretold the gain, the less damping next time.
                state["damping"] *= max(1 / 5, 1 - (2 * ratio - 1) ** 3)
                state["damping"].clamp_(min=1e-14)
                state["growth"].fill_(2.0)
                return trial
            state["damping"] *= state["growth"]
            state["growth"] *= 2
        with torch.no_grad():
            theta.copy_(start)
        state["damping"].fill_(self.damping)
        state["growth"].fill_(2.0)
        return loss

    def _matrix(self, problem: LeastSquares, state: State) -> Tensor:
        if self.form == "exact":
            B = problem.operator.apply(problem.jacobian()) * problem.scale
            return B.T @ B
        rows, n = None, problem.size
        if 0 < self.sample < n:
            generator = torch.Generator()
            generator.set_state(state["random"])
            rows = torch.randperm(n, generator=generator)[: self.sample].to(problem.points.device)
            state["random"] = generator.get_state()
        J = problem.jacobian(rows)
        weights = problem.weights if rows is None else problem.weights[rows] * (n / self.sample)
        J *= (weights.sqrt() * problem.scale)[:, None]
        return J.T @ J


def _least_squares(problem: Loss) -> LeastSquares:
    if not isinstance(problem, LeastSquares):
        raise PcpinnError("Gauss-Newton needs a loss on nodal values", "use optimiser=adam for this method")
    return problem


def _solve(H: Tensor, damping: float, gradient: Tensor) -> Tensor | None:
    """(H + damping I)^-1 gradient, or None where rounding makes the matrix indefinite."""
    damped = H.clone()
    damped.diagonal().add_(damping)
    factor, info = torch.linalg.cholesky_ex(damped)
    if int(info) != 0:
        return None
    delta = torch.cholesky_solve(gradient[:, None], factor)[:, 0]
    return delta if bool(torch.isfinite(delta).all()) else None
