"""One window of a march: Newton's method around the training of its network (Algorithms 2, 3 and 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ...discretize.window import Window
from ..newton import Newton, NotConverged
from .deadline import Deadline
from .kept import KeptP
from .report import WindowReport
from .training import WindowTrainer

_DIVERGED = 1e3  # relative correction that no step comes back from
_GROWN = 1.5  # corrections this many times the least so far are undone
_SMALLEST_STEP = 1 / 64
_FINAL = 0.3  # of the tolerance, for a step's training
_FORCING = 0.1  # part of the correction that a step's training may leave, less as Newton's method gains speed
_NO_GAIN = 0.5  # a training that leaves more than this of a correction is at the end of what the network can represent


@dataclass(frozen=True)
class WindowSolver:
    """Solves window after window with one network, whose weights move on, and one P, for as long as it is good.

    Attributes:
        trainer: of the network.
        kept: P.
        weights: (L n,) of the norm.
        tolerance: relative size of the Newton correction at which a window is done.
        steps: most Newton steps.
        linear_part: keep P and A of the linear part, with the nonlinear terms on the right-hand side.
    """

    trainer: WindowTrainer
    kept: KeptP
    weights: np.ndarray
    tolerance: float
    steps: int
    linear_part: bool = False

    def solve(self, window: Window, guesses: list[Tensor], deadline: Deadline | None = None) -> WindowReport:
        """Train the network for a window.

        Args:
            window: its equations.
            guesses: weights (p,) to start from; the one of the least residual is taken.
            deadline: when to stop; never by default.

        Raises:
            NotConverged: when Newton's method diverges.
            OutOfTime: at the deadline.
        """
        trainer, kept = self.trainer, self.kept
        iterations, built = trainer.iterations, kept.built
        report = WindowNewton(self, window, deadline or Deadline()).run(guesses)
        report.iterations, report.rebuilt = trainer.iterations - iterations, kept.built - built
        report.damping = trainer.damping
        return report


class WindowNewton(Newton):
    """Newton's method for one window.

    The length of a step is found on the way: where the correction has grown, the best weights come back and steps are halved;
    where it falls they grow again.
    """

    def __init__(self, own: WindowSolver, window: Window, deadline: Deadline) -> None:
        super().__init__(own.trainer.network)
        self.own, self.window, self.deadline = own, window, deadline
        self.report = WindowReport()
        self._length = 1.0
        self._best = (math.inf, self.network.theta.detach().clone())

    def run(self, guesses: list[Tensor]) -> WindowReport:
        """From the best of the guesses (p,) until the correction is within the tolerance, or cannot be trained further."""
        self._start(guesses)
        report = self.report
        report.reason = self.iterate()
        most = 0.1 if report.reason == "newton iterations" else 0.5
        if not math.isfinite(report.final) or (report.final > most and not self.window.space.form.constant):
            raise self._failure()
        return report

    def linearise(self) -> None:
        """Measure the correction at the network's present values."""
        self.deadline.check()
        self._linearise()
        move = self._operator.correction(self._F)
        size = max(self._norm(self._U), self._norm(self._U - move)) or 1.0  # flows may begin at rest
        self.report.final = self._norm(move) / size
        self.report.residuals.append(self.report.final)

    def damp(self) -> str | None:
        """Undo and shorten what made the correction grow; done if it is small."""
        correction, first = self.report.final, len(self.report.residuals) == 1
        if not math.isfinite(correction) or correction > _DIVERGED:
            raise self._failure()
        if correction < self._best[0]:
            self._best = (correction, self.network.theta.detach().clone())
            self._length = min(1.0, 2 * self._length)
        elif correction > _GROWN * self._best[0] and not first and self._length > _SMALLEST_STEP:
            self._length /= 2
            self.back_to(self._best[1])
            self._linearise()
        # never in the first step: a guess that is never trained drifts away
        return "tolerance" if correction <= self.own.tolerance and not first else None

    def train(self) -> None:
        """Solve the linear model with the network."""
        correction, operator = self.report.residuals[-1], self._operator
        if self._length < 1.0:
            operator = operator.toward(self._U, self._F, self._length)
        wanted = max(_FINAL * self.own.tolerance, min(_FORCING, correction) * correction)
        self.report.final = self.own.trainer.train(operator, wanted, self.deadline)

    def judge(self) -> str | None:
        """Stop where training leaves most of the correction: that is what the network cannot represent."""
        steps = self.report.residuals
        if self.report.final > _NO_GAIN * steps[-1] and self._length == 1.0 and len(steps) > 1:
            return "training"
        return "newton iterations" if len(steps) >= self.own.steps else None

    def _start(self, guesses: list[Tensor]) -> None:
        """Take the guess of the least correction, by a P at the first one."""
        sizes: list[float] = []
        for theta in guesses if len(guesses) > 1 else ():
            self.back_to(theta)
            if not sizes:
                self._linearise()
                F = self._F
            else:
                F = self.window.residual(self.own.trainer.values())
            sizes.append(self._norm(self._operator.correction(F)))
        self.back_to(guesses[int(np.argmin(sizes))] if sizes else guesses[0])

    def _linearise(self) -> None:
        """A, F and P at the network's values U."""
        own, window = self.own, self.window
        self._U = own.trainer.values()
        matrix = window.linearise(torch.zeros_like(self._U) if own.linear_part else self._U)
        self._F = window.residual(self._U)
        self._operator = own.kept.residual(matrix, self._F, self._U, own.weights, self._norm)

    def _norm(self, X: Tensor) -> float:
        return float((torch.from_numpy(self.own.weights).to(X.device) * X.reshape(-1) ** 2).sum().sqrt())

    def _failure(self) -> NotConverged:
        return self.failure(
            f"does not converge at t = {self.window.layers.times[-1]:g}",
            self.report.residuals,
            "take shorter steps (more steps), a damping scheme (scheme=radau), more iterations per step, or reach the "
            "parameters by continuation",
        )
