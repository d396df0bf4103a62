"""Newton's method for a problem that is solved at once, with natural damping, forcing terms and P kept while it is good.

The first step is the linear part of the problem. Where its model is the equation itself, as in a linear problem, that step is
trained to the end, and it is the only one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch

from ..discretize.newton import SMALLEST_DAMPING, natural_damping
from ..discretize.nonlinear import Linearisation, first_linearisation, linearised_system
from ..precondition import Kept, estimate_quality
from ..precondition.operator import PreconditionedResidual
from ..progress import Progress
from ..train import Checkpoints, History, LeastSquares, Optimiser, Snapshot, Stopping, Training, Watch, train
from .newton import Newton, NotConverged
from .newton_steps import Place, Step, pack, unpack
from .settings import Settings

MakeStep = Callable[..., LeastSquares]

_GOOD_P = 0.1  # largest ||I - P^-1 A|| on smooth functions with which an earlier P is kept
_DIRECTION_P = 0.5  # with a worse one P^-1 F is no Newton step, so it is not asked for the damping
_EXPLAINED = 1.2  # corrections up to this many times the residual of training are the training's, not Newton's
_LEAST_FORCING = 1e-3
_NOTHING_LEFT = (
    0.1  # of the values that the next correction is, where the model is exact: these are what is left of zero
)
_FINAL = 0.8  # of the tolerance, for a step's training: the correction after it is to be below the tolerance


class WholeNewton(Newton):
    """One solve of a whole problem.

    Args:
        loss: of the first linearisation.
        system: the first linearisation.
        settings: of the solve.
        optimiser, state: continue from step to step.
        make_step: makes the loss of a linearisation, as `preconditioned_loss` does.
        patience: of each step's training.
        progress, checkpoints, watch: told of each iteration.
        limit: seconds, those before a resume included.

    Attributes:
        linear: whether the linear part turned out to be the problem itself.
    """

    def __init__(
        self,
        loss: LeastSquares,
        system: Linearisation,
        settings: Settings,
        optimiser: Optimiser,
        state: dict[str, torch.Tensor],
        make_step: MakeStep,
        patience: int,
        progress: Progress,
        checkpoints: Checkpoints | None,
        watch: Watch | None = None,
        limit: float = math.inf,
    ) -> None:
        super().__init__(loss.network)
        self.loss, self.settings, self.optimiser, self.state = loss, settings, optimiser, state
        self.rules, self.equation = settings.newton, system.equation
        self.make_step, self.patience, self.progress, self.checkpoints = make_step, patience, progress, checkpoints
        self.watch, self.limit = watch, limit
        self.place = Place(system, None if system.from_zero else system.at)
        self.linear, self.iteration, self._clock = False, 0, time.perf_counter()
        self._linear_part = system.A if system.from_zero else None
        self._kept: Kept | None = None
        self._correction: float | None = None
        self._before = self.network.theta.detach().clone()
        self._snapshot: Snapshot | None = None
        self._training: Training | None = None

    def run(self, snapshot: Snapshot | None = None) -> Training:
        """Iterate until the correction is at most the tolerance, or what is left is the training's own error.

        Raises:
            NotConverged: when corrections do not fall; with their history, and what to try.
        """
        if snapshot is not None:
            self._restore(snapshot)
        reason = self.iterate(ready=snapshot is not None)
        assert self._training is not None
        seconds = time.perf_counter() - self._clock
        return Training(self.iteration, self._training.loss, seconds, reason, self.place.history)

    def describe(self) -> dict[str, Any]:
        """Facts for result.json."""
        steps = self.place.steps
        return {
            "linearisation": self.rules.linearisation,
            "iterations": len(steps),
            "corrections": [s.after for s in steps],
            "preconditioners_built": sum(s.preconditioner == "built" for s in steps),
            "steps": [asdict(s) for s in steps],
        }

    # One step

    def linearise(self) -> None:
        """Linearise anew (unless it is the first step, or one that is tried again), decide on P."""
        place, steps = self.place, self.place.steps
        if steps and steps[-1].accepted:
            self.progress.stage(f"Newton step {len(steps) + 1}: assembly")
            u = self._values()
            place.system = linearised_system(self.equation, u, self._matrix_of_all_steps())
        elif not steps and not place.system.from_zero and self.rules.linearisation == "linear-part":
            place.system = linearised_system(self.equation, place.system.at, self._matrix_of_all_steps())
            self.loss, place.built_at = self.make_step(place.system, self.network, self.settings, rescale=False), None
        self._kept = self._keep() if steps else None
        if self._kept is None:
            if steps:
                self.loss = self.make_step(place.system, self.network, self.settings, rescale=False)
                place.built_at = None if self.rules.linearisation == "linear-part" else place.system.at
            place.built_quality = _smooth(self.loss)
        self._correction = None if place.system.from_zero else self._size(place.system.residual, place.system.at)

    def damp(self) -> None:
        """Choose length and tolerance of the step, and make its loss."""
        place, steps, kept = self.place, self.place.steps, self._kept
        damping = 1.0
        if not place.system.from_zero:
            damping = steps[-1].damping / 2 if steps and not steps[-1].accepted else self._damping()
            damped = place.system.damped(damping)
            self.loss = self.make_step(
                damped, self.network, self.settings, kept=kept or _kept(self.loss), rescale=False
            )
        quality = preconditioned(self.loss).quality
        known = None if quality is None else quality.describe()["smooth"]
        how = "kept" if kept is not None else "built"
        place.first_iteration = self.iteration
        steps.append(Step(self._correction, damping, self._tolerance(self._correction, damping), how, known))
        self._before = self.network.theta.detach().clone()
        if self.checkpoints is not None:  # what a resumed run needs beside the training's own state
            self.checkpoints.context, self.checkpoints.facts = pack(place, self._before, self.network.output_scale)

    def train(self) -> None:
        """Train the step; and on to the end where its model is exact, so that there is nothing to linearise anew."""
        step, rules, budget = self.place.steps[-1], self.rules, self.optimiser.iterations
        share = budget if rules.forcing else -(-budget // rules.newton_iterations)
        first = max(step.tolerance, rules.tolerance), min(budget, self.place.first_iteration + share)
        training = self._train_until(*first, self._snapshot)
        if training.reason in ("tolerance", "iterations"):
            further = (rules.tolerance, budget) if self._exact() else (step.tolerance, first[1])
            if (
                training.iterations >= budget
            ):  # a run that is taken up at its end says the same as one that never stopped
                if math.sqrt(2 * training.loss) > further[0]:
                    training = replace(training, reason="iterations")
            elif further != first:
                theta = self.network.theta.detach().clone()
                so_far = Snapshot(training.iterations, training.seconds, theta, self.state, training.history)
                training = self._train_until(*further, so_far, announce=False)
        self._training, self._snapshot = training, None
        self.place.history.extend(training.history)
        self.iteration = training.iterations
        step.iterations = self.iteration - self.place.first_iteration
        step.training_residual = math.sqrt(2 * training.loss) if math.isfinite(training.loss) else None
        step.stopped_by = training.reason

    def judge(self) -> str | None:
        """Measure what the step has brought. One that made things worse is undone."""
        place, rules, step, training = self.place, self.rules, self.place.steps[-1], self._training
        assert training is not None
        u = self._values()
        F = self.equation.residual(u)
        after = self._size(F, u) if np.isfinite(F).all() else math.inf
        residual = step.training_residual if step.training_residual is not None else math.inf
        step.after = after if math.isfinite(after) else None
        exact = self._exact(u, F)
        self.linear = exact and place.system.from_zero
        if self.linear:
            return training.reason
        number = f"Newton step {len(place.steps)}: "
        worse = step.correction is not None and after > step.correction and residual < 0.5 * step.correction
        if worse or step.after is None:
            step.accepted = False
            self.back_to(self._before)
            self.progress.note(f"{number}the correction grew to {after:.1e}, step undone")
            if step.damping <= SMALLEST_DAMPING or step.correction is None:
                raise self._failure("steps do not bring the correction down, however short")
        else:
            shorter = f", damping {step.damping:g}" if step.damping < 1 else ""
            self.progress.note(
                f"{number}{step.iterations} iterations, residual {residual:.1e}, next correction {after:.1e}{shorter}"
            )
        explained = step.accepted and (exact or after <= _EXPLAINED * residual)
        within = residual if exact and after > _NOTHING_LEFT else after  # nothing is small beside a solution of zero
        if step.accepted and within <= rules.tolerance:
            return "tolerance"
        if explained and training.reason == "stagnation":
            return "stagnation"
        if training.reason in ("time limit", "not finite") or self.iteration >= self.optimiser.iterations:
            return training.reason
        if len(place.steps) >= rules.newton_iterations:
            if explained:
                return "Newton iterations"
            raise self._failure(f"it has not converged in {rules.newton_iterations} steps")
        return None

    # Parts

    def _matrix_of_all_steps(self) -> Any:
        """dF/du at u = 0 for linear-part; None where each step has its own."""
        if self.rules.linearisation == "newton":
            return None
        if self._linear_part is None:
            self._linear_part = first_linearisation(self.equation).A
        return self._linear_part

    def _keep(self) -> Kept | None:
        """The present P, if it is good for the new matrix."""
        place = self.place
        if self.rules.linearisation == "linear-part" or not place.steps[-1].accepted:
            return _kept(self.loss)
        kept = self._kept_for(place.system)
        assert kept.quality is not None
        return kept if kept.quality.smooth <= max(_GOOD_P, place.built_quality) else None

    def _kept_for(self, system: Linearisation) -> Kept:
        """The present P, with its quality for another matrix."""
        d, weights = self.equation.discretisation, preconditioned(self.loss).all_weights
        quality = estimate_quality(system.A, self._apply, d.unknown_nodes, weights, np.asarray(d.unknown_components))
        return replace(_kept(self.loss), quality=quality)

    def _damping(self) -> float:
        """Length of the step; 1 where P is too far from A to tell."""
        quality = preconditioned(self.loss).quality
        if quality is not None and quality.smooth > _DIRECTION_P:
            return 1.0
        system, move = self.place.system, self._apply(self.place.system.residual)
        step = natural_damping(self.equation, system.at, move, self._apply)
        if step is None and self.rules.linearisation == "newton":
            steps = self.place.steps
            if steps and (steps[-1].after or math.inf) <= 3 * (steps[-1].training_residual or 0):
                return 1.0  # what is left is noise of the training, in which no direction is downhill
            if system.exact_at(self.equation.moved(system.at, move, 1.0)):
                return 1.0  # it is P that is bad, not the model
            raise self._failure("no step along Newton's direction brings the residual down")
        return 1.0 if step is None else step.factor

    def _tolerance(self, correction: float | None, damping: float) -> float:
        """Of a step's training: a part of the correction (Eisenstat and Walker 1996, first choice), at least the final one."""
        final, steps = _FINAL * self.rules.tolerance, self.place.steps
        if not self.rules.forcing or len(steps) + 1 >= self.rules.newton_iterations:
            return final
        if correction is None:
            return max(final, self.rules.forcing)
        forcing = self.rules.forcing
        last = next((s for s in reversed(steps) if s.accepted), None)
        if last is not None and last.training_residual is not None and last.after is not None:
            remainder = abs(last.after - last.training_residual) / (last.correction or 1.0)
            forcing = min(forcing, max(remainder, _LEAST_FORCING))
        return max(final, forcing * damping * correction)

    def _train_until(
        self, tolerance: float, iterations: int, resume: Snapshot | None, announce: bool = True
    ) -> Training:
        if resume is None:
            seconds, theta = time.perf_counter() - self._clock, self.network.theta.detach().clone()
            resume = Snapshot(self.iteration, seconds, theta, self.state, History())
        stopping = Stopping(iterations, tolerance, self.limit, self.patience)
        training = train(
            self.loss, self.optimiser, stopping, None, self.progress, self.checkpoints, resume, announce, self.watch
        )
        self.state = resume.state
        return training

    def _exact(self, u: np.ndarray | None = None, F: np.ndarray | None = None) -> bool:
        """Whether the whole step leads to where its linear model is the equation itself."""
        whole = self.place.steps[-1].damping == 1.0
        return whole and self.place.system.exact_at(self._values() if u is None else u, F)

    def _values(self) -> np.ndarray:
        with torch.no_grad():
            return preconditioned(self.loss).whole(self.loss.unknowns().double()).cpu().numpy()

    def _apply(self, r: np.ndarray) -> np.ndarray:
        operator = preconditioned(self.loss)
        return operator.preconditioner.apply(operator.state, r)

    def _size(self, F: np.ndarray, u: np.ndarray) -> float:
        """||P^-1 F|| / ||u|| in the norm of the loss."""
        weights = preconditioned(self.loss).all_weights
        correction = self._apply(F)
        return math.sqrt(weights @ correction**2) / (math.sqrt(weights @ u**2) or 1.0)

    def _failure(self, why: str) -> NotConverged:
        other = "linear-part" if self.rules.linearisation == "newton" else "newton"
        return self.failure(
            f"failed: {why}",
            [math.inf if s.after is None else s.after for s in self.place.steps],
            "approach the problem in a parameter (pcpinn.continuation, in smaller steps), begin from a better guess (start=...), "
            f"train each step better (forcing=0.01), allow more (newton_iterations=...), or use linearisation={other}",
        )

    def _restore(self, snapshot: Snapshot) -> None:
        """Linearise and build P where the interrupted run did."""
        equation, settings, network = self.equation, self.settings, self.network
        packed = unpack(snapshot, equation.size, len(network.theta))
        if not network.output_scale.ndim:
            network.output_scale.fill_(packed.scale)
        A, source = self._matrix_of_all_steps(), self.place.system
        if packed.built_at is not None:
            source = linearised_system(equation, packed.built_at, A)
        elif not source.from_zero:
            source = first_linearisation(equation)
        if source is not self.place.system:
            self.loss = self.make_step(source, network, settings, rescale=False)
        place = Place(source, packed.built_at, _smooth(self.loss), packed.first_iteration, packed.history, packed.steps)
        if packed.at is not None:
            place.system = linearised_system(equation, packed.at, A)
            damped = place.system.damped(place.steps[-1].damping)
            elsewhere = place.steps[-1].preconditioner == "kept" and self.rules.linearisation == "newton"
            kept = self._kept_for(place.system) if elsewhere else _kept(self.loss)
            self.loss = self.make_step(damped, network, settings, kept=kept, rescale=False)
        self.place, self.state, self._snapshot = place, snapshot.state, snapshot
        self._before = snapshot.context["before"].to(self._before)
        if self.checkpoints is not None:
            self.checkpoints.context, self.checkpoints.facts = snapshot.context, snapshot.facts
        self.iteration, self._clock = snapshot.iteration, time.perf_counter() - snapshot.seconds


def _smooth(loss: LeastSquares) -> float:
    quality = preconditioned(loss).quality
    return 0.0 if quality is None else quality.smooth


def _kept(loss: LeastSquares) -> Kept:
    """The P of a loss, for another matrix."""
    operator = preconditioned(loss)
    P = operator.preconditioner
    return Kept(P.preconditioner if isinstance(P, Kept) else P, operator.state, operator.quality)


def preconditioned(loss: LeastSquares) -> PreconditionedResidual:
    """The operator of a loss on a whole domain."""
    assert isinstance(loss.operator, PreconditionedResidual)
    return loss.operator
