"""One inference: networks trained on data and preconditioned equations together, from set-up to the last iteration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..discretize.guarded import guard
from ..discretize.linear_solves import Factors
from ..errors import PcpinnError
from ..mesh.slab_mesh import AnyMesh
from ..precondition import AutoILU, Preconditioner
from ..problem.family import Family
from ..problem.unknowns import Coefficient
from ..solution.result import Result
from ..solve.afford import refuse_unaffordable
from ..solve.build import make_mesh, make_network, make_preconditioner
from ..solve.conduct import Run
from ..solve.settings import Settings
from ..train import Checkpoints, GaussNewton, History, Optimiser, Snapshot, Stopping, Training, Watch, train
from .choice import Choice, Discrete
from .coarseness import missed_by_mesh
from .data import Between, DataTerm
from .equations import Equations, Tangent
from .link import Link
from .loss import JointLoss, PriorRows
from .model import InverseModel, make_coefficients
from .observations import Observations
from .setup import coefficient_prior, free_priors, known_nodes, make_equations, space_of
from .solution import InverseSolution
from .truth import Truth, compare_inverse
from .write import write_data

_KNOWN = 1e-3  # known values are met to this part of their size, or to the floor of their prior if that is more
_STAGES = (0.1, 0.4, 1.0)  # the weight of the equations grows
_GAINS = (2.0, 1.0, 0.1)  # a stage ends when five iterations gain less log likelihood than this


@dataclass(frozen=True)
class _Stage:
    """Training with one weight of the equations (0: data alone), for a number of iterations or as long as the loss falls."""

    kappa: float
    iterations: int
    gain: float = 0.0


class Inference:
    """One inference, from set-up to record."""

    def __init__(
        self,
        family: Family,
        data: tuple[Observations, ...],
        settings: Settings,
        mesh: AnyMesh | None = None,
        truth: Truth | None = None,
        **options: Any,
    ) -> None:
        self.family, self.data, self.settings, self.truth = family, data, settings, truth
        self.own = Run(settings, family.base.name, family.base.unknowns, kind="inverse", **options)
        self.progress, self.device = self.own.progress, self.own.device
        base = family.base
        refuse_unaffordable(base, settings, mesh, sum(map(len, data)))
        self.mesh = self.own.mesh(mesh, lambda: make_mesh(base, settings))
        for one in data:
            one.check(base, self.mesh)
        self.progress.stage("assembly")
        self.equations: Equations = make_equations(family, self.mesh, settings)
        self.estimate = any(d.noise is None for d in data) and settings.loss.noise_level is None
        spread = float(np.std(np.concatenate([d.values for d in data])))
        self.noise = [_noise(d, settings.loss.noise_level, 0.1 * spread or 1.0) for d in data]
        self.spread = spread or 1.0
        self.discrete = self._discrete(relative=False)
        self.model = self._model()
        robust = settings.loss.misfit == "huber"
        terms = [DataTerm(d, n, self.model.network, family.base, robust) for d, n in zip(data, self.noise, strict=True)]
        self.loss = JointLoss(self.model, self.equations, terms, self._weights())
        self.loss.known = self._known({})
        self.choice: Choice | None = None
        self.guess: np.ndarray | None = None  # nodal values that the choice began with
        self.newton = isinstance(settings.optimiser, GaussNewton)
        self.loss.recipe, self.loss.refresh_every = self._preconditioner, settings.loss.refresh
        self.loss.derivatives = self.newton
        if self.newton:
            self.loss.between = [Between(d, self.model.network, self.equations) for d in data]

    # --- set-up -----------------------------------------------------------------------------------------------------

    def _model(self) -> InverseModel:
        network = make_network(self.family.base, self.mesh, self.settings).double()
        nodes, has_time = self.equations.coefficient_nodes, space_of(self.equations).mesh.has_time
        coefficients = make_coefficients(self.family, nodes, has_time, self.settings, self.device)
        return InverseModel(self.family, network, coefficients)

    def _discrete(self, relative: bool) -> Discrete:
        """The problem for nodal values; priors of coefficients with a bound in terms of values, or of logarithms."""
        wanted = self.settings.loss.prior == "auto"
        priors = {
            name: coefficient_prior(name, u, self.equations, Link(u.low if relative else None)) if wanted else None
            for name, u in self.family.unknowns.items()
            if isinstance(u, Coefficient)
        }
        free = free_priors(self.equations, self.spread)
        robust = self.settings.loss.misfit == "huber"
        return Discrete(self.equations, self.data, self.noise, priors, free, self.estimate, robust)

    def _weights(self) -> np.ndarray:
        if self.settings.loss.norm == "mass":
            return self.equations.discretisation.weights
        return np.full(self.equations.size, 1.0 / self.equations.size)

    def _known(self, floors: Mapping[str, float]) -> list[tuple[str, torch.Tensor, torch.Tensor, float]]:
        result = []
        for name, unknown in self.family.unknowns.items():
            if isinstance(unknown, Coefficient) and unknown.known:
                at, values = known_nodes(name, unknown, self.equations)
                spread = max(_KNOWN * float(np.abs(values).max() or 1.0), floors.get(name, 0.0))
                spread *= math.sqrt(len(at))  # as root mean square over all of them
                place = torch.as_tensor(at, device=self.device), torch.as_tensor(values, device=self.device)
                result.append((name, *place, spread))
        return result

    def _preconditioner(self, tangent: Tangent) -> Preconditioner:
        form = self.equations.discretisation
        recipe = make_preconditioner(self.settings, form)
        if isinstance(recipe, AutoILU):
            components = np.asarray(form.unknown_components)
            return recipe.choose(tangent.A, form.unknown_nodes, form.weights, components).preconditioner
        return recipe

    def _try_out(self) -> None:
        """What is refused, is refused here: before anything is written."""
        for term in self.loss.data:
            guard(term.residual, self.model.theta.detach()[self.model.parts[0]])
        tangent = self.equations.linearise(*self._first_guess())
        Factors(tangent.A)
        self._preconditioner(tangent).build(tangent.A)

    # --- training ---------------------------------------------------------------------------------------------------

    def carry_out(self) -> Training:
        """Warm-up, choice of priors, joint training; how it ended."""
        settings = self.settings
        optimiser: Optimiser = settings.optimiser
        stages = [_Stage(0.0, settings.loss.warmup)]
        if self.newton:
            share = [settings.optimiser.iterations // len(_STAGES)] * len(_STAGES)
            share[-1] += settings.optimiser.iterations - sum(share)
            stages += [
                _Stage(k * settings.loss.equation_weight, n, g) for k, n, g in zip(_STAGES, share, _GAINS, strict=True)
            ]
        else:
            stages += [_Stage(settings.loss.equation_weight, settings.optimiser.iterations)]
        own, checkpoints, snapshot = self.own, None, None
        if own.out is not None:
            checkpoints = Checkpoints(own.out, settings.run.checkpoint_every, own.clock)
            if not own.resume:
                self._try_out()
                own.begin(self.mesh, lambda folder: write_data(folder / "data.safetensors", self.data))
            elif checkpoints.exists():
                snapshot = checkpoints.read(self.model.theta, optimiser.start(self.loss, settings.run.seed))
        own.ready()
        own.clock.add(0.0 if snapshot is None else snapshot.elapsed)
        return self._train(stages, optimiser, checkpoints, snapshot)

    def _train(
        self,
        stages: Sequence[_Stage],
        optimiser: Optimiser,
        checkpoints: Checkpoints | None,
        snapshot: Snapshot | None,
    ) -> Training:
        loss, settings = self.loss, self.settings
        history, done, seconds = History(), 0, 0.0
        watch = self._watch(sum(stage.iterations for stage in stages))
        training = Training(0, math.inf, 0.0, "iterations", history)
        first = 0 if snapshot is None else int(snapshot.facts.get("stage", 0))
        state = None
        for number, stage in enumerate(stages):
            if number < first or not stage.iterations:
                continue
            resumed = snapshot if number == first else None
            if resumed is not None:
                done = int(resumed.facts.get("since", 0))
                with torch.no_grad():  # where P was built
                    self.model.theta.copy_(resumed.loss.get("anchor", resumed.theta))
            loss.kappa = stage.kappa
            if stage.kappa:
                self._prepare(None if resumed is None else resumed.context.get("guess"))
            if checkpoints is not None:
                checkpoints.context = {} if self.guess is None else {"guess": torch.from_numpy(self.guess)}
                checkpoints.facts = {"stage": number, "since": done}
            if number <= 1 or state is None:
                state = optimiser.start(loss, settings.run.seed)
            here = resumed or Snapshot(done, seconds, self.model.theta.detach().clone(), state, history)
            stopping = Stopping(
                done + stage.iterations,
                0.0,
                self.own.training_limit(here.seconds),
                settings.optimiser.patience or 0,
                stage.gain,
                done,
            )
            training = train(loss, optimiser, stopping, None, self.progress, checkpoints, here, watch=watch)
            done, seconds, history, state = training.iterations, training.seconds, training.history, here.state
            if training.reason in ("time limit", "not finite"):
                break
        return training

    def _watch(self, iterations: int) -> Watch | None:
        """What measures the error of (u, coefficients) along the training, where the truth is known."""
        truth = self.truth
        if truth is None:
            return None
        plain: dict[str, Any] = {"mesh": self.mesh, "result": Result(), "history": History(), "settings": {}}

        def l2re() -> float | None:
            error = compare_inverse(InverseSolution.from_model(self.model, plain, None, self.data), truth)["l2re"]
            return error if error is not None and math.isfinite(error) else None

        return Watch.of_training(l2re, iterations)

    def _prepare(self, guess: torch.Tensor | None) -> None:
        """Hyper-parameters of the priors, once; by the same steps again, from the same values (N,), in a run that goes on.

        Raises:
            PcpinnError: where noise or priors are too small beside the values for the precision of numbers.
        """
        if not self.newton or self.choice is not None:
            return
        self.progress.stage("priors")
        self.guess = self._first_guess()[0] if guess is None else guess.numpy()
        try:
            self.choice = self._choose(self.guess)
        except np.linalg.LinAlgError as error:
            noise = min(float(n.min()) for n in self.noise)
            raise PcpinnError(
                f"the posterior cannot be computed ({error}): a noise of {noise:.1e} is too small for the precision of numbers",
                "give the standard deviation that the data really have, or none to have it estimated",
            ) from error
        self._set_priors(self.choice)

    def _choose(self, u: np.ndarray) -> Choice:
        """Priors of values, or of logarithms where there is a lower bound: whichever the data find more likely."""
        problems = [self.discrete]
        if any(
            p is not None and self.family.unknowns[n].low is not None for n, p in self.discrete.coefficients.items()
        ):
            problems.append(self._discrete(relative=True))
        steps, found = 8, []
        for k, problem in enumerate(problems):

            def told(done: int, before: int = k * steps) -> None:
                self.progress.count("priors by evidence", before + done, len(problems) * steps)

            found.append((problem, problem.solve(u, self._first_guess(problem)[1], steps, (1, 3, 5), told)))
        self.discrete, choice = max(found, key=lambda pair: pair[1].evidence)
        missed = missed_by_mesh(self.equations, self.data, self.mesh, self.settings, choice.u, choice.c)
        return self.discrete.averaged(choice, missed)

    def _first_guess(self, discrete: Discrete | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Nodal values to begin with: coefficients as their priors expect them, free values zero."""
        priors = (discrete or self.discrete).coefficients
        c = self.family.start.expand(self.equations.nodes_count, -1).clone().numpy()
        for name, prior in priors.items():
            if prior is not None:
                c[:, self.family.columns(name).start] = prior.link.back(prior.shape(prior.start).mean)
        u, _ = self.loss.nodal()
        u = u.copy()
        u[self.equations.free] = 0.0
        return u, c

    def _set_priors(self, choice: Choice) -> None:
        loss = self.loss
        loss.scale_noise(choice.noise_factor)
        loss.priors = []
        floors: dict[str, float] = {}
        names = [n for n, u in self.family.unknowns.items() if isinstance(u, Coefficient)]
        for name, hyper in zip(names, choice.hypers, strict=False):
            prior = self.discrete.coefficients[name]
            if prior is not None and hyper is not None:
                c = choice.c[:, self.family.columns(name).start]  # of logarithms, as they are near the answer
                slope = prior.link.slope(c)
                rows = prior.whitening(hyper) / slope
                mean = c + slope * (prior.shape(hyper).mean - prior.link.to(c))
                loss.priors.append(PriorRows(self._tensor(rows), self._tensor(mean), coefficient=name))
                floors[name] = hyper.floor * float(np.sqrt(np.mean(slope**2)))
        for (prior, at), hyper in zip(
            self.discrete.free, choice.hypers[len(choice.hypers) - len(self.discrete.free) :], strict=True
        ):
            assert hyper is not None
            loss.priors.append(
                PriorRows(
                    self._tensor(prior.whitening(hyper)),
                    self._tensor(prior.shape(hyper).mean),
                    unknowns=torch.as_tensor(at, device=self.device),
                )
            )
        loss.known = self._known(floors)

    def _tensor(self, array: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(array, dtype=torch.float64, device=self.device)


def _noise(d: Observations, given: float | None, guess: float) -> np.ndarray:
    if isinstance(d.noise, np.ndarray):
        return d.noise
    return np.full(len(d), guess if given is None else given)
