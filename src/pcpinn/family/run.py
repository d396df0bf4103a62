"""One run of a family: checks, mesh, anchors, training in rounds, judgement over unseen parameters, record."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from ..errors import AccuracyWarning, PcpinnError
from ..mesh.slab_mesh import AnyMesh
from ..network.grow import widened
from ..network.parametric import ParametricNetwork
from ..network.trunk_branch import TrunkBranchNetwork
from ..progress import Progress
from ..solution.folder import finish_run, read_run
from ..solution.reference import ERRORS
from ..solution.result import Result
from ..solution.verdict import SAFETY, USUAL_ACCURACY, Verdict, judge
from ..solve.build import make_network, make_optimiser, make_preconditioner
from ..solve.conduct import Run, check_training
from ..solve.method import FAMILY_METHODS, Method
from ..solve.settings import Settings, problem_is_over_time, resolve
from ..solve.solvable import solves
from ..train import Checkpoints, GaussNewton, Optimiser, Snapshot, Stopping, Training, train
from ..train.optimiser import State
from .anchors import Anchors, Values
from .assembly import Assembly
from .budget import Budget
from .checks import check_family, check_memory
from .choose_mesh import choose_mesh
from .choose_network import Choice, asks_for, with_answers, with_loss, with_network
from .discretise import AnySystem, assembled_once, make_system
from .estimate import Estimator
from .family import Family
from .fitted import FittedLoss
from .loss import ROUND, FamilyLoss
from .recipe import Spanned, Superposed, offer_family
from .sampling import Sampling
from .span import Span
from .spanned import SpannedLoss
from .superposed import SuperposedLoss
from .surrogate import Surrogate, percentile

_LOOK = 16  # parameters of such a look
_STALLED = 4  # rounds without a gain of a tenth
_USUAL_LIMIT = 600.0  # seconds, where an accuracy is asked for
_WIDTHS = (32, 48, 72)  # of networks that grow
_WORTH = 0.3  # of the accuracy: a training error below this is not worth a larger network
_WIDER = 1.5, 1024  # of networks whose width was measured: the factor by which they grow, and the most
_TOGETHER = 16  # systems of a superposition that are assembled together, for the check of memory
_STEPS_OF_ADAM, _STEPS_OF_NEWTON = 100, 5  # between fresh parameters of a span
_TRIED = 2  # parameters whose errors are estimated before training, to know how long that takes
_VALIDATION_SEED = 1_000_003


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


class FamilyRun:
    """One run, from set-up to record.

    Args:
        family: what to solve.
        settings: how.
        on: an existing mesh.
        options: of `Run`.
    """

    def __init__(self, family: Family, settings: Settings, on: AnyMesh | None = None, **options: Any) -> None:
        base = family.base
        self.family = family
        check_training(base, settings, None)
        check_family(family)
        self.may_grow = settings.run.accuracy is not None and not asks_for(settings, "network")
        choice = with_network(family, settings)
        asked, settings = settings.to_dict(), choice.settings
        self.own = Run(settings, base.name, base.unknowns, kind="family", **options)
        self.own.facts |= {"parameters": family.to_list(), "outside": family.outside, "asked": asked}
        self.progress = self.own.progress
        self.mesh = self.own.mesh_of(base, on, lambda: self._choose(settings))
        self.settings = self.own.settings
        self.progress.stage("assembly")
        device = self.own.device
        self.system: AnySystem = make_system(family, self.mesh, self.settings, device)
        choice = with_loss(Choice(self.settings, choice.why), self.system)
        self.settings = choice.settings
        self.system = assembled_once(self.system, self.settings)
        self._check_memory(0)
        self.progress.stage("preconditioner")
        loss = self.settings.loss
        self.anchors = Anchors(self.system, lambda form: make_preconditioner(self.settings, form), loss.krylov_steps)
        self._choose_anchors()
        self.progress.note(_about(self.anchors))
        budget = self._budget()
        choice = with_answers(choice, self.system, self.anchors, self._choose_anchors, self.progress, budget)
        self.settings = self.own.settings = choice.settings
        self.why, self.answers = choice.why, choice.answers
        self.network = make_network(base, self.mesh, self.settings, parameters=family.count)
        self._check_memory(self.network.parameter_count)
        self._set_unit()
        self.loss = self.make_loss()
        self.optimiser, self.optimiser_why = self._optimiser()
        if isinstance(self.loss, FittedLoss) and isinstance(self.optimiser, GaussNewton):
            self.optimiser.resolve(self.loss)  # refused before anything of that size is computed
        if not isinstance(self.loss, SpannedLoss):
            self.loss.prepare()
        else:
            self.loss.prepare(budget)
            self.own.facts["set_up"] = budget.done
            width, left = self.settings.network.width, self.loss.trunk_error
            self.progress.note(f"a trunk of {width} units fits these functions to {left:.1e}")

    def make_loss(self) -> FamilyLoss | SuperposedLoss | SpannedLoss:
        """What is trained on; other methods have others."""
        loss = self.settings.loss
        if isinstance(self.answers, Span):
            return self._spanned(self.answers)
        if self.answers is not None:
            return SuperposedLoss(self.network, self.system, self.anchors, self.answers)
        sampling = Sampling(self.family, loss.samples, loss.adaptive, self.settings.run.seed)
        return FamilyLoss(self.network, self.system, self.anchors, sampling, self._choose_anchors)

    def _spanned(self, span: Span) -> SpannedLoss:
        loss, seed = self.settings.loss, self.settings.run.seed
        recipe = replace(self.settings.network, branch_depth=0, branch_width=None)
        settings = self.settings.with_recipe("network", recipe)
        functions = make_network(self.family.base, self.mesh, settings, parameters=span.count)
        functions.output_scale = self.network.output_scale
        sampling = Sampling(self.family, loss.samples, 0.0, seed)
        self.progress.stage("functions")
        kind = FittedLoss if isinstance(self.settings.optimiser, GaussNewton) else SpannedLoss
        return kind(
            self.network,
            functions,
            self.family,
            self.system,
            self.anchors,
            span,
            sampling,
            loss.steps or (_STEPS_OF_NEWTON if kind is FittedLoss else _STEPS_OF_ADAM),
            loss.batch,
            seed,
        )

    def _choose_anchors(self, values: Values | None = None) -> None:
        """For the linear part, or linearised at the network's values."""
        loss = self.settings.loss
        self.anchors.choose(loss.anchors, loss.anchor_target, self.settings.run.seed, values)

    def _choose(self, settings: Settings) -> AnyMesh:
        mesh, self.own.settings = choose_mesh(self.family, settings, self.own.progress)
        return mesh

    def _check_memory(self, weights: int) -> None:
        entries = len(self.system.pattern.indices) if isinstance(self.system, Assembly) else 0
        loss = self.settings.loss
        memory = self.settings.run.planned
        if self.own.device.type == "cuda" and self.settings.run.memory is None:
            memory = max(memory, torch.cuda.get_device_properties(self.own.device).total_memory / 2**31)
        alone = isinstance(loss, Superposed)  # then Gauss-Newton's matrix is of hidden weights, and checks itself
        samples = _TOGETHER if alone else loss.samples
        weights = 0 if alone or isinstance(loss, Spanned) else weights
        check_memory(self.family, samples, self.system.size, entries, loss.krylov_steps, weights, memory)

    def _set_unit(self) -> None:
        """Outputs in the units of the solutions, field by field, where these are much larger or smaller than 1."""
        z = self.family.scaled(self.family.sample(_LOOK, seed=self.settings.run.seed))
        mu = self.family.value(z)  # in the middle of the ranges a solution may be zero
        A = self.system.linearise(None, mu)
        u = self.anchors.inverse(A, self.system.right_side(mu), z)
        size = self.system.sizes(u).mean(0) / self.system.sizes(torch.ones_like(u[:1]))[0]
        usual = ~(torch.isfinite(size) & (size > 0)) | ((size > 0.1) & (size < 10))
        unit = torch.where(usual, 1.0, size).to(self.network.output_scale)
        components = torch.tensor([f.components for f in self.family.base.unknowns], device=unit.device)
        self.network.output_scale = unit[0] if len(unit) == 1 else unit.repeat_interleave(components)

    def _optimiser(self) -> tuple[Optimiser, str]:
        optimiser, why = make_optimiser(self.settings, self.network, self.loss.size)
        drawn = isinstance(self.loss, FamilyLoss)
        if (
            drawn
            and isinstance(optimiser, GaussNewton)
            and not optimiser.sample
            and optimiser.matrix in ("auto", "gram")
        ):
            rows = max(2 * self.network.parameter_count, 4000)  # parameters are redrawn, so that rows need not be many
            optimiser = replace(optimiser, sample=rows)
        return optimiser, why

    # --- training -------------------------------------------------------------------------------------------------------

    def carry_out(self) -> Surrogate:
        """Train in rounds, judge, record."""
        own, settings = self.own, self.settings
        state = self.optimiser.start(self.loss, settings.run.seed)
        own.ready()
        own.begin(self.mesh)
        checkpoints, snapshot, state = self._begun(state)
        estimator = self._estimator()
        training: Training | None = None
        reason, iterations = "iterations", settings.optimiser.iterations
        self.progress.stage(f"training ({self.optimiser.label})", iterations)
        later = self._predicted(estimator)
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
                reason = self._look(estimator, done)
            if reason == "stagnation" and self._limits(estimator) and self._grow():
                state, estimator, reason = (
                    self.optimiser.start(self.loss, settings.run.seed),
                    self._estimator(),
                    "iterations",
                )
                theta, kept = self.network.theta.detach().clone(), self.loss.state()
                snapshot = Snapshot(done, training.seconds, theta, state, training.history, kept)
        assert training is not None
        return self._conclude(replace(training, reason=reason), estimator)

    def _begun(self, state: State) -> tuple[Checkpoints | None, Snapshot | None, State]:
        """Checkpoints, the last one of a run that goes on, and the optimiser's state; the network grows to what it was then."""
        while True:
            try:
                return *self.own.checkpoints(self.loss.theta, state), state
            except PcpinnError:
                if not self._grow():
                    raise
                state = self.optimiser.start(self.loss, self.settings.run.seed)

    def _limits(self, estimator: Estimator) -> bool:
        """Whether it is the network that keeps a training from its accuracy."""
        self._refresh(estimator)
        found, asked = estimator.errors(self._unseen(_LOOK)), self.settings.run.accuracy or 0.0
        return percentile(found["training"]) > max(percentile(found["discretisation"]), _WORTH * asked)

    def _grow(self) -> bool:
        """Go on with a wider network, the same function so far; False where sizes were asked for or there is none wider."""
        network, own = self.network, self.settings.network.width
        wider = [w for w in _WIDTHS if w > own]
        if self.answers is not None:
            wider = [round(_WIDER[0] * own)] if own < _WIDER[1] else []
        if (
            not self.may_grow
            or isinstance(self.answers, Span)
            or not wider
            or not isinstance(network, ParametricNetwork | TrunkBranchNetwork)
        ):
            return False
        grown = widened(network, wider[0], self.settings.run.seed)
        try:
            self._check_memory(grown.parameter_count)
        except PcpinnError:
            return False
        before, self.network = self.loss, grown
        self.settings = self.settings.with_recipe("network", replace(self.settings.network, width=wider[0]))
        self.loss = self.make_loss()
        before.continued_by(self.loss)  # type: ignore[arg-type, union-attr]  # it is of the same kind
        self.optimiser, self.optimiser_why = self._optimiser()
        self.progress.note(f"the network grows to width {wider[0]}")
        return True

    @property
    def _whole(self) -> float:
        """Seconds of the whole run."""
        run = self.settings.run
        return _USUAL_LIMIT if math.isinf(run.time_limit) and run.accuracy is not None else run.time_limit

    def _budget(self) -> Budget:
        """Of the set-up; what a run that goes on had done of it is in its record."""
        own = self.own
        before = read_run(own.folder).get("set_up") if own.resume and own.folder is not None else None
        return Budget(own.clock, self._whole, before if isinstance(before, dict) else None)

    def _time_limit(self, snapshot: Snapshot | None, later: float) -> float:
        """Seconds of training: what set-up, looks at the error and judgement leave of the whole; to an accuracy at least one."""
        trained = 0.0 if snapshot is None else snapshot.seconds
        left = self.own.training_limit(trained, later, self._whole)
        return left if self.settings.run.accuracy is None else max(1.0, left)

    def _predicted(self, estimator: Estimator) -> float:
        """Seconds that the judgement is going to take, from errors of two parameters; nothing where there is no limit."""
        if math.isinf(self._whole):
            return 0.0
        clock = self.own.clock
        try:
            began = clock.seconds
            estimator.errors(self._unseen(_TRIED))
            built = clock.seconds
            estimator.errors(self._unseen(_TRIED))
        except PcpinnError:
            return 0.0
        each = (clock.seconds - built) / _TRIED
        again = 0.0 if self.system.linear else built - began  # P of a nonlinear family is built again for it
        return again + each * self.settings.loss.validation

    def _estimator(self) -> Estimator:
        return Estimator(self.family, self.mesh, self.settings, self.network, self.anchors.z, self.system, self.anchors)

    def _look(self, estimator: Estimator, done: int) -> str:
        """After a round: whether the accuracy is reached, or nothing is gained any more."""
        asked, fresh = self.settings.run.accuracy, self.loss.fresh
        if asked is None:
            return "iterations"
        recent = sum(fresh[-ROUND:]) / len(fresh[-ROUND:])
        if 0.6 * recent <= asked / SAFETY:
            self._refresh(estimator)
            p95 = percentile(estimator.errors(self._unseen(_LOOK))["total"])
            self.progress.note(f"iteration {done}: estimated error {p95:.1e} for 95 % of {_LOOK} unseen parameters")
            if SAFETY * p95 <= asked and SAFETY * percentile(self._judged(estimator)["total"]) <= asked:
                return "tolerance"
        before = fresh[self.loss.since :][-(_STALLED + 1) * ROUND : -_STALLED * ROUND]
        if len(before) == ROUND and recent > 0.9 * sum(before) / ROUND:
            return "stagnation"
        return "iterations"

    def _refresh(self, estimator: Estimator) -> None:
        """P of a nonlinear family's finer discretisation is that of the network's present values."""
        if not self.system.linear:
            estimator.forget(self.anchors.z)

    def _unseen(self, count: int) -> torch.Tensor:
        return self.family.scaled(self.family.sample(count, seed=_VALIDATION_SEED + self.settings.run.seed))

    def _judged(self, estimator: Estimator) -> dict[str, torch.Tensor]:
        return estimator.errors(self._unseen(self.settings.loss.validation))

    # --- record ---------------------------------------------------------------------------------------------------------

    def _conclude(self, training: Training, estimator: Estimator) -> Surrogate:
        self.progress.stage("errors")
        self._refresh(estimator)
        try:
            found = self._judged(estimator)
            parts: dict[str, Any] = {k: _summary(v) for k, v in found.items()}
        except PcpinnError as error:  # the answer stands without it
            self.progress.note(f"no error estimate: {error.problem}")
            parts = {}
        errors: dict[str, Any] = dict.fromkeys(ERRORS)
        for key, name in (("training", "training"), ("discretisation", "discretisation"), ("total", "estimate")):
            errors[name] = parts[key]["p95"] if key in parts else None
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
            certificate={"how": f"95 % of {self.settings.loss.validation} unseen parameters, {estimator.how}"},
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
        result["verdict"] = self._verdict(training, errors).to_dict()
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
        surrogate.kept |= {"family": self.family, "estimator": estimator}
        if self.own.out is not None:
            finish_run(self.own.out, self.network, training.history, surrogate.result)
        return surrogate

    def _verdict(self, training: Training, errors: Mapping[str, Any]) -> Verdict:
        asked, estimate = self.settings.run.accuracy, errors["estimate"]
        if estimate is None:
            return judge(asked, {}, "estimate")
        if training.reason == "time limit":
            limited_by, advice = "time", None
        elif errors["discretisation"] > errors["training"]:
            limited_by, advice = "mesh", "give a finer mesh (size=...) or a higher degree"
        elif training.reason == "stagnation":
            limited_by, advice = "network", "give a larger network (width=64) and more samples, or narrow the ranges"
        else:
            limited_by, advice = "iterations", f"allow more iterations (iterations={2 * training.iterations})"
        return judge(asked, {"all": estimate}, limited_by, advice)


def _about(anchors: Anchors) -> str:
    left = anchors.quality[-1]
    kind = "conjugate gradients" if anchors.symmetric else "GMRES"
    return f"{len(anchors.z)} anchors: {anchors.steps} steps of {kind} leave at most {left:.1e} of a solution"


def _summary(values: torch.Tensor) -> dict[str, float | None]:
    def number(v: float) -> float | None:
        return v if math.isfinite(v) else None

    return {
        "mean": number(float(values.mean())),
        "p95": number(percentile(values)),
        "worst": number(float(values.max())),
    }


FAMILY_METHODS.register(Method("family", offer_family, solve_family, family=True))
