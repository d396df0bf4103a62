"""One run of a family: set-up, training in rounds, judgement over unseen parameters, record."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import AccuracyWarning, PcpinnError
from ..mesh.slab_mesh import AnyMesh
from ..progress import Progress
from ..solution.folder import finish_run
from ..solution.result import Result
from ..solution.verdict import USUAL_ACCURACY
from ..solve.method import FAMILY_METHODS, Method
from ..solve.settings import Settings, problem_is_over_time, resolve
from ..solve.solvable import solves
from ..train import Checkpoints, Snapshot, Stopping, Training, train
from ..train.optimiser import State
from .family import Family
from .judge import Judge, errors_of, verdict_of
from .recipe import offer_family
from .set_up import SetUp
from .surrogate import Surrogate


@solves(Family)
def solve_family(
    family: Family,
    settings: Settings | Mapping[str, Any] | None = None,
    *,
    out: str | Path | None = None,
    progress: Progress | None = None,
    record: Mapping[str, Any] | None = None,
    resume: bool = False,
    on: AnyMesh | None = None,
    **choices: Any,
) -> Surrogate:
    """A network for all problems of a family; arguments as of `pcpinn.solve`.

    `accuracy` (0.01 if not given) is the relative L2 error that 95 % of the parameters are to have; the verdict tells whether
    they do, by estimates at unseen parameters.

    Raises:
        PcpinnError: for anything the user can correct; nothing has been written then.
    """
    chosen = family_settings(family, settings, choices)
    run = FamilyRun(family, chosen, out=out, progress=progress, record=record, resume=resume, on=on)
    surrogate = run.carry_out()
    if surrogate.verdict.reached is False:
        warnings.warn(surrogate.verdict.message, AccuracyWarning, stacklevel=3)
    return surrogate


def family_settings(
    family: Family, settings: Settings | Mapping[str, Any] | None, choices: Mapping[str, Any]
) -> Settings:
    """What a family is to be solved with: settings that are complete already, or choices that complete the defaults."""
    if isinstance(settings, Settings):
        return settings.updated(choices)
    given = {"accuracy": USUAL_ACCURACY, **(settings or {}), **choices}
    return resolve(FAMILY_METHODS.find("family"), problem_is_over_time(family.base), given)


class FamilyRun(SetUp):
    """One run, from set-up to record; other methods have another loss (`make_loss`)."""

    def carry_out(self) -> Surrogate:
        """Train in rounds, judge, record."""
        own, settings = self.own, self.settings
        state = self.optimiser.start(self.loss, settings.run.seed)
        own.ready()
        own.begin(self.mesh)
        checkpoints, snapshot, state = self._begun(state)
        judge = Judge(self)
        training: Training | None = None
        reason, iterations = "iterations", settings.optimiser.iterations
        self.progress.stage(f"training ({self.optimiser.label})", iterations)
        later = judge.predicted()
        done = 0 if snapshot is None else snapshot.iteration
        while training is None or (done < iterations and reason == "iterations"):
            until = min(iterations, (done // self.loss.round + 1) * self.loss.round)
            stopping = Stopping(until, 0.0, self._time_limit(snapshot, later), self.loss.patience)
            training = train(
                self.loss, self.optimiser, stopping, state, self.progress, checkpoints, snapshot, announce=False
            )
            done, reason = training.iterations, training.reason
            if snapshot is not None:
                state = snapshot.state
            self.loss.settle(done)
            snapshot = Snapshot(
                done, training.seconds, self.loss.theta.detach().clone(), state, training.history, self.loss.state()
            )
            if reason == "iterations":
                reason = judge.look(done)
            if reason == "stagnation" and judge.limits() and self.grow():
                state, judge, reason = self.optimiser.start(self.loss, settings.run.seed), Judge(self), "iterations"
                theta, kept = self.network.theta.detach().clone(), self.loss.state()
                snapshot = Snapshot(done, training.seconds, theta, state, training.history, kept)
        assert training is not None
        return self._conclude(replace(training, reason=reason), judge)

    def _begun(self, state: State) -> tuple[Checkpoints | None, Snapshot | None, State]:
        """Checkpoints, the last one of a run that goes on, and the optimiser's state; the network grows to what it was then."""
        while True:
            try:
                return *self.own.checkpoints(self.loss.theta, state), state
            except PcpinnError:
                if not self.grow():
                    raise
                state = self.optimiser.start(self.loss, self.settings.run.seed)

    def _time_limit(self, snapshot: Snapshot | None, later: float) -> float:
        """Seconds of training: what set-up, looks at the error and judgement leave of the whole; to an accuracy at least one."""
        trained = 0.0 if snapshot is None else snapshot.seconds
        left = self.own.training_limit(trained, later, self.whole)
        return left if self.settings.run.accuracy is None else max(1.0, left)

    def _conclude(self, training: Training, judge: Judge) -> Surrogate:
        self.progress.stage("errors")
        parts = judge.summary()
        errors = errors_of(parts)
        result = self.own.result(
            dofs=self.system.size,
            parameters=self.network.parameter_count,
            iterations=training.iterations,
            stopped_by=training.reason,
            loss=training.loss,
            seconds=training.seconds,
            optimiser=self.optimiser.label,
            optimiser_reason=self.optimiser_why,
            discretisation=self.system.form.name,
            mesh=self.mesh,
            preconditioner=self.loss.describe(),
            errors=errors,
            certificate={"how": f"95 % of {self.settings.loss.validation} unseen parameters, {judge.estimator.how}"},
            error_history=[],
            family={
                "count": self.family.count,
                "names": list(self.family.labels),
                "anchors": self.anchors.z.tolist(),
                "network": {"kind": self.settings.network.name, "why": self.why},
                "samples": getattr(self.settings.loss, "samples", None),
                "loss": self.settings.loss.name,
                "fresh_errors": [float(f"{e:.4g}") if math.isfinite(e) else None for e in self.loss.fresh],
                "errors": parts,
            },
        )
        result["verdict"] = verdict_of(self.settings.run.accuracy, training, errors).to_dict()
        surrogate = Surrogate(
            self.network,
            self.family.base.unknowns,
            self.mesh,
            Result(result),
            training.history,
            self.settings.to_dict(),
            None,
            self.family,
            self.anchors.z,
            self.family,
        )
        surrogate.kept |= {"family": self.family, "estimator": judge.estimator}
        if self.own.out is not None:
            finish_run(self.own.out, self.network, training.history, surrogate.result)
        return surrogate


FAMILY_METHODS.register(Method("family", offer_family, solve_family, family=True))
