"""`accuracy` as the only input: discretisation, network and training chosen and adapted until the estimate says it is reached."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from ...discretize.finite_elements import FiniteElements
from ...discretize.transfer import slopes, squares
from ...errors import PcpinnError
from ...mesh.mesh import Mesh
from ...mesh.refine import refined
from ...network.dense import DenseNetwork
from ...network.grow import widened
from ...network.recipe import MLP, Place
from ...problem.problem import Problem
from ...progress import Progress
from ...solution.solution import Solution
from ...solution.verdict import Verdict, judge
from ..loss import preconditioned_loss
from ..quantity.goal import Goal
from ..run import run
from ..settings import Settings
from ..start import Start
from .fields import counted, scales
from .interfaces import Interfaces, interfaces_of
from .level import Elements, Level
from .limits import Limits
from .plan_file import SteadyPlan
from .singular import singular_points
from .space import Adapted, adapt, shape_of
from .unfinished import Unfinished
from .wish import Wish

_DISCRETE = 0.35  # parts of the accuracy for the discretisation and the training; with the safety they fill it
_QUANTITY = 0.25  # part for the discretisation where a quantity is asked for, whose error is doubled in the end
_TRAINED = 0.25
_DIRECT = {1: 200_000, 2: 80_000, 3: 30_000}  # degrees of freedom up to which P is a complete factorisation
_LEAST_TOLERANCE = 0.03  # of a training, in parts of the accuracy
_NODES_PER_WEIGHT = 3
_DENSER = 2  # times that a mesh is refined because a network is wrong between its nodes
_WIDTHS = (20, 28, 40, 56)


def solve_steady(problem: Problem, wish: Wish, limits: Limits, progress: Progress, unfinished: Unfinished) -> Solution:
    """Solve a problem without a time of its own: a mesh first, then a network on it, larger where needed."""
    settings = wish.settings(problem.domain.dimension)
    elements = Elements(settings.mesh.degree, settings.mesh.element, settings.mesh.quadrature)
    goal = None if wish.quantity is None else Goal.of(wish.quantity, problem)
    target = (_DISCRETE if goal is None else _QUANTITY) * wish.accuracy
    interfaces = interfaces_of(problem)

    def plan() -> Adapted:
        mesh = interfaces.first_mesh(problem, settings, wish.mesh)
        return adapt(problem, mesh, elements, target, limits, progress, wish.start, goal, interfaces.settled)

    adapted = unfinished.plan(SteadyPlan(problem, elements), plan)
    return Trainer(problem, wish, adapted, limits, progress, goal, interfaces, unfinished).solution()


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
        self.tolerance = _TRAINED * wish.accuracy
        self.rounds: list[dict[str, Any]] = []

    def solution(self) -> Solution:
        """The best answer, with its verdict."""
        level, wish = self.adapted.level, self.wish
        best: tuple[float, Solution, Verdict] | None = None
        since = self.limits.clock.seconds
        start: Solution | None = None
        widths, denser = list(self._widths()), 0
        while widths:
            width = widths[0]
            try:
                solution = self._train(width, start, denser)
            except PcpinnError as error:
                if best is None:
                    raise
                self.progress.note(f"width {width}: {error.problem}; the smaller network's answer stands")
                break
            fields, training = self._errors(level, solution)
            limited = self.adapted.limited_by or (self._blame(solution, training) if self.goal is None else "mesh")
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
            if solution.result["stopped_by"] != "tolerance":
                widths, start = widths[1:], self._grown(solution)
            elif (
                training > 2 * _TRAINED * wish.accuracy
                and denser < _DENSER
                and self._denser_is_affordable(took, solution.result["dofs"])
            ):
                denser, start = denser + 1, solution  # right at the nodes and wrong between them: more nodes
            elif training > _TRAINED * wish.accuracy and self.tolerance > _LEAST_TOLERANCE * wish.accuracy:
                self.tolerance, start = self.tolerance / 3, solution  # or righter there
            else:
                break  # a larger network has nothing to gain
        assert best is not None
        _, solution, verdict = best
        solution.result["verdict"] = verdict.to_dict()
        solution.result["adaptation"] = {
            "levels": [list(row) for row in self.adapted.history],
            "trust": self.adapted.trust,
            "networks": self.rounds,
        }
        return solution

    def _denser_is_affordable(self, took: float, dofs: int) -> bool:
        """Whether there are time and memory for the same on a mesh with cells of half the length."""
        dimension = self.adapted.level.mesh.dimension
        return dofs * 2**dimension <= _DIRECT[dimension] and self.limits.left > 1.5 * took * 2**dimension

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

    def _widths(self) -> tuple[int, ...]:
        if self.wish.fixes("network", "optimiser"):
            return (0,)
        return _WIDTHS

    def _train(self, width: int, grown: Solution | None, denser: int) -> Solution:
        wish, level = self.wish, self.adapted.level
        chosen: dict[str, Any] = {
            "preconditioner": "auto-lu",
            "preconditioner.direct": _DIRECT[level.mesh.dimension],
            "network.stretch": True,
            "newton.tolerance": self.tolerance,
            "optimiser.iterations": 80,
            "optimiser.even": 0.5,
            "certify": False,
            "scales": scales(level.sizes, self.problem, float(np.sqrt(level.fine.space.quadrature.dx.sum()))),
            **self._features(level),
            **singular_points(self.problem, level.mesh, self.kinks),
            **({"kinks": self.kinks} if self.kinks else {}),
        }
        if width:
            chosen["network.width"] = width
        settings = limits_of(wish.settings(self.problem.domain.dimension, chosen), self.limits)
        start = grown or wish.start or _function(self.adapted.first, self.adapted.first_u)
        mesh = self._dense_mesh(settings, denser)
        return self.unfinished.network(
            self.problem,
            lambda out, resume: run(
                preconditioned_loss,
                self.problem,
                settings,
                out=out,
                resume=resume,
                progress=self.progress,
                mesh=mesh,
                start=start,
                relinearised=preconditioned_loss,
            ),
        )

    def _dense_mesh(self, settings: Settings, denser: int) -> Mesh:
        """The adapted mesh, refined until it has several degrees of freedom per weight: else a network is free between nodes.

        `denser` times more, if that was not enough.
        """
        mesh, problem, weights = self.adapted.level.mesh, self.problem, 0
        if isinstance(settings.network, MLP):
            box = [0.0] * mesh.dimension, [1.0] * mesh.dimension
            place = Place(*box, problem.components, self.kinks, settings.mesh.corners or ())
            weights = settings.network.architecture(place).parameter_count(mesh.dimension, problem.components)
        size, more = self.adapted.level.coarse.size, 2**mesh.dimension
        while size < _NODES_PER_WEIGHT * weights and self.limits.affords(size * more, mesh.dimension):
            mesh, size = self._refined(mesh), size * more
        for _ in range(denser):
            if self.limits.affords(size * more, mesh.dimension):
                mesh, size = self._refined(mesh), size * more
        return mesh

    def _refined(self, mesh: Mesh) -> Mesh:
        return self.interfaces.settled(refined(mesh, shape_of(self.problem)))

    def _grown(self, solution: Solution) -> Solution | None:
        network = solution.network
        if not isinstance(network, DenseNetwork):
            return None
        at = _WIDTHS.index(network.architecture.width) if network.architecture.width in _WIDTHS else len(_WIDTHS)
        if at + 1 >= len(_WIDTHS):
            return None
        return replace(solution, network=widened(network, _WIDTHS[at + 1], at))

    def _features(self, level: Level) -> dict[str, Any]:
        """Frequencies up to those of the discrete solution, by the size of its slopes."""
        space = level.fine.space
        size = np.sqrt(squares(space, level.better).sum(axis=0))
        lower, upper = level.mesh.bounds
        waves = slopes(space, level.better) * (upper - lower) / (4 * np.pi * np.maximum(size, 1e-300)[:, None])
        high = int(np.clip(np.ceil(np.log2(max(float(waves.max()), 1e-9))) + 1, 1, 7))
        return {"network.feature_high": float(high), "network.feature_count": high + 3}

    def _errors(self, level: Level, solution: Solution) -> tuple[dict[str, float], float]:
        """Estimated total error by field, and the largest distance from the discrete solution."""
        network = solution.network

        def values(x: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                return network(torch.as_tensor(x).to(network.theta)).double().cpu().numpy()

        from_better, from_discrete = level.distances_of(values)
        total = from_better + (1 / self.adapted.trust - 1) * level.errors
        names = (f.name for f in self.problem.unknowns)
        return dict(zip(names, total.tolist(), strict=True)), float(from_discrete.max())

    def _blame(self, solution: Solution, training: float) -> str:
        if solution.result["stopped_by"] == "time limit":
            return "time"
        return "mesh" if solution.result["stopped_by"] == "tolerance" else "network"


def limits_of(settings: Settings, limits: Limits) -> Settings:
    """With the time that is left."""
    return settings.with_recipe("run", replace(settings.run, time_limit=max(1.0, limits.left)))


def _function(discretisation: FiniteElements, u: np.ndarray) -> Start:
    return lambda x: discretisation.interpolate(u, x)
