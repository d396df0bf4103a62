"""Algorithms 2 and 3 where nothing is linearised: a window trained by descent on ||P^-1 F(u)||^2, P that of the linear part."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ...discretize.window import Window
from ...precondition import Preconditioned
from ...precondition.nonlinear import NonlinearResidual
from ...progress import Progress
from ...train import Stopping, train
from ...train.causal import CausalLoss
from ..newton import NotConverged
from .checkpoint import InsideWindow
from .deadline import Deadline, OutOfTime
from .kept import KeptP
from .report import WindowReport
from .training import WindowTrainer


@dataclass(frozen=True)
class DescentSolver:
    """Trains window after window with one network, whose weights move on, and one P.

    Attributes:
        trainer: of the network.
        kept: P, which stays what it is.
        weights: (L n,) of the norm.
        tolerance: relative residual at which a window is done.
        cold_iterations: of the first window, whose weights have not seen the problem yet; 0 for as many as in the others.
        progress: told of a cold start.
    """

    trainer: WindowTrainer
    kept: KeptP
    weights: np.ndarray
    tolerance: float
    cold_iterations: int
    progress: Progress

    def solve(self, window: Window, theta: Tensor, deadline: Deadline, inside: InsideWindow) -> WindowReport:
        """Train the network for a window.

        Args:
            window: its equations.
            theta: weights (p,) to start from.
            deadline: when to stop.
            inside: keeps the training on the way, and may have one to go on with.

        Raises:
            NotConverged: when the loss is no longer finite.
            OutOfTime: at the deadline.
        """
        trainer, own, built = self.trainer, self.trainer.own, self.kept.built
        with torch.no_grad():
            trainer.network.theta.copy_(theta)
        loss = trainer.loss(self.residual(window))
        before = float(loss.known_residual().norm())
        state, begun = own.optimiser.start(loss, own.seed), inside.take()
        cold = window.layers.first and self.cold_iterations > 0
        iterations = self.cold_iterations if cold else own.optimiser.iterations
        limit = deadline.left + (0.0 if begun is None else begun.seconds)
        enough = loss.sufficient(self.tolerance) if isinstance(loss, CausalLoss) else self.tolerance
        stopping = Stopping(iterations, enough, limit, own.optimiser.patience or 0)
        if cold:
            self.progress.stage("cold start", iterations)
        training = train(
            loss, own.optimiser, stopping, state, self.progress if cold else None, inside, begun, announce=False
        )
        if training.reason == "time limit":
            raise OutOfTime
        final = float(loss.known_residual().norm())
        if training.reason == "not finite" or not math.isfinite(final):
            raise NotConverged(
                f"the loss is not finite at t = {window.layers.times[-1]:g}",
                "take shorter steps (more steps), a smaller learning_rate, or linearisation=newton",
            )
        inside.clear()
        return WindowReport(
            [before, final], training.iterations, self.kept.built - built, training.reason, final, trainer.damping
        )

    def residual(self, window: Window) -> Preconditioned:
        """u -> W P^-1 F(u), relative to the size of what is known of u: at the start of the window, or from its data."""
        zero = torch.zeros(window.layers.count, window.space.size, dtype=torch.float64, device=window.space.device)
        F = window.residual(zero)
        linear = self.kept.residual(window.linearise(zero), F, zero, self.weights, window.norm)
        linear.target_norm = max(linear.target_norm, self._norm(window.known[-1].expand_as(zero)))
        return linear if window.space.form.constant else NonlinearResidual(linear, window.residual)

    def _norm(self, U: Tensor) -> float:
        return float((torch.from_numpy(self.weights).to(U.device) * U.reshape(-1) ** 2).sum().sqrt())
