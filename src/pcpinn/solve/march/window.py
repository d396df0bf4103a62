"""One window of a march: Newton's method around the training of its network (Algorithms 2, 3 and 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from ...discretize.window import MarchSpace, Window, WindowMatrix
from ...errors import PcpinnError
from ...network.dense import DenseNetwork
from ...network.placed import PlacedNetwork
from ...precondition import Preconditioned
from ...precondition.stages import Stages, StageSolver, window_residual
from ...progress import Progress
from ...train import GaussNewton, LeastSquares, Optimiser, Stopping, train
from ...train.heads import HeadSolver
from .causality import causal_residual
from .deadline import Deadline, OutOfTime

_SLOW = 0.3  # a P that leaves more than this of a correction is rebuilt
_GOOD = 0.05  # and refined until it leaves no more than this
_MOST_REFINED = 8
_SMALLEST_STEP = 1 / 64
_CAUSAL_ROUNDS = 20  # so often causal weights are renewed in a training


@dataclass
class WindowReport:
    """What happened in a window: ||P^-1 F|| / ||u|| before each Newton step, and what is left at the end; training; new P's;
    the damping of Gauss-Newton after it (nan: none was used), where the next window begins.
    """

    residuals: list[float] = field(default_factory=list)
    iterations: int = 0
    rebuilt: int = 0
    reason: str = "tolerance"
    final: float = math.inf
    damping: float = math.nan


@dataclass(frozen=True)
class WindowSettings:
    """How a window is solved.

    Attributes:
        tolerance: relative size of the Newton correction at which a window is done.
        iterations, patience: of the optimiser, per Newton step.
        newton: most Newton steps.
        linear_part: keep P and A of the linear part, with the nonlinear terms on the right-hand side.
        causality: how strongly earlier steps come first (0: all at once).
        stages: time levels per step.
        refinement: of P.
        head_steps: least-squares steps of the last layer before the optimiser is asked.
    """

    tolerance: float
    iterations: int
    patience: int
    newton: int
    linear_part: bool = False
    causality: float = 0.0
    stages: int = 1
    refinement: int = 0
    head_steps: int = 8


class WindowSolver:
    """Solves window after window with one network, whose weights move on, and one P, for as long as it is good.

    Args:
        space: the problem in space.
        network: with C outputs per time level.
        recipe: how to build P.
        optimiser: when the last layer alone is not enough.
        settings: tolerances and limits.
        seed: of the optimiser's random numbers.
    """

    def __init__(
        self,
        space: MarchSpace,
        network: DenseNetwork,
        layers: int,
        recipe: Stages,
        optimiser: Optimiser,
        settings: WindowSettings,
        seed: int = 0,
    ) -> None:
        self.space, self.network, self.recipe = space, network, recipe
        self.optimiser, self.settings, self.seed = optimiser, settings, seed
        self.nodes = space.nodes(layers)
        self._placed = PlacedNetwork(network, torch.as_tensor(self.nodes.points).to(network.theta))
        self.heads = HeadSolver()
        self.solver: StageSolver | None = None
        self.operator: Preconditioned | None = None
        self._stale, self._new = True, False
        self._damping = math.nan

    def follow(self, report: WindowReport) -> None:
        """Go on from the damping that a window ended with: the optimum moves little, so what was right there is right here."""
        self._damping = report.damping

    def refresh(self) -> None:
        """Rebuild P in the next window, unless the problem is linear with steady coefficients."""
        self._stale = True

    def values(self) -> Tensor:
        """The network at all degrees of freedom, (L, n), on the device of the discretisation."""
        at_points = self._placed.values()
        u = at_points[torch.from_numpy(self.nodes.point_of).to(at_points.device), self._component]
        return u.double().to(self.space.device).reshape(-1, self.space.size)

    @property
    def _component(self) -> Tensor:
        return torch.from_numpy(self.nodes.component_of).to(self.network.theta.device)

    def solve(
        self, window: Window, weights: np.ndarray, guesses: list[Tensor], deadline: Deadline | None = None
    ) -> WindowReport:
        """Train the network for a window.

        Args:
            window: its equations.
            weights: (L n,) of the norm.
            guesses: weights (p,) to start from; the one of the least residual is taken.
            deadline: when to stop; never by default.

        Raises:
            PcpinnError: when Newton's method diverges.
            OutOfTime: at the deadline.
        """
        deadline = deadline or Deadline()
        report = WindowReport(damping=self._damping)
        own = self.settings
        U = self._start(window, weights, guesses, report)
        correction, damping = math.inf, 1.0
        best = (math.inf, self.network.theta.detach().clone())
        for _ in range(own.newton):
            deadline.check()
            matrix, F = self._linearise(window, U), window.residual(U)
            operator = self._operator(matrix, F, U, weights, report)
            move = operator.solver.apply(F)
            correction = self._norm(move, weights) / self._size(U, move, weights)
            report.residuals.append(correction)
            report.final = correction
            if not math.isfinite(correction) or correction > 1e3:
                raise _diverged(report, window)
            if correction < best[0]:
                best = (correction, self.network.theta.detach().clone())
                damping = min(1.0, 2 * damping)
            elif correction > 1.5 * best[0] and len(report.residuals) > 1 and damping > _SMALLEST_STEP:
                damping /= 2  # line search: back to the best weights, a shorter step
                self._set(best[1])
                U = self.values()
                matrix, F = self._linearise(window, U), window.residual(U)
                operator = self._operator(matrix, F, U, weights, report)
            if correction <= own.tolerance and len(report.residuals) > 1:
                report.reason = "tolerance"  # never in the first step: a guess that is never trained drifts away
                break
            reached = self._train(operator, U, F, damping, correction, report, deadline)
            U = self.values()
            report.final = reached
            if reached > 0.5 * correction and damping == 1.0 and len(report.residuals) > 1:
                report.reason = "training"  # what is left is what the network cannot represent
                break
        else:
            report.reason = "newton iterations"
        most = 0.1 if report.reason == "newton iterations" else 0.5
        if not math.isfinite(report.final) or (report.final > most and not self.space.form.constant):
            raise _diverged(report, window)
        return report

    def _start(self, window: Window, weights: np.ndarray, guesses: list[Tensor], report: WindowReport) -> Tensor:
        """Take the guess of the least correction, by a P at the first one."""
        sizes: list[float] = []
        for theta in guesses if len(guesses) > 1 else ():
            self._set(theta)
            U = self.values()
            F = window.residual(U)
            if not sizes:
                operator = self._operator(self._linearise(window, U), F, U, weights, report)
            sizes.append(self._norm(operator.solver.apply(F), weights))
        self._set(guesses[int(np.argmin(sizes))] if sizes else guesses[0])
        return self.values()

    def _set(self, theta: Tensor) -> None:
        with torch.no_grad():
            self.network.theta.copy_(theta)

    def _linearise(self, window: Window, U: Tensor) -> WindowMatrix:
        return window.linearise(torch.zeros_like(U) if self.settings.linear_part else U)

    def _operator(
        self, matrix: WindowMatrix, F: Tensor, U: Tensor, weights: np.ndarray, report: WindowReport
    ) -> Preconditioned:
        constant = self.space.form.constant or self.settings.linear_part
        if self.solver is None or not self.solver.fits(matrix) or (self._stale and not constant):
            self._build(matrix, report)
        assert self.solver is not None
        refinement = self.settings.refinement
        if not constant:
            left = self._left_by(matrix, F, weights)
            if left > _SLOW and not self._new:
                self._build(matrix, report)
                left = self._left_by(matrix, F, weights)
            if _GOOD < left < 1:
                refinement = max(refinement, min(_MOST_REFINED, math.ceil(math.log(_GOOD) / math.log(left))))
        self._stale = self._new = False
        self.operator = window_residual(matrix, matrix.apply(U) - F, self.solver, weights, refinement)
        return self.operator

    def _build(self, matrix: WindowMatrix, report: WindowReport) -> None:
        self.solver = None  # its memory first
        self.solver = self.recipe.build(matrix)
        self._new = True
        report.rebuilt += 1

    def _left_by(self, matrix: WindowMatrix, F: Tensor, weights: np.ndarray) -> float:
        """Which part of a correction one application of P^-1 leaves: ||(I - P^-1 A) P^-1 F|| / ||P^-1 F||."""
        assert self.solver is not None
        move = self.solver.apply(F, matrix)
        left = move - self.solver.apply(matrix.apply(move), matrix)
        return self._norm(left, weights) / (self._norm(move, weights) or 1.0)

    def _train(
        self,
        operator: Preconditioned,
        U: Tensor,
        F: Tensor,
        damping: float,
        correction: float,
        report: WindowReport,
        deadline: Deadline,
    ) -> float:
        """Train on the linearised window; the relative residual reached."""
        own = self.settings
        if damping < 1.0:
            b = operator.matrix.apply(U) - damping * F
            operator = Preconditioned(operator.matrix, operator.solver, b, operator.weights)
        loss = LeastSquares(self.network, self.nodes, operator, placed=self._placed)
        wanted = max(0.3 * own.tolerance, min(0.1, correction) * correction)
        untouched, start = self.network.theta.detach().clone(), float(loss.known_residual().norm())
        residual = start
        for k in range(own.head_steps):
            deadline.check()
            before, residual = residual, self.heads.step(loss, afresh=k == 0)
            if residual <= wanted or (k and residual > 0.7 * before):
                break
        if residual > start:  # P is too far from A for the step in one go
            self._set(untouched)
            residual = start
        if residual > wanted and own.iterations:
            residual = self._optimise(operator, loss, wanted, report, deadline)
            if residual > wanted and isinstance(self.optimiser, GaussNewton):
                residual = self.heads.step(loss, afresh=False)
        return residual

    def _optimise(
        self, operator: Preconditioned, loss: LeastSquares, wanted: float, report: WindowReport, deadline: Deadline
    ) -> float:
        """Train all weights, with causal weights of the steps that are renewed on the way; the relative residual reached."""
        own = self.settings
        state = self.optimiser.start(loss, self.seed)
        if "damping" in state and math.isfinite(self._damping):
            state["damping"].fill_(self._damping)
        left, residual = own.iterations, math.inf
        most = -(-left // _CAUSAL_ROUNDS) if own.causality else left
        while left and residual > wanted:
            weighted = loss
            if own.causality:
                causal = causal_residual(operator, self.values(), own.causality, own.stages)
                weighted = LeastSquares(self.network, self.nodes, causal, placed=self._placed)
            stopping = Stopping(min(left, most), wanted, deadline.left, own.patience)
            training = train(weighted, self.optimiser, stopping, state, Progress())
            if training.reason == "time limit":
                raise OutOfTime
            report.iterations += training.iterations
            left -= training.iterations
            residual = float(loss.known_residual().norm()) if own.causality else math.sqrt(2 * training.loss)
            if not own.causality or training.reason == "not finite":
                break
        if "damping" in state:
            self._damping = report.damping = float(state["damping"])
        return residual

    def _norm(self, X: Tensor, weights: np.ndarray) -> float:
        return float((torch.from_numpy(weights).to(X.device) * X.reshape(-1) ** 2).sum().sqrt())

    def _size(self, U: Tensor, move: Tensor, weights: np.ndarray) -> float:
        """The unit of corrections; flows may begin at rest."""
        return max(self._norm(U, weights), self._norm(U - move, weights)) or 1.0


def _diverged(report: WindowReport, window: Window) -> PcpinnError:
    path = ", ".join(f"{r:.1e}" for r in report.residuals)
    return PcpinnError(
        f"Newton's method does not converge at t = {window.layers.times[-1]:g}: corrections {path}",
        "take shorter steps (more steps), a damping scheme (scheme=radau), more iterations per step, or reach the "
        "parameters by continuation",
    )
