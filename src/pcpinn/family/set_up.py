"""What a family is trained with: checks, mesh, equations, anchors, network, loss, optimiser."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch

from ..errors import PcpinnError
from ..mesh.slab_mesh import AnyMesh
from ..network.grow import widened
from ..network.parametric import ParametricNetwork
from ..network.trunk_branch import TrunkBranch, TrunkBranchNetwork
from ..network.trunk_solve import TrunkSolve
from ..solution.folder import read_run
from ..solve.build import make_network, make_optimiser, make_preconditioner
from ..solve.conduct import Run, check_training
from ..solve.settings import Settings
from ..train import GaussNewton, Optimiser
from .anchors import Anchors, Values
from .assembly import Assembly
from .budget import Budget
from .checks import check_family, check_memory
from .choose_mesh import choose_mesh
from .choose_network import Choice, asks_for, with_answers, with_loss, with_network
from .discretise import AnySystem, assembled_once, make_system
from .family import Family
from .fitted import FittedLoss
from .loss import FamilyLoss
from .recipe import Spanned, Superposed
from .resonances import refuse_resonances
from .sampling import Sampling
from .solved import SolvedLoss
from .span import Span
from .spanned import SpannedLoss
from .superposed import SuperposedLoss

_LOOK = 16  # parameters that tell the size of answers
_USUAL_LIMIT = 600.0  # seconds, where an accuracy is asked for
_WIDTHS = (32, 48, 72)  # of networks that grow
_WIDER = 1.5, 1024  # of networks whose width was measured: the factor by which they grow, and the most
_TOGETHER = 16  # systems of a superposition that are assembled together, for the check of memory
_STEPS_OF_ADAM, _STEPS_OF_NEWTON = 100, 5  # between fresh parameters of a span
_STEPS_OF_SOLVES = 10  # of Adam, which are dearer and fewer


class SetUp:
    """All that a run of a family trains with.

    Args:
        family: what to solve.
        settings: how.
        on: an existing mesh.
        options: of `Run`.

    Attributes:
        own: folder, clock, progress and record.
        mesh, system, anchors: the equations, and P at a few parameters.
        answers: functions that all answers are sums of, where the loss has such; `why` this network was chosen.
        network, loss, optimiser: what is trained, on what, by what; `optimiser_why`.
        settings: as they were completed.
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
        if isinstance(self.system, Assembly):
            refuse_resonances(self.system, self.settings.run.seed)
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
        trunk = self.settings.network.of_one()
        recipe = TrunkBranch(**{k: getattr(trunk, k) for k in trunk.schema()}, branch_depth=0)
        settings = self.settings.with_recipe("network", recipe)
        functions = make_network(self.family.base, self.mesh, settings, parameters=span.count)
        functions.output_scale = self.network.output_scale
        sampling = Sampling(self.family, loss.samples, 0.0, seed)
        self.progress.stage("functions")
        kind = FittedLoss if isinstance(self.settings.optimiser, GaussNewton) else SpannedLoss
        kind = SolvedLoss if isinstance(self.settings.network, TrunkSolve) else kind
        return kind(
            self.network,
            functions,
            self.family,
            self.system,
            self.anchors,
            span,
            sampling,
            loss.steps or {FittedLoss: _STEPS_OF_NEWTON, SolvedLoss: _STEPS_OF_SOLVES}.get(kind, _STEPS_OF_ADAM),
            loss.batch,
            seed,
        )

    def _choose_anchors(self, values: Values | None = None) -> None:
        """For the linear part, or linearised at the network's values."""
        loss = self.settings.loss
        self.anchors.choose(loss.anchors, loss.anchor_target, self.settings.run.seed, values)

    def _choose(self, settings: Settings) -> AnyMesh:
        clock, whole = self.own.clock, _whole(settings)
        mesh, self.own.settings = choose_mesh(self.family, settings, self.own.progress, lambda: clock.seconds, whole)
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

    def grow(self) -> bool:
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
    def whole(self) -> float:
        """Seconds of the whole run."""
        return _whole(self.settings)

    def _budget(self) -> Budget:
        """Of the set-up; what a run that goes on had done of it is in its record."""
        own = self.own
        before = read_run(own.folder).get("set_up") if own.resume and own.folder is not None else None
        return Budget(own.clock, self.whole, before if isinstance(before, dict) else None)


def _whole(settings: Settings) -> float:
    """Seconds of a run with these settings."""
    run = settings.run
    return _USUAL_LIMIT if math.isinf(run.time_limit) and run.accuracy is not None else run.time_limit


def _about(anchors: Anchors) -> str:
    left = anchors.quality[-1]
    kind = "conjugate gradients" if anchors.symmetric else "GMRES"
    return f"{len(anchors.z)} anchors: {anchors.steps} steps of {kind} leave at most {left:.1e} of a solution"
