"""`accuracy` as the only input: discretisation, network and training chosen and adapted until the estimate says it is reached."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from ...discretize.finite_elements import FiniteElements
from ...discretize.outflow import refuse_outflow
from ...discretize.space import Space
from ...errors import PcpinnError
from ...mesh.mesh import Mesh
from ...network.dense import DenseNetwork
from ...network.grow import widened
from ...network.recipe import MLP, Place
from ...problem.problem import Problem
from ...progress import Progress
from ...solution.solution import Solution
from ...solution.verdict import Verdict, judge
from ..followed import looked_at
from ..loss import preconditioned_loss
from ..quantity.goal import Goal
from ..refinement import refined_everywhere, refined_where
from ..run import run
from ..settings import Settings
from ..start import Start
from .between import between_nodes
from .degrees import degree_of, first_order, raised
from .fields import counted, counts, scales
from .inputs import inputs_of, resolved
from .interfaces import Interfaces, interfaces_of
from .level import Elements, Level, finer_quadrature, marked
from .limits import Limits
from .plan_file import SteadyPlan
from .singular import singular_points
from .space import Adapted, adapt
from .unfinished import Unfinished
from .unseen import SAFE, cut_first, say_unseen
from .wish import Wish

_DISCRETE = 0.35  # parts of the accuracy for the discretisation and the training; with the safety they fill it
_QUANTITY = 0.25  # part for the discretisation where a quantity is asked for, whose error is doubled in the end
_TRAINED = 0.25
_DIRECT = {1: 200_000, 2: 80_000, 3: 30_000}  # degrees of freedom up to which P is a complete factorisation
_LEAST_TOLERANCE = 0.03  # of a training, in parts of the accuracy
_NODES_PER_WEIGHT = 3
_BETWEEN = (
    0.7  # part of the training error: a network that is so far off between nodes wants more of these, not more units
)
_HELPED = 0.8  # part of the training error that may be left when more nodes have helped
_WRONG = 0.9  # part of the squared error in the cells that get more nodes
_WIDTHS = (20, 28, 40, 56)
_SHORT, _LONG = 40, 80  # iterations after which it is looked whether nodes are missing, and others
_AT_ONCE = 1000  # those of a solid on a GPU, where another training costs more than the iterations of a wide network
_JUDGING = 0.1  # of the time that is left when a training begins: for what comes after it


def solve_steady(problem: Problem, wish: Wish, limits: Limits, progress: Progress, unfinished: Unfinished) -> Solution:
    """Solve a problem without a time of its own: a mesh first, then a network on it, larger where needed."""
    settings = wish.settings(problem.domain.dimension, first_order(problem, wish))
    elements = Elements(settings.mesh.degree, settings.mesh.element, settings.mesh.quadrature)
    goal = None if wish.quantity is None else Goal.of(wish.quantity, problem)
    target = (_DISCRETE if goal is None else _QUANTITY) * wish.accuracy
    interfaces = interfaces_of(problem)

    def plan() -> Adapted:
        first = interfaces.first_mesh(problem, settings, wish.mesh)
        refuse_outflow(problem, first)
        mesh, jumps = cut_first(problem, first, elements, limits), interfaces
        if mesh is not first and wish.mesh is None:
            jumps, mesh = jumps.on_cut(problem, mesh)
        higher = raised(problem, wish, elements)
        return adapt(problem, mesh, elements, target, limits, progress, wish.start, goal, jumps.settled, higher)

    adapted = unfinished.plan(SteadyPlan(problem, elements), plan)
    if wish.mesh is None:
        interfaces = interfaces.along(problem, adapted.level.mesh)
    return Trainer(problem, wish, adapted, limits, progress, goal, interfaces, unfinished).solution()


@dataclass(frozen=True)
class _Attempt:
    """One training: of a network so wide (0: as the user says), on a mesh, until a tolerance, from an earlier answer.

    `before` is the training error on the mesh before this one.
    """

    width: int
    mesh: Mesh
    tolerance: float
    iterations: int = _SHORT
    start: Solution | None = None
    before: float = math.inf


class Trainer:
    """Trains networks on an adapted mesh, the next one larger, until the whole error is small enough."""

    def __init__(
        self,
        problem: Problem,
        wish: Wish,
        adapted: Adapted,
        limits: Limits,
        progress: Progress,
        goal: Goal | None = None,
        interfaces: Interfaces | None = None,
        unfinished: Unfinished | None = None,
    ) -> None:
        self.interfaces = interfaces or Interfaces()
        self.kinks = self.interfaces.kinks(adapted.level.mesh)
        self.problem, self.wish, self.adapted = problem, wish, adapted
        self.limits, self.progress, self.goal = limits, progress, goal
        self.unfinished = unfinished or Unfinished()
        level = adapted.level
        fitted = self.interfaces.onto is not None
        self.unseen = looked_at(problem, level.fine.space, fitted=fitted).hidden_part(level.fine, level.better)
        say_unseen(self.unseen, wish.accuracy, progress)
        self.rounds: list[dict[str, Any]] = []

    def solution(self) -> Solution:
        """The best answer, with its verdict."""
        level, wish = self.adapted.level, self.wish
        best: tuple[float, Solution, Verdict] | None = None
        since = self.limits.clock.seconds
        fixed = wish.fixes("network", "optimiser")
        attempt: _Attempt | None = self._first(fixed)
        while attempt is not None:
            width = attempt.width
            try:
                solution = self._train(attempt)
            except PcpinnError as error:
                if best is None:
                    raise
                self.progress.note(f"width {width}: {error.problem}; the answer before stands")
                break
            fields, training = self._errors(level, solution)
            limited = "mesh" if self.unseen > SAFE * wish.accuracy else self.adapted.limited_by
            limited = limited or (self._blame(solution, training) if self.goal is None else "mesh")
            judged = counted(self.problem, fields)
            solution.result["errors"]["estimate"] = judge(None, judged, limited).estimate
            if self.goal is None:
                verdict = judge(wish.accuracy, judged, limited)
            else:
                of_quantity = judge(wish.accuracy, self._of_quantity(self.goal, solution), limited)
                verdict = of_quantity.for_quantity(self.goal.label, solution.result["errors"]["estimate"])
            self.rounds.append({"width": width, "estimate": verdict.estimate, "training": training})
            estimate = "unknown" if verdict.estimate is None else f"{verdict.estimate:.1e}"
            self.progress.note(
                f"width {width}: estimated error {estimate}, {'training' if self.goal else 'of which training'} {training:.1e}"
            )
            size = math.inf if verdict.estimate is None else verdict.estimate
            if best is None or size < best[0]:
                best = (size, solution, verdict)
            took, since = self.limits.clock.seconds - since, self.limits.clock.seconds
            late = self.limits.left < max(0.1 * self.limits.seconds, 1.5 * took)
            if verdict.reached or late or self.goal is not None:
                break
            attempt = self._next(attempt, solution, training, took)
        assert best is not None
        _, solution, verdict = best
        solution.result["verdict"] = verdict.to_dict()
        solution.result["adaptation"] = {
            "levels": [list(row) for row in self.adapted.history],
            "trust": self.adapted.trust,
            "networks": self.rounds,
        }
        return solution

    def _first(self, fixed: bool) -> _Attempt:
        """A small network; a wide one where a GPU has time for it while multigrid is set up for another."""
        mesh, tolerance = self.adapted.level.mesh, _TRAINED * self.wish.accuracy
        if not fixed and self.unfinished.device.type == "cuda" and self._multigrid(mesh):
            return _Attempt(_WIDTHS[-1], mesh, tolerance, _AT_ONCE)
        return _Attempt(0 if fixed else _WIDTHS[0], mesh, tolerance)

    def _next(self, last: _Attempt, solution: Solution, training: float, took: float) -> _Attempt | None:
        """What is tried after a training that was not enough; None when nothing is left."""
        stopped, accuracy = solution.result["stopped_by"], self.wish.accuracy
        too_large = training > _TRAINED * accuracy
        if too_large and training < _HELPED * last.before:
            finer, largest = self._more_nodes(solution, training), self._affordable(took, solution.result["dofs"])
            if finer is not None and finer.cell_count <= largest * solution.mesh.cell_count:
                return replace(last, mesh=finer, start=solution, before=training)
        if not too_large:
            return None  # the rest is the discretisation's: a larger network has nothing to gain
        if stopped == "iterations" and last.iterations < _LONG:
            return replace(last, iterations=_LONG, start=solution)
        if stopped != "tolerance":
            wider = [w for w in _WIDTHS if w > last.width > 0]
            if not wider:
                return None
            grown = self._grown(solution, wider[0])
            return replace(last, width=wider[0], iterations=_SHORT, start=grown, before=math.inf)
        if last.tolerance > _LEAST_TOLERANCE * accuracy:
            return replace(last, tolerance=last.tolerance / 3, start=solution)
        return None

    def _more_nodes(self, solution: Solution, training: float) -> Mesh | None:
        """The mesh of a training, its cells cut where the network is wrong between its nodes; None if it is wrong at them."""
        level, mesh = self.adapted.level, solution.mesh
        assert isinstance(mesh, Mesh)  # time of its own is marched
        own = level.coarse.space
        order = finer_quadrature(own.degree - 1, mesh.dimension)
        space = Space(mesh, self.problem.unknowns, own.degree, order, own.element)
        squares = between_nodes(space, _values(solution)) * (counts(self.problem) / level.units**2)
        if np.sqrt(squares.sum(axis=0).max()) < _BETWEEN * training:
            return None
        return self.interfaces.settled(refined_where(mesh, marked(squares.sum(axis=1), _WRONG), self.problem))

    def _affordable(self, took: float, dofs: int) -> float:
        """How many times larger a mesh there are time and memory for."""
        level = self.adapted.level
        most = math.inf if level.iterated else _DIRECT[level.mesh.dimension] / dofs
        return min(most, self.limits.left / (1.5 * took))

    def _of_quantity(self, goal: Goal, solution: Solution) -> dict[str, float]:
        """Relative error of the quantity that was asked for; it is recorded."""
        try:
            found, error = goal.answer(solution, self.problem)
        except PcpinnError as refusal:
            self.progress.note(f"no error of the quantity: {refusal.problem}")
            return {}
        solution.result["quantity"] = [q.to_dict() for q in found]
        fields = solution.result["errors"]["estimate"]
        known = "unknown" if fields is None else f"{fields:.1e}"
        self.progress.note(f"{goal.label}: {', '.join(map(str, found))}; the fields' own error is {known}")
        return {goal.label: error}

    def _train(self, attempt: _Attempt) -> Solution:
        wish, level = self.wish, self.adapted.level
        chosen: dict[str, Any] = {
            **self._preconditioner(attempt.mesh),
            "newton.tolerance": attempt.tolerance,
            "optimiser.iterations": attempt.iterations,
            "optimiser.even": 0.5,
            "certify": False,
            "scales": scales(level.units, self.problem, float(np.sqrt(level.fine.space.quadrature.dx.sum()))),
            **degree_of(level),
            **inputs_of(self.problem, level, wish.accuracy),
            **singular_points(self.problem, level.mesh, self.kinks),
            **({"kinks": self.kinks} if self.kinks else {}),
        }
        if attempt.width:
            chosen["network.width"] = attempt.width
        kept = _JUDGING if attempt.iterations == _AT_ONCE else 0.0
        settings = limits_of(wish.settings(self.problem.domain.dimension, chosen), self.limits, kept)
        start = attempt.start or wish.start or _function(self.adapted.first, self.adapted.first_u)
        dense = self._dense_mesh(settings, attempt.mesh)
        settings = settings if wish.fixes("network") else resolved(settings, dense)
        return self.unfinished.network(
            self.problem,
            lambda out, resume: run(
                preconditioned_loss,
                self.problem,
                settings,
                out=out,
                resume=resume,
                progress=self.progress,
                mesh=dense,
                start=start,
                relinearised=preconditioned_loss,
            ),
        )

    def _preconditioner(self, mesh: Mesh) -> dict[str, Any]:
        """P of a training: complete factors, or multigrid for a solid of so many cells that planning took it, too."""
        if self._multigrid(mesh):
            return {"preconditioner": "amg", "preconditioner.coarsening": "quick"}
        return {"preconditioner": "auto-lu", "preconditioner.direct": _DIRECT[mesh.dimension]}

    def _multigrid(self, mesh: Mesh) -> bool:
        return self._size(mesh) > _DIRECT[mesh.dimension] and self.adapted.level.iterated

    def _size(self, mesh: Mesh) -> float:
        """Degrees of freedom on a refined mesh, roughly."""
        level = self.adapted.level
        return level.coarse.size * mesh.cell_count / level.mesh.cell_count

    def _dense_mesh(self, settings: Settings, mesh: Mesh) -> Mesh:
        """A mesh, refined until it has several degrees of freedom per weight: else a network is free between nodes."""
        problem, weights = self.problem, 0
        if isinstance(settings.network, MLP):
            box = [0.0] * mesh.dimension, [1.0] * mesh.dimension
            place = Place(*box, problem.components, self.kinks, settings.mesh.corners or ())
            weights = settings.network.architecture(place).parameter_count(mesh.dimension, problem.components)
        size, more = self._size(mesh), 2**mesh.dimension
        most = _DIRECT[3] if mesh.dimension == 3 else math.inf  # factors of more take longer than training does
        while (
            size < _NODES_PER_WEIGHT * weights
            and self.limits.affords(size * more, mesh.dimension)
            and self.limits.in_time(size * more, mesh.dimension)
            and size * more <= most
        ):
            mesh, size = self.interfaces.settled(refined_everywhere(mesh, problem)), size * more
        return mesh

    def _grown(self, solution: Solution, width: int) -> Solution | None:
        network = solution.network
        if not isinstance(network, DenseNetwork) or network.architecture.width not in _WIDTHS:
            return None
        return replace(solution, network=widened(network, width, _WIDTHS.index(network.architecture.width)))

    def _errors(self, level: Level, solution: Solution) -> tuple[dict[str, float], float]:
        """Estimated total error by field, and the largest distance from the discrete solution."""
        from_better, from_discrete = level.distances_of(_values(solution))
        # Two errors of different causes add up by their squares; should they not, 1.5 times that (SAFETY) is more than their sum.
        total = np.hypot(from_better, self.adapted.rest) + (1 / self.adapted.trust - 1) * level.errors
        total += self.adapted.gap + self.unseen
        names = (f.name for f in self.problem.unknowns)
        return dict(zip(names, total.tolist(), strict=True)), float(from_discrete.max())

    def _blame(self, solution: Solution, training: float) -> str:
        if solution.result["stopped_by"] == "time limit":
            return "time"
        return "mesh" if solution.result["stopped_by"] == "tolerance" else "network"


def limits_of(settings: Settings, limits: Limits, kept: float = 0.0) -> Settings:
    """With the time that is left, but for the part of it that is kept."""
    return settings.with_recipe("run", replace(settings.run, time_limit=max(1.0, (1 - kept) * limits.left)))


def _function(discretisation: FiniteElements, u: np.ndarray) -> Start:
    return lambda x: discretisation.interpolate(u, x)


def _values(solution: Solution) -> Callable[[np.ndarray], np.ndarray]:
    network = solution.network

    def values(x: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return network(torch.as_tensor(x).to(network.theta)).double().cpu().numpy()

    return values
