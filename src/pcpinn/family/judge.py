"""How good a network is at parameters that no training saw: looks on the way, what the last one will take, the verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from ..errors import PcpinnError
from ..solution.reference import ERRORS
from ..solution.verdict import SAFETY, Verdict, judge
from ..train import Training
from .estimate import Estimator, wrong_between_nodes
from .loss import ROUND
from .set_up import SetUp
from .surrogate import percentile

_LOOK = 16  # parameters of a look
_STALLED = 4  # rounds without a gain of a tenth
_WORTH = 0.3  # of the accuracy: a training error below this is not worth a larger network
_TRIED = 2  # parameters whose errors are estimated before training, to know how long that takes
_SEED = 1_000_003  # added to that of a run: its samples are others


class Judge:
    """Estimated errors of the network that a run has now.

    Args:
        made: the run's network, loss, equations.
    """

    def __init__(self, made: SetUp) -> None:
        self.made = made
        self.estimator = Estimator(
            made.family, made.mesh, made.settings, made.network, made.anchors.z, made.system, made.anchors
        )

    def limits(self) -> bool:
        """Whether it is the network that keeps a training from its accuracy."""
        self.refresh()
        found, asked = self._errors(_LOOK), self.made.settings.run.accuracy or 0.0
        return percentile(found["training"]) > max(percentile(found["discretisation"]), _WORTH * asked)

    def predicted(self) -> float:
        """Seconds that the judgement is going to take, from errors of two parameters; nothing where there is no limit."""
        if math.isinf(self.made.whole):
            return 0.0
        clock = self.made.own.clock
        try:
            began = clock.seconds
            self._errors(_TRIED)
            built = clock.seconds
            self._errors(_TRIED)
        except PcpinnError:
            return 0.0
        each = (clock.seconds - built) / _TRIED
        again = 0.0 if self.made.system.linear else built - began  # P of a nonlinear family is built again for it
        return again + each * self.made.settings.loss.validation

    def look(self, done: int) -> str:
        """After a round: whether the accuracy is reached, or nothing is gained any more."""
        loss, asked = self.made.loss, self.made.settings.run.accuracy
        fresh = loss.fresh
        if asked is None:
            return "iterations"
        recent = sum(fresh[-ROUND:]) / len(fresh[-ROUND:])
        if 0.6 * recent <= asked / SAFETY:
            self.refresh()
            p95 = percentile(self._errors(_LOOK)["total"])
            self.made.progress.note(
                f"iteration {done}: estimated error {p95:.1e} for 95 % of {_LOOK} unseen parameters"
            )
            if SAFETY * p95 <= asked and SAFETY * percentile(self._judged()["total"]) <= asked:
                return "tolerance"
        before = fresh[loss.since :][-(_STALLED + 1) * ROUND : -_STALLED * ROUND]
        if len(before) == ROUND and recent > 0.9 * sum(before) / ROUND:
            return "stagnation"
        return "iterations"

    def refresh(self) -> None:
        """P of a nonlinear family's finer discretisation is that of the network's present values."""
        if not self.made.system.linear:
            self.estimator.forget(self.made.anchors.z)

    def summary(self) -> dict[str, Any]:
        """Mean, 95 % and worst of total, training and discretisation; nothing where they cannot be estimated."""
        self.refresh()
        try:
            return {k: _summary(v) for k, v in self._judged().items()}
        except PcpinnError as error:  # the answer stands without it
            self.made.progress.note(f"no error estimate: {error.problem}")
            return {}

    def _errors(self, count: int) -> dict[str, torch.Tensor]:
        family = self.made.family
        return self.estimator.errors(family.scaled(family.sample(count, seed=_SEED + self.made.settings.run.seed)))

    def _judged(self) -> dict[str, torch.Tensor]:
        return self._errors(self.made.settings.loss.validation)


def errors_of(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The errors of a record from a summary: those that 95 % of the parameters have."""
    errors: dict[str, Any] = dict.fromkeys(ERRORS)
    for key, name in (("training", "training"), ("discretisation", "discretisation"), ("total", "estimate")):
        errors[name] = parts[key]["p95"] if key in parts else None
    return errors


def verdict_of(asked: float | None, training: Training, errors: Mapping[str, Any]) -> Verdict:
    """Reached or not, limited by what, and what to do."""
    estimate = errors["estimate"]
    if estimate is None:
        return judge(asked, {}, "estimate")
    if wrong_between_nodes(estimate, errors["training"], errors["discretisation"]):
        limited_by = "mesh"
        advice = "the network is right at nodes and wrong between them: give a finer mesh (size=...) or a higher degree"
    elif training.reason == "time limit":
        limited_by, advice = "time", None
    elif errors["discretisation"] > errors["training"]:
        limited_by, advice = "mesh", "give a finer mesh (size=...) or a higher degree"
    elif training.reason == "stagnation":
        limited_by, advice = "network", "give a larger network (width=64) and more samples, or narrow the ranges"
    else:
        limited_by, advice = "iterations", f"allow more iterations (iterations={2 * training.iterations})"
    return judge(asked, {"all": estimate}, limited_by, advice)


def _summary(values: torch.Tensor) -> dict[str, float | None]:
    def number(v: float) -> float | None:
        return v if math.isfinite(v) else None

    return {
        "mean": number(float(values.mean())),
        "p95": number(percentile(values)),
        "worst": number(float(values.max())),
    }
