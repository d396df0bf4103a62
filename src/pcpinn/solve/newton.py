"""Algorithm 4: Newton's method around the training, with damping, forcing terms and P kept while it is good.

Each step linearises at the network's own nodal values u and trains the same network on towards the next iterate:
||P^-1 (A v - b)||^2 with A = dF/du (u), b = A u - s F(u). The network never fits a solution that it was given.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch

from ..discretize.newton import SMALLEST_DAMPING, natural_damping, sizes_in_words
from ..discretize.nonlinear import Linearisation, first_linearisation, linearised_system
from ..precondition import Kept, estimate_quality
from ..precondition.operator import PreconditionedResidual
from ..progress import Progress
from ..train import Checkpoints, History, LeastSquares, Optimiser, Snapshot, Stopping, Training, train
from .newton_steps import NotConverged, Place, Step, pack, unpack
from .settings import Settings

MakeStep = Callable[..., LeastSquares]

_GOOD_P = 0.1  # largest ||I - P^-1 A|| on smooth functions with which an earlier P is kept
_DIRECTION_P = 0.5  # with a worse one P^-1 F is no Newton step, so it is not asked for the damping
_EXPLAINED = 1.2  # corrections up to this many times the residual of training are the training's, not Newton's
_LEAST_FORCING = 1e-3
_FINAL = 0.8  # of the tolerance, for a step's training: the correction after it is to be below the tolerance


class Newton:
    """One solve of a nonlinear problem.

    Args:
        loss: of the first linearisation.
        system: the first linearisation.
        settings: of the solve.
        optimiser, state: continue from step to step.
        make_step: makes the loss of a linearisation, as `preconditioned_loss` does.
        patience: of each step's training.
        progress, checkpoints: told of each iteration.
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
    ) -> None:
        self.loss, self.settings, self.optimiser, self.state = loss, settings, optimiser, state
        self.rules = settings.newton
        self.make_step, self.patience, self.progress, self.checkpoints = make_step, patience, progress, checkpoints
        self.network, self.equation = loss.network, system.equation
        self.place = Place(system, None if system.from_zero else system.at)
        self._linear_part = system.A if system.from_zero else None
        self.iteration, self._clock = 0, time.perf_counter()

    def run(self, snapshot: Snapshot | None = None) -> Training:
        """Iterate until the correction is at most the tolerance, or what is left is the training's own error.

        Raises:
            NotConverged: when corrections do not fall; with their history, and what to try.
        """
        resumed = snapshot is not None and bool(snapshot.facts)
        if resumed:
            assert snapshot is not None
            self._restore(snapshot)
        while True:
            if not resumed:
                self._prepare()
            step, before = self.place.steps[-1], self.network.theta.detach().clone()
            if resumed and snapshot is not None:
                before = snapshot.context["before"].to(before)
            elif self.checkpoints is not None:
                self._note_place(before)
            training = self._train(step, snapshot if resumed else None)
            resumed = False
            reason = self._judge(step, training, before)
            if reason is not None:
                seconds = time.perf_counter() - self._clock
                return Training(self.iteration, training.loss, seconds, reason, self.place.history)

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

    def _prepare(self) -> None:
        """Linearise (unless it is the first step), decide on P and the damping, make the loss."""
        place, steps = self.place, self.place.steps
        retry = bool(steps) and not steps[-1].accepted
        if steps and not retry:
            self.progress.stage(f"Newton step {len(steps) + 1}: assembly")
            u = self._values()
            A = self._matrix_of_all_steps()
            place.system = linearised_system(self.equation, u, A)
        elif place.system.from_zero is False and self.rules.linearisation == "linear-part" and not steps:
            A = self._matrix_of_all_steps()
            place.system = linearised_system(self.equation, place.system.at, A)
            self.loss, place.built_at = self.make_step(place.system, self.network, self.settings, rescale=False), None
        kept = self._keep() if steps else None
        damping, correction = 1.0, None
        if kept is None and steps:
            self.loss = self.make_step(place.system, self.network, self.settings, rescale=False)
            place.built_at = None if self.rules.linearisation == "linear-part" else place.system.at
        if kept is None:
            place.built_quality = _smooth(self.loss)
        if not place.system.from_zero:
            correction = self._size(place.system.residual, place.system.at)
            damping = steps[-1].damping / 2 if retry else self._damping()
            damped = place.system.damped(damping)
            self.loss = self.make_step(
                damped, self.network, self.settings, kept=kept or _kept(self.loss), rescale=False
            )
        quality = preconditioned(self.loss).quality
        known = None if quality is None else quality.describe()["smooth"]
        how = "kept" if kept is not None else "built"
        place.first_iteration = self.iteration
        steps.append(Step(correction, damping, self._tolerance(correction, damping), how, known))

    def _matrix_of_all_steps(self) -> Any:
        """dF/du at u = 0 for linear-part; None where each step has its own."""
        if self.rules.linearisation == "newton":
            return None
        if self._linear_part is None:
            self._linear_part = first_linearisation(self.equation).A
        return self._linear_part

    def _keep(self) -> Kept | None:
        """The present P, if it is good for the new matrix."""
        operator, place = self.loss.operator, self.place
        if self.rules.linearisation == "linear-part" or not place.steps[-1].accepted:
            return _kept(self.loss)
        d = self.equation.discretisation
        quality = estimate_quality(
            place.system.A, self._apply, d.unknown_nodes, operator.weights, np.asarray(d.unknown_components)
        )
        good = quality.smooth <= max(_GOOD_P, place.built_quality)
        return replace(_kept(self.loss), quality=quality) if good else None

    def _damping(self) -> float:
        """Length of the step; 1 where P is too far from A to tell."""
        quality = preconditioned(self.loss).quality
        if quality is not None and quality.smooth > _DIRECTION_P:
            return 1.0
        system = self.place.system
        factor = natural_damping(self.equation, system.at, self._apply(system.residual), self._apply)
        if factor is None and self.rules.linearisation == "newton":
            steps = self.place.steps
            if steps and (steps[-1].after or math.inf) <= 3 * (steps[-1].training_residual or 0):
                return 1.0  # what is left is noise of the training, in which no direction is downhill
            raise self._failure("no step along Newton's direction brings the residual down")
        return factor or 1.0

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

    def _train(self, step: Step, snapshot: Snapshot | None) -> Training:
        seconds, iterations = time.perf_counter() - self._clock, self.optimiser.iterations
        share = iterations if self.rules.forcing else -(-iterations // self.rules.newton_iterations)
        limit = min(iterations, self.place.first_iteration + share)
        theta = self.network.theta.detach().clone()
        resume = snapshot or Snapshot(self.iteration, seconds, theta, self.state, History())
        stopping = Stopping(limit, step.tolerance, self.settings.run.time_limit, self.patience)
        training = train(self.loss, self.optimiser, stopping, None, self.progress, self.checkpoints, resume)
        self.state = resume.state
        self.place.history.rows += training.history.rows
        self.iteration = training.iterations
        step.iterations = self.iteration - self.place.first_iteration
        step.training_residual = math.sqrt(2 * training.loss) if math.isfinite(training.loss) else None
        step.stopped_by = training.reason
        return training

    def _judge(self, step: Step, training: Training, before: torch.Tensor) -> str | None:
        """Measure what the step has brought: why to stop, or None to go on. A step that made things worse is undone."""
        place, rules = self.place, self.rules
        u = self._values()
        F = self.equation.residual(u)
        after = self._size(F, u) if np.isfinite(F).all() else math.inf
        residual = step.training_residual if step.training_residual is not None else math.inf
        step.after = after if math.isfinite(after) else None
        number = f"Newton step {len(place.steps)}: "
        worse = step.correction is not None and after > step.correction and residual < 0.5 * step.correction
        if worse or step.after is None:
            step.accepted = False
            self._set(before)
            self.progress.note(f"{number}the correction grew to {after:.1e}, step undone")
            if step.damping <= SMALLEST_DAMPING or step.correction is None:
                raise self._failure("steps do not bring the correction down, however short")
        else:
            shorter = f", damping {step.damping:g}" if step.damping < 1 else ""
            self.progress.note(
                f"{number}{step.iterations} iterations, residual {residual:.1e}, next correction {after:.1e}{shorter}"
            )
        explained = step.accepted and after <= _EXPLAINED * residual
        if step.accepted and after <= rules.tolerance:
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

    def _values(self) -> np.ndarray:
        with torch.no_grad():
            return self.loss.unknowns().double().cpu().numpy()

    def _set(self, theta: torch.Tensor) -> None:
        with torch.no_grad():
            self.network.theta.copy_(theta)

    def _apply(self, r: np.ndarray) -> np.ndarray:
        operator = preconditioned(self.loss)
        return operator.preconditioner.apply(operator.state, r)

    def _size(self, F: np.ndarray, u: np.ndarray) -> float:
        """||P^-1 F|| / ||u|| in the norm of the loss."""
        weights = self.loss.operator.weights
        correction = self._apply(F)
        return math.sqrt(weights @ correction**2) / (math.sqrt(weights @ u**2) or 1.0)

    def _failure(self, why: str) -> NotConverged:
        sizes = [s.after if s.after is not None else math.inf for s in self.place.steps]
        other = "linear-part" if self.rules.linearisation == "newton" else "newton"
        return NotConverged(
            f"Newton's method failed: {why}; relative corrections by step: {sizes_in_words(sizes) or 'none'}",
            "approach the problem in a parameter (pcpinn.continuation, in smaller steps), begin from a better guess (start=...), "
            f"train each step better (forcing=0.01), allow more (newton_iterations=...), or use linearisation={other}",
        )

    # Checkpoints

    def _note_place(self, before: torch.Tensor) -> None:
        """What a resumed run needs beside the training's own state."""
        assert self.checkpoints is not None
        self.checkpoints.context, self.checkpoints.facts = pack(self.place, before, self.network.output_scale)

    def _restore(self, snapshot: Snapshot) -> None:
        """Linearise and build P where the interrupted run did."""
        equation, settings, network = self.equation, self.settings, self.network
        packed = unpack(snapshot, equation.size, len(network.theta))
        with torch.no_grad():
            network.output_scale.fill_(packed.scale)
        A = self._matrix_of_all_steps()
        if packed.from_zero or packed.built_at is None:
            source = first_linearisation(equation)
        else:
            source = linearised_system(equation, packed.built_at, A)
        self.loss = self.make_step(source, network, settings, rescale=False)
        place = Place(source, packed.built_at, _smooth(self.loss), packed.first_iteration, packed.history, packed.steps)
        if not packed.from_zero:
            place.system = linearised_system(equation, packed.at, A)
            damped = place.system.damped(place.steps[-1].damping)
            self.loss = self.make_step(damped, network, settings, kept=_kept(self.loss), rescale=False)
        self.place, self.state = place, snapshot.state
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
